/**
 * Mail of sending domains, handed to their relay provider.
 *
 * One refused key proves little, and is tried once more after a while before anything is concluded
 * from it, as with logins at mail servers (docs/reference/mailers.md#deactivation). An account has one
 * second try at a time; who has mail for it meanwhile, and for a moment after a refusal that was
 * confirmed, is told to stop. A refusal that is answered is final.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { pause } from '@postrider/runtime/timeout'
import type {
  RelayCallOptions,
  RelayMail,
  RelayResult,
  RelaySendOutcome,
  Relays,
} from '../relays/index.ts'
import type { RelayMailerForSend } from './load-mailer.ts'
import { type AuthCircuitBreaker, createAuthCircuitBreaker } from './smtp/auth-circuit-breaker.ts'

export type RelaySent = RelayResult<RelaySendOutcome>

export interface RelaySends {
  send(
    mailer: RelayMailerForSend,
    mail: RelayMail,
    o: Required<RelayCallOptions>,
  ): Promise<RelaySent>
}

const BREAKERS_MAX = 10_000
const STOPPED: RelaySent = { kind: 'stopped' }

export function createRelaySends({
  relays,
  authConfirmDelayMs,
}: {
  readonly relays: Pick<Relays, 'send'>
  readonly authConfirmDelayMs: number
}): RelaySends {
  const breakers = createBoundedMap<string, AuthCircuitBreaker>(BREAKERS_MAX)

  function breakerOf({ account: { tenantId, kind } }: RelayMailerForSend): AuthCircuitBreaker {
    const id = `${tenantId} ${kind}`
    const breaker = breakers.get(id) ?? createAuthCircuitBreaker()
    breakers.set(id, breaker)
    return breaker
  }

  return {
    async send(mailer, mail, o) {
      const { account } = mailer
      const breaker = breakerOf(mailer)
      if (breaker.isConfirming || breaker.isRejected(account.configVersion)) return STOPPED
      const first = await relays.send(account, mail, o)
      if (!isRejection(first)) return first
      // Somebody else's second try has ended while this one was under way.
      if (breaker.isRejected(account.configVersion)) return STOPPED
      const sent = isBeyondDoubt(first)
        ? first
        : await breaker.confirm(async () => {
            if (performance.now() + authConfirmDelayMs >= o.deadlineAt) return undefined
            if (!(await pause(authConfirmDelayMs, o.signal))) return undefined
            // The first request was refused, but what it had to wait for is done.
            const { beforeRequest: _, ...rest } = o
            return relays.send(account, mail, rest)
          })
      if (sent === undefined) return STOPPED
      if (isRejection(sent)) breaker.noteRejected(account.configVersion)
      return sent
    },
  }
}

function isRejection(sent: RelaySent): boolean {
  return failureOf(sent)?.authRejected === true
}

function isBeyondDoubt(sent: RelaySent): boolean {
  return failureOf(sent)?.cannotHealByWaiting === true
}

function failureOf(sent: RelaySent) {
  return sent.kind === 'answered' && sent.outcome.kind === 'failed'
    ? sent.outcome.failure
    : undefined
}
