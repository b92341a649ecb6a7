/** A session with a mailbox whose Sent folder is selected, which ends by itself. */
import type { ImapFlow } from 'imapflow'
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
import { openSentFolder } from './sent-folder.ts'

export interface CopySession {
  /** The path of the Sent folder. */
  readonly folder: string
  /** Rejects at the end of the session's time at the latest. */
  run<T>(work: (client: ImapFlow) => Promise<T>): Promise<T>
  /** Nothing more is to be begun. */
  isOver(): boolean
  close(): Promise<void>
}

export interface CopySessionDeps extends OpenSentMailboxDeps {
  /** For a whole session; shorter than a claim. */
  readonly sessionMs?: number
  /** For a copy under way when the process is to end. */
  readonly graceMs?: number
}

const SESSION_MS = 2 * 60_000
const OPEN_MS_MAX = 30_000
const GRACE_MS = 3_000

/**
 * Undefined where the mailer is not active. Rejects where the mailbox cannot be opened, or has no Sent
 * folder and gets none.
 */
export async function openCopySession(
  deps: CopySessionDeps,
  key: MailerKey,
  signal: AbortSignal,
): Promise<CopySession | undefined> {
  const { sessionMs = SESSION_MS, graceMs = GRACE_MS } = deps
  const deadlineAt = performance.now() + sessionMs
  const timeLeftMs = () => Math.max(0, deadlineAt - performance.now())
  const timeoutMs = Math.min(OPEN_MS_MAX, sessionMs)
  const mailbox = await openSentMailbox(deps, key, { timeoutMs, signal })
  if (mailbox === undefined) return undefined
  let cutting: NodeJS.Timeout | undefined
  const cutSoon = () => {
    cutting = setTimeout(mailbox.cut, graceMs)
  }
  signal.addEventListener('abort', cutSoon, { once: true })

  const run = <T>(work: (client: ImapFlow) => Promise<T>) =>
    mailbox.run({ stage: 'open', timeoutMs: timeLeftMs() }, work)
  const isOver = () => signal.aborted || !mailbox.isOpen || timeLeftMs() === 0
  const close = async () => {
    signal.removeEventListener('abort', cutSoon)
    await mailbox.close()
    clearTimeout(cutting)
  }

  try {
    return { folder: await run(openSentFolder), run, isOver, close }
  } catch (error) {
    await close()
    throw error
  }
}

interface OpenSentMailboxDeps extends Omit<LogInDeps, 'authConfirmDelayMs'> {
  readonly db: Db
  readonly keyRing: KeyRing
}

/** Of the answers to its commands none holds a message. */
const MESSAGE_BYTES_MAX = 64 * 1024

/**
 * Logs in at the mailbox of a mailer, to keep copies in it. A login that is rejected deactivates
 * nothing here: the watcher of the mailbox meets it as well, and judges it.
 *
 * Undefined: it was not tried: the mailer is not active, or no file descriptor was free. Rejects when
 * it cannot be opened.
 */
async function openSentMailbox(
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
