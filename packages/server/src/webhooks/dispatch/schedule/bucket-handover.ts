/**
 * Which steps are under way in which bucket, and what may still begin in one that is to be given back.
 *
 * It is given back when nothing is under way in it, so that the next owner repeats no request. To stop
 * beginning at once would delay every stream of the bucket for as long as one receiver hangs. So
 * while a step lasts, those that are not known to delay it go on; when none does, nothing begins, and
 * the bucket is free within a moment.
 *
 * That has an end: what is quick begins for the time of two requests at their longest, what is new for
 * that of one. So whatever a new one does, it is over while the quick ones still go on, and only one
 * that was quick until then can leave the others to nobody, for one request.
 */
import type { EndpointClass } from './fair-scheduler.ts'

/** A step under way, or a request of it. */
export interface BucketStep {
  readonly stream: { readonly bucket: number }
  readonly endpointClass: EndpointClass
  readonly startedMs: number
}

export interface BucketHandover {
  add(step: BucketStep): void
  remove(step: BucketStep): void
  mayBegin(step: Pick<BucketStep, 'stream' | 'endpointClass'>): boolean
  isFree(bucket: number): boolean
  /** All that are to be given back, from now on. */
  close(buckets: ReadonlySet<number>): void
}

const LASTING_MS = 1_000

export function createBucketHandover(o: {
  /** The longest that one request may take. */
  readonly requestMs: number
  readonly monotonicMs: () => number
  /** Of one that is to be given back. */
  readonly onFree: () => void
}): BucketHandover {
  const { monotonicMs, requestMs } = o
  /** How long each may begin, from when its bucket is to be given back. */
  const beginsForMs: Readonly<Record<EndpointClass, number>> = {
    quick: 2 * requestMs,
    new: requestMs,
    slow: 0,
    failing: 0,
  }
  const steps = new Map<number, Set<BucketStep>>()
  /** Since when. */
  let closing: ReadonlyMap<number, number> = new Map()

  const stepsIn = (bucket: number) => steps.get(bucket) ?? new Set<BucketStep>()
  const isFree = (bucket: number) => stepsIn(bucket).size === 0

  function isDelayed(bucket: number, nowMs: number): boolean {
    for (const step of stepsIn(bucket)) if (nowMs - step.startedMs > LASTING_MS) return true
    return false
  }

  return {
    add(step) {
      const known = steps.get(step.stream.bucket)
      if (known === undefined) steps.set(step.stream.bucket, new Set([step]))
      else known.add(step)
    },
    remove(step) {
      const { bucket } = step.stream
      stepsIn(bucket).delete(step)
      if (closing.has(bucket) && isFree(bucket)) o.onFree()
    },
    mayBegin({ stream, endpointClass }) {
      const sinceMs = closing.get(stream.bucket)
      if (sinceMs === undefined) return true
      const nowMs = monotonicMs()
      return nowMs - sinceMs < beginsForMs[endpointClass] && isDelayed(stream.bucket, nowMs)
    },
    isFree,
    close(buckets) {
      const nowMs = monotonicMs()
      closing = new Map([...buckets].map((bucket) => [bucket, closing.get(bucket) ?? nowMs]))
    },
  }
}
