import { expect, it } from 'vitest'
import { createWakeups } from './wakeups.ts'

/** Processes beside this one, and what they are told. */
function others(owned: readonly number[]) {
  const told: number[][] = []
  const listeners = new Set<(buckets: ReadonlySet<number>) => void>()
  return {
    told,
    owned: () => new Set(owned),
    notify: (buckets: Iterable<number>) => void told.push([...buckets]),
    onNotified(listener: (buckets: ReadonlySet<number>) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    say(...buckets: number[]) {
      for (const listener of listeners) listener(new Set(buckets))
    },
  }
}
const all = Array.from({ length: 64 }, (_, bucket) => bucket)

it('wakes local workers at once, and notifies others of buckets that are not owned here', () => {
  const beside = others([1, 2])
  const wakeups = createWakeups<{ bucket: number }>(beside)
  const woken: number[] = []
  wakeups.onWake((items) => woken.push(...items.map((item) => item.bucket)))
  wakeups.wake([{ bucket: 1 }, { bucket: 7 }, { bucket: 2 }, { bucket: 9 }])
  expect(woken).toEqual([1, 7, 2, 9])
  expect(beside.told).toEqual([[7, 9]])
  wakeups.wake([{ bucket: 2 }])
  wakeups.wake([])
  expect(beside.told).toHaveLength(1)
})

it('notifies nobody when this process owns every bucket', () => {
  const beside = others(all)
  createWakeups(beside).wake(all.map((bucket) => ({ bucket })))
  expect(beside.told).toEqual([])
})

it('works without other processes, and stops notifying listeners that have gone', () => {
  const alone = createWakeups<{ bucket: number }>()
  const woken: unknown[] = []
  const quiet = alone.onWake((items) => woken.push(items))
  alone.wake([{ bucket: 1 }])
  quiet()
  alone.wake([{ bucket: 1 }])
  expect(woken).toHaveLength(1)
  alone.onNews(() => woken.push('news'))()
})

it('passes on the notifications of other processes', () => {
  const beside = others([])
  const wakeups = createWakeups(beside)
  const news: number[][] = []
  const quiet = wakeups.onNews((buckets) => news.push([...buckets]))
  beside.say(3, 4)
  quiet()
  beside.say(5)
  expect(news).toEqual([[3, 4]])
})
