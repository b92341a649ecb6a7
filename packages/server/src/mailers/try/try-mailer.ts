/**
 * testMailer (docs/reference/mailers.md#test): what the next send, or the next look into the mailbox, would
 * meet, step by step. As with a login check, the words of a peer are repeated only where it speaks the
 * protocol: host and port are the tenant's choice. Every test counts against the limit of such checks.
 */
import type { TestStep } from '@postrider/contract'
import { parseAddress, type SmtpFailure } from '@postrider/mail'
import type { Db } from '../../platform/db/index.ts'
import { notReachable } from '../../platform/egress/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import type { CheckBounds } from '../../platform/limits/counted-check.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'
import { SealedValueError } from '../../platform/secrets/index.ts'
import { findSuppressed } from '../../suppressions/index.ts'
import { checkSender } from '../../tenants/index.ts'
import type { OpenMailboxDeps } from '../imap/session/open-mailbox.ts'
import { canFetch, canSend, type Mailer, type ServerMailer } from '../mailer.ts'
import { sentenceOf } from '../smtp/login-failure.ts'
import type { MailerKey } from '../state/state-store.ts'
import { getMailer } from '../store.ts'
import { sendTestMail, testMailFor } from './test-mail.ts'
import type { LoginStep } from './trace-login.ts'
import { tryMailbox } from './try-mailbox.ts'
import { type TryRelayDeps, tryRelay } from './try-relay.ts'
import { type TrySmtpDeps, takeCredential, traceCredential } from './try-smtp.ts'

export interface TryMailerDeps extends TrySmtpDeps, TryRelayDeps, OpenMailboxDeps {
  readonly db: Db
  readonly egress: TrySmtpDeps['egress']
  readonly checks: CheckBounds
  /** Of one tenant: a mailer that works is no way to send much. */
  readonly testMails: RateLimit
}

export async function tryMailer(
  deps: TryMailerDeps,
  { tenantId, mailerId }: MailerKey,
  to: string | undefined,
): Promise<TestStep[]> {
  const mailer = await getMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined) throw new ApiError('not_found')
  const recipient = to === undefined ? undefined : await checkRecipient(deps, mailer, to)
  return await deps.checks.limiter.run(tenantId, async () => {
    await deps.checks.limit.use(tenantId)
    if (recipient !== undefined) await deps.testMails.use(tenantId)
    try {
      return mailer.connectionType === 'relay'
        ? await tryRelay(deps, mailer, recipient)
        : await tryServer(deps, mailer, recipient)
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error
      throw new ApiError('conflict', {
        message: 'Its password or key cannot be opened: give it again',
        cause: error,
      })
    }
  })
}

/** In wire form. */
async function checkRecipient(
  { db }: Pick<TryMailerDeps, 'db'>,
  mailer: Mailer,
  to: string,
): Promise<string> {
  const refuse = (message: string) => validationError({ path: '/to', message })
  await checkSender(db, mailer.tenantId)
  if (!canSend(mailer)) throw refuse('is for a mailer that sends: this one only fetches mail')
  const parsed = parseAddress(to)
  if (!parsed.ok) throw refuse(parsed.problem)
  const { address } = parsed.address
  const [isSuppressed] = await findSuppressed(db, [{ tenantId: mailer.tenantId, address }])
  if (isSuppressed === true) throw refuse('is suppressed: no mail is sent to it')
  return address
}

async function tryServer(
  deps: TryMailerDeps,
  mailer: ServerMailer,
  to: string | undefined,
): Promise<TestStep[]> {
  const credential = await takeCredential(deps, mailer)
  if ('steps' in credential) return credential.steps.map((step) => toWire(step))
  const steps: TestStep[] = []
  if (canSend(mailer)) {
    const use =
      to === undefined
        ? undefined
        : sendTestMail(await testMailFor({ from: mailer.email, to }), mailer.email, to)
    const traced = await traceCredential(deps, mailer, credential, use)
    steps.push(...traced.steps.map((step) => toWire(step, traced.cause)))
    if (steps.at(-1)?.ok !== true) return steps
  } else steps.push(...credential.before.map((step) => toWire(step)))
  if (canFetch(mailer)) steps.push(...(await tryMailbox(deps, mailer, credential.login)))
  return steps
}

/** What failed without a refusal of the server is told in words of ours. */
function toWire({ step, ok, detail, ms }: LoginStep, cause?: SmtpFailure): TestStep {
  const isOurs = !ok && cause !== undefined && (cause.reply === undefined || cause.reply.code < 400)
  const told = cause?.systemCode === 'address_refused' ? `The host ${notReachable}` : undefined
  const reply = isOurs ? (told ?? sentenceOf(cause)) : detail
  return { step, ok, duration_ms: ms, reply }
}
