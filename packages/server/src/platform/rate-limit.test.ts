import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from './errors.ts'
import { createRateLimit } from './rate-limit.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

async function refusalOf(use: Promise<void>): Promise<ApiError> {
  const error = await use.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ApiError)) throw new Error('no refusal', { cause: error })
  return error
}

it('[contract 2] lets so many through in a window, then says when the next one may come', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 2, windowS: 60 })
  await limit.use('a')
  await limit.use('a')
  vi.advanceTimersByTime(17_300)
  expect(await refusalOf(limit.use('a'))).toMatchObject({
    code: 'rate_limited',
    status: 429,
    retryAfterS: 43,
    headers: { 'ratelimit-policy': '"checks";q=2;w=60', ratelimit: '"checks";r=0;t=43' },
  })
  vi.advanceTimersByTime(42_700)
  await limit.use('a')
})

it('callers have a window each', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  await limit.use('a')
  await limit.use('b')
  expect((await refusalOf(limit.use('a'))).code).toBe('rate_limited')
})

it('what is refused prolongs nothing', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  await limit.use('a')
  for (let second = 1; second < 60; second += 1) {
    vi.advanceTimersByTime(1_000)
    await refusalOf(limit.use('a'))
  }
  vi.advanceTimersByTime(1_000)
  await limit.use('a')
})
