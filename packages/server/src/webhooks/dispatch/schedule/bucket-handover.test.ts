import { beforeEach, describe, expect, it } from 'vitest'
import { type BucketHandover, createBucketHandover } from './bucket-handover.ts'
import type { EndpointClass } from './fair-scheduler.ts'

const REQUEST_MS = 30_000
const stream = { bucket: 1 }
const ENDPOINT_CLASSES: readonly EndpointClass[] = ['quick', 'slow', 'new', 'failing']

let nowMs = 0
let steps: BucketHandover
beforeEach(() => {
  nowMs = 0
  steps = createBucketHandover({
    requestMs: REQUEST_MS,
    monotonicMs: () => nowMs,
    onFree: () => undefined,
  })
})

const mayBegin = (endpointClass: EndpointClass) => steps.mayBegin({ stream, endpointClass })
const begun = (endpointClass: EndpointClass, startedMs = nowMs) => {
  const step = { stream, endpointClass, startedMs }
  steps.add(step)
  return step
}

describe('a bucket that is given back while a request hangs in it', () => {
  it.each<[EndpointClass, number]>([
    ['quick', 2 * REQUEST_MS],
    ['new', REQUEST_MS],
    ['slow', 0],
    ['failing', 0],
  ])('starts %s streams for %i ms', (endpointClass, beginsForMs) => {
    begun('quick', -2_000)
    expect(mayBegin(endpointClass)).toBe(true)
    steps.close(new Set([1]))
    for (nowMs = 0; nowMs < 3 * REQUEST_MS; nowMs += 100) {
      // Told again, it counts from the first time.
      steps.close(new Set([1]))
      expect(mayBegin(endpointClass), `after ${nowMs} ms`).toBe(nowMs < beginsForMs)
    }
  })

  it.each([500, 7_000, 27_500, 28_000])(
    '[invariant 8] starts quick streams until the end, while hanging new ones start every %i ms',
    (everyMs) => {
      let hanging = [begun('new', -2_000)]
      steps.close(new Set([1]))
      for (nowMs = 0; !steps.isFree(1); nowMs += 500) {
        if (nowMs % everyMs === 0 && mayBegin('new')) hanging.push(begun('new'))
        if (hanging.some((step) => nowMs - step.startedMs > 1_000))
          expect(mayBegin('quick'), `after ${nowMs} ms`).toBe(true)
        for (const step of hanging) if (nowMs - step.startedMs >= REQUEST_MS) steps.remove(step)
        hanging = hanging.filter((step) => nowMs - step.startedMs < REQUEST_MS)
      }
      expect(nowMs).toBeLessThanOrEqual(2 * REQUEST_MS)
    },
  )

  it('starts all streams as before when it is kept after all', () => {
    steps.close(new Set([1]))
    nowMs = 3 * REQUEST_MS
    steps.close(new Set())
    for (const endpointClass of ENDPOINT_CLASSES)
      expect(mayBegin(endpointClass), endpointClass).toBe(true)
  })
})

it('starts nothing in a bucket that is given back when nothing hangs in it', () => {
  begun('quick')
  steps.close(new Set([1]))
  nowMs = 1_000
  for (const endpointClass of ENDPOINT_CLASSES)
    expect(mayBegin(endpointClass), endpointClass).toBe(false)
})
