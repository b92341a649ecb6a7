import { expect, it } from 'vitest'
import { axisTicks, labelledBars } from './scale.ts'

it.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 5, 10]],
  [100, [0, 50, 100]],
  [1_234, [0, 500, 1_000, 1_500]],
])('goes to %i in round steps', (max, ticks) => {
  expect(axisTicks(max, 3)).toEqual(ticks)
})

const timesEvery = (minutes: number, count: number, from = new Date(2030, 0, 1, 2, 30)) =>
  Array.from({ length: count }, (_, at) => new Date(from.getTime() + at * minutes * 60_000))

it('labels bars at round hours, as far apart as there is room for', () => {
  const of = (minutes: number, count: number, every: number) => {
    const times = timesEvery(minutes, count)
    return [...labelledBars(times, every, false)].map((at) => times[at]?.toTimeString().slice(0, 5))
  }
  expect(of(10, 72, 10)).toEqual(['04:00', '06:00', '08:00', '10:00', '12:00', '14:00'])
  expect(of(10, 144, 30)).toEqual(['06:00', '12:00', '18:00', '00:00'])
  // Hours that begin at half past, as in some time zones.
  expect(of(60, 5, 2)).toEqual(['02:30', '04:30', '06:30'])
})

it('labels days one after the other, and nothing of nothing', () => {
  expect([...labelledBars(timesEvery(1_440, 7), 3, true)]).toEqual([0, 3, 6])
  expect([...labelledBars([], 3, false)]).toEqual([])
})
