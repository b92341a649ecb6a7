/**
 * Batches that are fetched at once: each holds a few MiB, or one message as large as may be. Turns are
 * short, and a server that has outlasted one takes its next among its like, so that it delays nobody else.
 */
import { createConcurrencyLimiter } from '../../platform/concurrency-limiter.ts'
import type { TakeMailDeps } from './take-mail.ts'

const AT_ONCE = { atOnceMax: 6, atOncePerCallerMax: 3 } as const
const SLOW_AT_ONCE = { atOnceMax: 2, atOncePerCallerMax: 1 } as const

export function createFetchTurns(): TakeMailDeps['inTurn'] {
  const waitingPerCallerMax = Number.POSITIVE_INFINITY
  const quick = createConcurrencyLimiter({
    ...AT_ONCE,
    waitingPerCallerMax,
    name: 'mailbox-fetches',
  })
  const slow = createConcurrencyLimiter({
    ...SLOW_AT_ONCE,
    waitingPerCallerMax,
    name: 'slow-mailbox-fetches',
  })
  return ({ tenantId, isSlow }, work) => (isSlow ? slow : quick).run(tenantId, work)
}
