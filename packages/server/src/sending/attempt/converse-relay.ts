/**
 * The request by which one attempt hands its mail to a relay provider
 * (docs/reference/sending.md#interrupted-attempts). What is the final dot at a mail server is the request
 * here: committed before, uncertain without an answer.
 */
import type { RelayMailerForSend, RelaySends, RelaySent } from '../../mailers/index.ts'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { RelayFailure, RelayMail } from '../../relays/index.ts'
import type { AttemptFailed, AttemptResult, Claim } from './attempt.ts'
import { type CommitPointDeps, createCommitPoint } from './commit-point.ts'
import type { Conversations } from './conversations.ts'

export interface ConverseRelayDeps extends CommitPointDeps {
  readonly relaySends: RelaySends
  readonly conversations: Conversations
  /** For all of it: each request has its own besides. */
  readonly timeoutMs: number
}

/**
 * `undone`: surely not sent, and for no reason that lies with mailer, provider or mail; or nothing can
 * be concluded.
 */
export async function converseRelay(
  deps: ConverseRelayDeps,
  o: { readonly claim: Claim; readonly mailer: RelayMailerForSend; readonly mail: RelayMail },
): Promise<AttemptResult | 'lost' | 'undone'> {
  const dot = createCommitPoint(deps, o.claim)
  const sent = await send(deps, o, () =>
    dot.commit().then(
      () => true,
      () => false,
    ),
  )
  if (dot.state === 'lost') return 'lost'
  // Stopped by the process, or while the key of an account is in question; having passed the commit point did no harm.
  if (sent.kind === 'stopped') return 'undone'
  deps.failpoints.hit('send.after_reply')
  return toResult(o.mailer, sent)
}

async function send(
  { conversations, relaySends, timeoutMs }: ConverseRelayDeps,
  { mailer, mail }: { readonly mailer: RelayMailerForSend; readonly mail: RelayMail },
  beforeRequest: () => Promise<boolean>,
): Promise<RelaySent> {
  const deadlineAt = performance.now() + timeoutMs
  try {
    const { signal } = conversations
    return await relaySends.send(mailer, mail, { deadlineAt, signal, beforeRequest })
  } catch (error) {
    // A simulator stores what it would call back with before anything counts as sent.
    if (error instanceof DatabaseUnavailableError) return { kind: 'stopped' }
    throw error
  }
}

function toResult(
  mailer: RelayMailerForSend,
  sent: Exclude<RelaySent, { kind: 'stopped' }>,
): AttemptResult {
  if (sent.kind !== 'answered') return toFailure(mailer, sent.failure)
  const { outcome } = sent
  return outcome.kind === 'accepted'
    ? { kind: 'sent', messageId: outcome.providerMessageId }
    : toFailure(mailer, outcome.failure)
}

function toFailure(
  { configVersion }: RelayMailerForSend,
  { authRejected, cannotHealByWaiting, ...failure }: RelayFailure,
): AttemptFailed {
  return {
    kind: 'failed',
    ...failure,
    // No answer came, or one that nothing can be made of.
    isUncertain: failure.category === 'uncertain',
    isBeforeMessage: false,
    ...(authRejected
      ? { rejectedLogin: { configVersion, isBeyondDoubt: cannotHealByWaiting } }
      : {}),
  }
}
