/**
 * Runs one claimed attempt up to its ending, without writing it: what was claimed → message →
 * session → SMTP → result → what follows. The whole stays below one absolute deadline.
 *
 * The dot is committed before it is sent. From then on a lost connection means that the mail may
 * have been delivered, and the mailer's policy decides on another attempt (contract §5).
 */
import {
  buildMessage,
  classifyFailure,
  type FailureCategory,
  failedReasonOf,
  parseAddress,
  type SmtpResult,
} from '../mail/index.ts'
import type { MailerForSend, SmtpPool } from '../mailers/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { Logger } from '../platform/log.ts'
import type { AttemptResult, Claim } from './attempt.ts'
import { decideNextStep, type NextStep } from './decide-next-step.ts'
import type { EmailContent } from './email.ts'
import { deliveredEvent, type EventSubject, smtpErrorEvent } from './event-details.ts'
import type { Ending } from './finish-attempts.ts'

/** What an attempt needs besides its claim. `content` is shared by the recipients of an email. */
export interface LoadedAttempt {
  readonly claim: Claim
  /** Undefined when the mailer is gone or cannot be read. */
  readonly mailer: MailerForSend | undefined
  readonly content: EmailContent
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  readonly createdAt: Date
  readonly email: string
  readonly messageId: string
}

export interface RunAttemptDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly pool: SmtpPool
  readonly failpoints: Failpoints
  readonly retryScheduleMs: readonly number[]
  /** For the whole attempt, from its start. */
  readonly timeoutMs: number
  /** Commits that the dot may be sent; false when the claim is lost. */
  readonly markDot: (claim: Claim) => Promise<boolean>
}

/** A process that ends again and again within one recipient's attempt is ended by it. */
const INTERRUPTIONS_MAX = 3
const UNDO_WAIT_MS = 1_000

/** Undefined when the claim was lost on the way: another has the row, nothing is to be written. */
export async function runAttempt(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
): Promise<Ending | undefined> {
  const { claim } = loaded
  const result = await attempt(deps, loaded)
  if (result === 'lost') return undefined
  if (result === 'undone')
    return { kind: 'undone', claim, undo: { kind: 'undone', waitMs: UNDO_WAIT_MS } }
  const subject: EventSubject = { ...loaded, atMicros: deps.clock.nowMicros() }
  if (result.kind === 'accepted')
    return { kind: 'finished', claim, result, event: deliveredEvent(subject) }
  const next = nextStep(deps, claim, result, loaded.mailer)
  const event = smtpErrorEvent(subject, result, next.kind === 'retry')
  return { kind: 'finished', claim, result, next, event }
}

function nextStep(
  deps: RunAttemptDeps,
  claim: Claim,
  failure: Extract<AttemptResult, { kind: 'failed' }>,
  mailer: MailerForSend | undefined,
): NextStep {
  const isRefusedByPolicy = failure.isUncertain && mailer?.uncertain === 'at_most_once'
  return decideNextStep(
    {
      retryable: failure.retryable && !isRefusedByPolicy,
      attempt: claim.attempt,
      maxAttempts: claim.maxAttempts,
      ...(failure.retryAfterMsMin === undefined
        ? {}
        : { retryAfterMsMin: failure.retryAfterMsMin }),
    },
    deps.retryScheduleMs,
    Math.random(),
  )
}

async function attempt(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
): Promise<AttemptResult | 'lost' | 'undone'> {
  const { claim, mailer } = loaded
  // An earlier claim ran out after the dot was committed: its outcome is this attempt's.
  if (claim.was === 'dot') return { ...failure('uncertain'), retryable: true, isUncertain: true }
  if (claim.isExpired) return { ...failure('expired'), isBeforeMessage: true }
  if (claim.interrupted >= INTERRUPTIONS_MAX)
    return { ...failure('internal'), isBeforeMessage: true }
  if (mailer === undefined) return { ...failure('mailer_config'), isBeforeMessage: true }
  const message = await build(deps, loaded)
  if (message === undefined) return { ...failure('internal'), isBeforeMessage: true }
  return converse(deps, loaded, mailer, message)
}

function failure(category: FailureCategory) {
  return {
    kind: 'failed',
    category,
    retryable: false,
    isUncertain: false,
    failedReason: failedReasonOf(category),
    providerError: '',
    isBeforeMessage: false,
  } as const satisfies AttemptResult
}

async function build(deps: RunAttemptDeps, loaded: LoadedAttempt): Promise<Buffer | undefined> {
  const { content, messageId, createdAt, claim } = loaded
  try {
    return await buildMessage({ ...content, messageId, date: createdAt })
  } catch (error) {
    deps.log.error({ err: error, ref_id: claim.refId, n: claim.n }, 'message.build_failed')
    return undefined
  }
}

async function converse(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
  mailer: MailerForSend,
  message: Buffer,
): Promise<AttemptResult | 'lost' | 'undone'> {
  const deadlineAt = Date.now() + deps.timeoutMs
  const dot = { isLost: false, isUnknown: false }
  const beforeFinalDot = async (): Promise<void> => {
    try {
      dot.isLost = !(await deps.markDot(loaded.claim))
    } catch (error) {
      dot.isUnknown = true
      throw error
    }
    if (dot.isLost) throw new Error('the claim was lost')
    deps.failpoints.hit('send.before_dot')
  }
  // A kept connection that turns out to be gone is no attempt: once more on a fresh one.
  for (const isFresh of [false, true]) {
    const used = await deps.pool.withSession(
      mailer,
      deadlineAt,
      (session) => {
        deps.failpoints.hit('send.after_connect')
        return session.send({
          ...envelopeOf(loaded, mailer),
          message,
          deadlineAt,
          beforeFinalDot,
          afterFinalDot: () => deps.failpoints.hit('send.after_dot'),
        })
      },
      { isFresh },
    )
    if (used.kind === 'busy') return 'undone'
    if (used.kind === 'failed') return toFailure(classifyFailure(used.failure), false)
    const result = used.value
    if (dot.isLost) return 'lost'
    if (dot.isUnknown) return 'undone'
    if (result.kind === 'failed' && result.isStale && !isFresh) continue
    deps.failpoints.hit('send.after_reply')
    return toResult(result)
  }
  return 'undone'
}

function envelopeOf(loaded: LoadedAttempt, mailer: MailerForSend) {
  const from = parseAddress(mailer.email)
  const to = parseAddress(loaded.email)
  return {
    from: from.ok ? from.address.address : mailer.email,
    to: to.ok ? to.address.address : loaded.email,
    smtpUtf8: (from.ok && from.address.needsSmtpUtf8) || (to.ok && to.address.needsSmtpUtf8),
  }
}

function toResult(result: SmtpResult): AttemptResult {
  if (result.kind === 'accepted') return { kind: 'accepted' }
  const isUncertain = result.phase === 'after-dot' && result.failure.reply === undefined
  return toFailure(classifyFailure(result.failure), isUncertain)
}

function toFailure(
  c: ReturnType<typeof classifyFailure>,
  isUncertain: boolean,
): Extract<AttemptResult, { kind: 'failed' }> {
  return {
    kind: 'failed',
    category: c.category,
    retryable: c.retryable,
    isUncertain,
    failedReason: c.failedReason,
    providerError: c.providerError,
    isBeforeMessage: false,
    ...(c.retryAfterMsMin === undefined ? {} : { retryAfterMsMin: c.retryAfterMsMin }),
  }
}
