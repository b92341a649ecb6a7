import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from '../errors.ts'
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

it('[contract 2] admits a number of uses in a window, then says when to try again', async () => {
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

it('counts several uses at once, and none that are refused', async () => {
  const limit = createRateLimit({ name: 'events', usesMax: 10, windowS: 60 })
  await limit.use('a', 7)
  expect((await refusalOf(limit.use('a', 4))).headers?.ratelimit).toBe('"events";r=3;t=60')
  await limit.use('a', 3)
  await refusalOf(limit.use('a'))
})

it('returns the use of successful work, which is refused while none is left', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  for (let i = 0; i < 3; i += 1)
    expect(await limit.useUnlessDone('a', async () => 'done')).toBe('done')
  const failed = limit.useUnlessDone('a', async () => {
    await refusalOf(limit.use('a'))
    throw new Error('failed')
  })
  await expect(failed).rejects.toThrow('failed')
  let isRun = false
  const refused = limit.useUnlessDone('a', async () => {
    isRun = true
  })
  await refusalOf(refused)
  expect(isRun).toBe(false)
})

it('returns no use after the end of the window', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  await limit.useUnlessDone('a', async () => {
    vi.advanceTimersByTime(60_000)
  })
  await limit.use('a')
  await refusalOf(limit.use('a'))
})

it('gives each caller its own window', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  await limit.use('a')
  await limit.use('b')
  expect((await refusalOf(limit.use('a'))).code).toBe('rate_limited')
})

it('does not extend the window for a refusal', async () => {
  const limit = createRateLimit({ name: 'checks', usesMax: 1, windowS: 60 })
  await limit.use('a')
  for (let second = 1; second < 60; second += 1) {
    vi.advanceTimersByTime(1_000)
    await refusalOf(limit.use('a'))
  }
  vi.advanceTimersByTime(1_000)
  await limit.use('a')
})
