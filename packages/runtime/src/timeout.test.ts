import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { pause, TimeoutError, waitAtMost, withTimeout } from './timeout.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const lasting = <T>(ms: number, end: () => T): Promise<T> =>
  new Promise((resolve, reject) =>
    setTimeout(() => {
      try {
        resolve(end())
      } catch (error) {
        reject(error)
      }
    }, ms),
  )
const fail = (message: string) => () => {
  throw new Error(message)
}

/** How it ended, and the timers that are left. */
async function ended(work: Promise<unknown>): Promise<unknown[]> {
  const outcome = work.then(
    (value) => ['answers', value],
    (error) => ['fails', error.message],
  )
  await vi.advanceTimersByTimeAsync(100)
  return [...(await outcome), vi.getTimerCount()]
}

describe('work with a time limit', () => {
  it('returns or throws like the work within its time, and leaves no timer', async () => {
    expect(
      await ended(
        withTimeout(
          lasting(99, () => 'work'),
          100,
        ),
      ),
    ).toEqual(['answers', 'work', 0])
    expect(await ended(withTimeout(lasting(99, fail('no')), 100))).toEqual(['fails', 'no', 0])
  })

  it('throws a TimeoutError when its time is over', async () => {
    const late = withTimeout(lasting(200, fail('no')), 100)
    const told = late.catch((error: unknown) => error)
    expect(await ended(late)).toEqual(['fails', 'took longer than 100 ms', 1])
    expect(await told).toBeInstanceOf(TimeoutError)
  })

  it('runs the given fallback instead when its time is over', async () => {
    const work = () => lasting(200, () => 'work')
    expect((await ended(withTimeout(work(), 100, () => 'late')))[1]).toBe('late')
    expect((await ended(withTimeout(work(), 100, fail('late'))))[1]).toBe('late')
  })

  it('throws at the same moment when its end makes the work fail', async () => {
    const work = Promise.withResolvers()
    const late = () => {
      work.reject(new Error('cut'))
      return 'late'
    }
    expect(await ended(withTimeout(work.promise, 100, late))).toEqual(['answers', 'late', 0])
  })

  it('is awaited for a bounded time, and its failure within the time is thrown', async () => {
    expect(await ended(waitAtMost(lasting(200, fail('no')), 100))).toEqual([
      'answers',
      undefined,
      1,
    ])
    expect(await ended(waitAtMost(lasting(50, fail('no')), 100))).toEqual(['fails', 'no', 0])
  })
})

it('ends a pause after its time, and at once when the signal fires', async () => {
  vi.useRealTimers()
  const stop = new AbortController()
  expect(await pause(1, stop.signal)).toBe(true)
  const long = pause(3_600_000, stop.signal)
  stop.abort()
  expect(await long).toBe(false)
  expect(await pause(3_600_000, stop.signal)).toBe(false)
})
