/**
 * File descriptors of this process: how many it may have, and whether they ran out.
 *
 * EMFILE (this process has none left) and ENFILE (the machine has none left) are no fault of a peer. An
 * outgoing connection that fails by them was not tried: egress calls it `busy`, and senders put it off
 * without an attempt. `/readyz` fails while it lasts.
 */
import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { createSummedLog } from '../summed-log.ts'

export interface Descriptors {
  /** Whether the error means that there was no descriptor. Notes it. */
  ranOut(error: unknown): boolean
  /** Whether none is free now, or none was a moment ago. Looks. */
  areOut(): boolean
}

/** They ran out, and may do so again at once. */
const LATELY_MS = 5_000
const CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

export function createDescriptors(o: {
  readonly log: Logger
  readonly metrics: Metrics
  readonly monotonicMs?: () => number
  /** Opens something and closes it again. */
  readonly probe?: () => void
}): Descriptors {
  const { monotonicMs = () => performance.now(), probe = openOne } = o
  let lastMs = Number.NEGATIVE_INFINITY
  const counter = o.metrics.counter(
    'descriptors_exhausted_total',
    'Times that no file descriptor was free for an outgoing connection or a probe',
  )
  const line = createSummedLog({
    log: o.log,
    level: 'error',
    message: 'descriptors.exhausted',
    monotonicMs,
  })

  function ranOut(error: unknown): boolean {
    if (!isOutOfDescriptors(error)) return false
    lastMs = monotonicMs()
    counter.inc()
    line.note({ limit: readDescriptorLimit() })
    return true
  }

  return {
    ranOut,
    areOut() {
      try {
        probe()
      } catch (error) {
        if (ranOut(error)) return true
      }
      return monotonicMs() - lastMs < LATELY_MS
    },
  }
}

export function isOutOfDescriptors(error: unknown): boolean {
  return error instanceof Error && 'code' in error && CODES.has(error.code)
}

function openOne(): void {
  closeSync(openSync('/dev/null', 'r'))
}

/** Where the system does not say: the usual soft limit. */
const LIMIT_UNKNOWN = 1_024
let limit: number | undefined

/** Node raises its soft limit to the hard one at start. Read once: later there may be no descriptor to read it. */
export function readDescriptorLimit(): number {
  limit ??= readLimit()
  return limit
}

function readLimit(): number {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8')
    const [, found] = /^Max open files\s+(\d+|unlimited)/m.exec(text) ?? []
    return found === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(found ?? LIMIT_UNKNOWN)
  } catch {
    return LIMIT_UNKNOWN
  }
}
