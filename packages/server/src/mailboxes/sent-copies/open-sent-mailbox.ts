/**
 * Logs in at the mailbox of a mailer, to keep copies in it. A login that is rejected deactivates
 * nothing here: whoever watches the mailbox meets it as well, and judges it.
 */
import {
  ImapError,
  type ImapSession,
  type LogInDeps,
  loadMailbox,
  logIn,
  type MailerKey,
} from '../../mailers/index.ts'
import type { Db } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'

export interface OpenSentMailboxDeps extends Omit<LogInDeps, 'authConfirmDelayMs'> {
  readonly db: Db
  readonly keyRing: KeyRing
}

/** Of the answers to its commands none holds a message. */
const MESSAGE_BYTES_MAX = 64 * 1024

/** Undefined: it was not tried: the mailer is not active, or no file descriptor was free. Rejects when it cannot be opened. */
export async function openSentMailbox(
  deps: OpenSentMailboxDeps,
  key: MailerKey,
  o: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ImapSession | undefined> {
  const mailbox = await loadMailbox(deps.db, deps.keyRing, key)
  if (mailbox === undefined) return undefined
  // A second try follows at once, with another token: it is for those that have just run out.
  const opened = await logIn({ ...deps, authConfirmDelayMs: 0 }, mailbox, {
    ...o,
    messageBytesMax: MESSAGE_BYTES_MAX,
    inTurn: (work) => work(),
  })
  if (opened.kind === 'failed') throw new ImapError(opened.failure)
  return opened.kind === 'session' ? opened.session : undefined
}
