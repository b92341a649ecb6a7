import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createReceiveThrottle } from './receive-throttle.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Who had a turn, rest by rest. */
async function play(...waiting: readonly string[]): Promise<string[][]> {
  const turns = createReceiveThrottle()
  let now: string[] = []
  for (const who of waiting) void turns.next(who).then(() => now.push(who))
  const seen: string[][] = []
  for (let rests = 0; rests < waiting.length; rests += 1) {
    now = []
    await vi.advanceTimersByTimeAsync(2)
    seen.push(now)
  }
  return seen
}

describe('pieces of large messages', () => {
  it('are taken one by one, with a pause after each', async () => {
    expect(await play('a', 'a', 'a')).toEqual([['a'], ['a'], ['a']])
  })

  it('are taken from the peers in turn', async () => {
    expect((await play('a', 'a', 'a', 'b', 'c')).flat()).toEqual(['a', 'b', 'c', 'a', 'a'])
  })

  it('are taken more slowly while the process is busy', async () => {
    let lateMs = 0
    let now = 0
    const turns = createReceiveThrottle(() => now)
    const restOf = async () => {
      let hasTurn = false
      void turns.next('a').then(() => {
        hasTurn = true
      })
      let ms = 0
      for (; !hasTurn; ms += 1) {
        now += 1 + lateMs
        lateMs = 0
        await vi.advanceTimersByTimeAsync(1)
      }
      return ms
    }
    expect(await restOf()).toBe(2)
    lateMs = 7
    expect(await restOf()).toBe(2)
    expect(await restOf()).toBe(9)
    lateMs = 1_000
    expect(await restOf()).toBe(2)
    expect(await restOf()).toBe(50)
    expect(await restOf()).toBe(2)
  })

  it('are taken again after a time without any', async () => {
    const turns = createReceiveThrottle()
    let taken = 0
    void turns.next('a').then(() => (taken += 1))
    await vi.advanceTimersByTimeAsync(100)
    void turns.next('a').then(() => (taken += 1))
    await vi.advanceTimersByTimeAsync(100)
    expect(taken).toBe(2)
    expect(vi.getTimerCount()).toBe(0)
  })
})
