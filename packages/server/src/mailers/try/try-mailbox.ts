/** A login at the mailbox of a mailer that fetches, as two steps: the client connects and logs in by itself. */
import type { TestStep } from '@postrider/contract'
import type { ApiError } from '../../platform/errors.ts'
import { refusalOfImap } from '../imap/configure/refuse-login.ts'
import { mailboxServerOf } from '../imap/mailbox.ts'
import {
  type MailboxLogin,
  type OpenMailboxDeps,
  openMailbox,
} from '../imap/session/open-mailbox.ts'
import type { ServerMailer } from '../mailer.ts'
import type { Credential } from './try-smtp.ts'

const TIMEOUT_MS = 20_000

export async function tryMailbox(
  deps: OpenMailboxDeps,
  mailer: ServerMailer,
  login: Credential['login'],
): Promise<TestStep[]> {
  const { username = '', ...server } = mailboxServerOf(mailer)
  const beganMs = performance.now()
  const credential: MailboxLogin =
    'accessToken' in login
      ? { ...server, username, accessToken: login.accessToken }
      : { ...server, username, password: login.password ?? '' }
  const opened = await openMailbox(deps, credential, { timeoutMs: TIMEOUT_MS })
  const step = (ok: boolean, reply: string): TestStep => {
    const ms = Math.round(performance.now() - beganMs)
    return { step: 'mailbox', ok, duration_ms: ms, reply }
  }
  if (!opened.ok) return [step(false, sentenceOf(refusalOfImap(opened.failure)))]
  opened.session.cut()
  return [step(true, `Logged in at ${server.host} port ${server.port}`)]
}

/** Of a field, what is wrong with it. */
function sentenceOf({ code, message, errors }: ApiError): string {
  const [first] = errors ?? []
  return code === 'validation_failed' && first !== undefined ? `The host ${first.message}` : message
}
