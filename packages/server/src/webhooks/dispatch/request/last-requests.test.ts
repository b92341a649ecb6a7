import { expect, it } from 'vitest'
import { createLastRequests } from './last-requests.ts'

it('calls a request recent for less than the time between two sweeps', () => {
  let nowMs = 5_000
  const requests = createLastRequests(() => nowMs)
  requests.made('wh_a')
  nowMs += 899
  expect(requests.isRecent('wh_a')).toBe(true)
  expect(requests.isRecent('wh_b')).toBe(false)
  nowMs += 1
  expect(requests.isRecent('wh_a')).toBe(false)
})

it('remembers a bounded number of streams', () => {
  const requests = createLastRequests(() => 0)
  for (let n = 0; n <= 20_000; n += 1) requests.made(`wh_${n}`)
  expect(requests.isRecent('wh_0')).toBe(false)
  expect(requests.isRecent('wh_20000')).toBe(true)
})
