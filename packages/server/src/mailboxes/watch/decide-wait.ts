/**
 * How long a mailbox is left alone after a failure (docs/reference/inbound.md#mailboxes): 1 s, doubling to 60
 * s.
 */
const FIRST_MS = 1_000
const MAX_MS = 60_000
const JITTER = 0.2

/** @param failures in a row, this one included; @param random in [0, 1) */
export function decideWaitMs(failures: number, random: number): number {
  const wholeMs = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 10), MAX_MS)
  // Never longer than is promised: those that failed together are spread over the time before.
  return Math.round(wholeMs * (1 - JITTER * random))
}
