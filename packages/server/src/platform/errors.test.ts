import { RefusedError } from '@postrider/runtime/refused-error'
import { expect, it } from 'vitest'
import { ApiError, refusalOf } from './errors.ts'

it('answers a full limiter with 429, its policy and the time to try again', () => {
  const refusal = refusalOf(new RefusedError('reads', { quota: 3, retryAfterS: 1 }))
  expect(refusal).toMatchObject({
    code: 'rate_limited',
    status: 429,
    message: 'Too many requests of this kind at once',
    bound: 'reads',
    retryAfterS: 1,
    headers: { 'ratelimit-policy': '"reads";q=3', ratelimit: '"reads";r=0;t=1' },
  })
})

it('answers a stopped service with 503', () => {
  expect(refusalOf(new RefusedError('reads'))).toMatchObject({ code: 'unavailable', status: 503 })
})

it('keeps a refusal of the API, and treats no other error as one', () => {
  const refusal = new ApiError('not_found')
  expect(refusalOf(refusal)).toBe(refusal)
  expect(refusalOf(new Error('other'))).toBeUndefined()
})
