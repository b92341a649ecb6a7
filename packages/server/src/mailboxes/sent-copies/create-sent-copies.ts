/** Makes what keeps copies of sent mail, and counts them. */
import type { Metrics } from '../../platform/metrics.ts'
import { createSentCopyWorker, type SentCopyDeps, type SentCopyWorker } from './serve-copies.ts'
import { sentCopyOutcomes } from './settle-copy.ts'

export function createSentCopies(
  deps: Omit<SentCopyDeps, 'observe'> & { readonly metrics: Metrics },
): SentCopyWorker {
  const { metrics } = deps
  const copies = metrics.counter(
    'sent_copies_total',
    'Copies of sent mail for the Sent folders of mailboxes, by what came of them',
    ['outcome'],
  )
  for (const outcome of sentCopyOutcomes) copies.inc({ outcome }, 0)
  return createSentCopyWorker({
    ...deps,
    observe: (outcome, count) => copies.inc({ outcome }, count),
  })
}
