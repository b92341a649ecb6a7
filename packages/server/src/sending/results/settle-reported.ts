/**
 * Attempts of recipients of whom something was reported while they were under way
 * (docs/reference/suppressions.md#whose-report-it-is): the provider has their mail, so no other attempt
 * follows, whatever came of this one. One without an answer was taken after all, and is no failure.
 *
 * In the transaction that ends them: a concurrent report is waited for
 * (record/report-store.ts).
 */
import { isDomainMailer } from '../../mailers/index.ts'
import type { Tx } from '../../platform/db/index.ts'
import { holdClaims } from '../queue/queue-store.ts'
import { lockSettled } from '../record/report-store.ts'
import type { Ending, FailedFinish } from './ending.ts'

/** In their order, as they are to be written. */
export async function settleReportedEndings(
  tx: Tx,
  endings: readonly Ending[],
): Promise<readonly Ending[]> {
  const asked = endings.filter(mayBeReported)
  if (asked.length === 0) return endings
  const claims = asked.map(({ claim }) => claim)
  // In the order of every finish: its place in the queue, then its recipient.
  const isHeld = await holdClaims(tx, claims)
  const held = claims.filter((_, i) => isHeld[i])
  const settled = new Set((await lockSettled(tx, held)).map(({ refId, n }) => `${refId}.${n}`))
  return endings.map((ending) => {
    const { refId, n } = ending.claim
    return settled.has(`${refId}.${n}`) && mayBeReported(ending) ? settle(ending) : ending
  })
}

function mayBeReported(ending: Ending): ending is FailedFinish {
  if (ending.kind !== 'finished' || ending.result.kind !== 'failed') return false
  if (ending.result.isUncertain) return true
  return ending.next?.kind === 'retry' && isDomainMailer(ending.claim.mailerId)
}

function settle({ claim, result, event, traceparent, ...rest }: FailedFinish): Ending {
  // What it is called by is in the report.
  if (result.isUncertain)
    return { kind: 'finished', claim, result: { kind: 'sent', messageId: '' }, traceparent }
  const details = { ...event.details, retry_scheduled: false }
  const next = { kind: 'give-up', because: 'permanent' } as const
  return { ...rest, claim, result, traceparent, next, event: { ...event, details } }
}
