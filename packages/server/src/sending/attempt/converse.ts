/**
 * The SMTP conversation of one attempt, below one absolute deadline.
 *
 * The commit point is written before the final dot is sent: from then on a lost connection means that the mail may
 * have been delivered, and the mailer's policy decides on another attempt
 * (docs/reference/sending.md#interrupted-attempts). A sender that has lost its claim by then never sends it.
 */
import { classifyFailure, parseAddress, type SmtpFailure, type SmtpResult } from '@postrider/mail'
import type { SmtpMailerForSend, SmtpPool } from '../../mailers/index.ts'
import type { Logger } from '../../platform/log.ts'
import { domainOf, envelopeIdOf } from '../record/email.ts'
import type { AttemptFailed, AttemptResult, Claim } from './attempt.ts'
import { type CommitPointDeps, createCommitPoint } from './commit-point.ts'
import type { Conversations } from './conversations.ts'
import { needsSmtpUtf8 } from './prepare-email.ts'
import type { ReturnPathTokens } from './return-path-tokens.ts'

export interface ConverseDeps extends CommitPointDeps {
  readonly log: Logger
  readonly pool: SmtpPool
  readonly conversations: Conversations
  /** For the whole conversation, waiting for a connection included. */
  readonly timeoutMs: number
  readonly returnPaths: Pick<ReturnPathTokens, 'make'>
  /** Before a rejected login is tried once more. */
  readonly authConfirmDelayMs: number
}

interface Conversation {
  readonly claim: Claim
  readonly mailer: SmtpMailerForSend
  readonly to: string
  readonly message: Buffer
  /** In its headers. */
  readonly showsUtf8Address: boolean
}

/**
 * `undone`: surely not sent, and for no reason that lies with mailer, server or mail; or nothing can
 * be concluded.
 */
export async function converse(
  deps: ConverseDeps,
  o: Conversation,
): Promise<AttemptResult | 'lost' | 'undone'> {
  const { failpoints, conversations } = deps
  const deadlineAt = performance.now() + deps.timeoutMs
  const dot = createCommitPoint(deps, o.claim)
  const transaction = {
    ...envelopeOf(deps, o),
    message: o.message,
    dsn: { envelopeId: envelopeIdOf(o.claim.refId, o.claim.n) },
    deadlineAt,
    beforeFinalDot: dot.commit,
    afterFinalDot: () => failpoints.hit('send.after_dot'),
  }
  // A kept connection that turns out to be gone is no attempt: once more on a fresh one. So is a
  // demand for a login, which is believed only when it is heard twice.
  let isFresh = false
  let isSecondTry = false
  for (;;) {
    const used = await deps.pool.withSession(
      o.mailer,
      deadlineAt,
      (session) => {
        failpoints.hit('send.after_connect')
        return conversations.hold(session, () => session.send(transaction))
      },
      { isFresh },
    )
    if (used.kind === 'busy') return 'undone'
    if (used.kind === 'failed')
      return conversations.isCut ? 'undone' : toFailure(o.mailer, used.failure, false)
    const result = used.value
    if (dot.state === 'lost') return 'lost'
    if (dot.state === 'unknown') return 'undone'
    if (result.kind === 'failed' && result.isStale && !isFresh) {
      isFresh = true
      continue
    }
    if (isCutOff(result, conversations)) return 'undone'
    if (!isSecondTry && isDemandForLogin(result)) {
      if (!(await conversations.pause(deps.authConfirmDelayMs, deadlineAt))) return 'undone'
      isSecondTry = isFresh = true
      continue
    }
    failpoints.hit('send.after_reply')
    return toResult(o.mailer, result)
  }
}

function isDemandForLogin(result: SmtpResult): boolean {
  if (result.kind === 'accepted') return false
  const { authRejected, cannotHealByWaiting } = classifyFailure(result.failure)
  return authRejected && !cannotHealByWaiting
}

/** Ended by ourselves, and the server cannot have the message. */
function isCutOff(result: SmtpResult, { isCut }: Conversations): boolean {
  return isCut && result.kind === 'failed' && result.phase === 'before-dot'
}

function envelopeOf(deps: ConverseDeps, { claim, mailer, to, showsUtf8Address }: Conversation) {
  const from = returnPathOf(deps, claim, mailer) ?? wireOf(mailer.email)
  const recipient = wireOf(to)
  return {
    from,
    to: recipient,
    smtpUtf8: showsUtf8Address || needsSmtpUtf8(from) || needsSmtpUtf8(recipient),
  }
}

/** Of this copy alone, so that what comes back to it is known by it. */
function returnPathOf(
  { returnPaths }: ConverseDeps,
  { refId, n }: Claim,
  { tenantId, returnPath }: SmtpMailerForSend,
): string | undefined {
  return returnPath && `${returnPaths.make({ tenantId, refId, n })}@${domainOf(returnPath)}`
}

export function wireOf(email: string): string {
  const parsed = parseAddress(email)
  return parsed.ok ? parsed.address.address : email
}

function toResult(mailer: SmtpMailerForSend, result: SmtpResult): AttemptResult {
  if (result.kind === 'accepted') return { kind: 'accepted' }
  const isUncertain = result.phase === 'after-dot' && result.failure.reply === undefined
  return toFailure(mailer, result.failure, isUncertain)
}

function toFailure(
  { configVersion }: SmtpMailerForSend,
  failure: SmtpFailure,
  isUncertain: boolean,
): AttemptFailed {
  const c = classifyFailure(failure)
  return {
    kind: 'failed',
    category: c.category,
    retryable: c.retryable,
    isUncertain,
    failedReason: c.failedReason,
    providerError: c.providerError,
    isBeforeMessage: false,
    ...(c.retryAfterMsMin === undefined ? {} : { retryAfterMsMin: c.retryAfterMsMin }),
    ...(c.authRejected
      ? { rejectedLogin: { configVersion, isBeyondDoubt: c.cannotHealByWaiting } }
      : {}),
  }
}
