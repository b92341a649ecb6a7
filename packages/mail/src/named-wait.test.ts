import { expect, it } from 'vitest'
import { classifyFailure } from './classify-reply.ts'
import { namedWaitMs } from './named-wait.ts'

it.each([
  ['try again in 5 minutes', 300_000],
  ['please retry after 60 seconds', 60_000],
  ['greylisted, please wait 30s and retry', 30_000],
  ['rate limit exceeded, wait at least 2 hours', 7_200_000],
  ['too many messages within 60 secs', 60_000],
  ['try again in 99999 hours', 86_400_000],
  ['try again later', undefined],
  ['timed out after 30 seconds', undefined],
  ['try again in 0 seconds', undefined],
  ['try again in 5 moments', undefined],
])('reads from "%s" the wait %s', (words, expected) => {
  expect(namedWaitMs(words)).toBe(expected)
})

const after = (text: string) =>
  classifyFailure({ stage: 'rcpt', reply: { code: Number(text.slice(0, 3)), text } })

it('is used by a reply that may be tried again', () => {
  const text = '451 4.7.1 Rate limit exceeded, try again in 90 seconds'
  expect(after(text).retryAfterMsMin).toBe(90_000)
  expect(after('450 4.2.0 Greylisted, see you in 120 seconds, retry then')).toMatchObject({
    category: 'greylisted',
    retryAfterMsMin: 120_000,
  })
  expect(after('550 5.7.1 Rate limit exceeded, try again in 90 seconds')).not.toHaveProperty(
    'retryAfterMsMin',
  )
})
