import { describe, expect, it } from 'vitest'
import { relayFailure, retryAfterMsOf } from './failure.ts'

const date = 'Fri, 20 Nov 2026 10:00:00 GMT'
const answer = (headers: Record<string, string>, body = '') => ({ status: 429, headers, body })

describe('the Retry-After of a provider', () => {
  it.each([
    ['7', 7_000],
    ['Fri, 20 Nov 2026 10:00:30 GMT', 30_000],
    ['999999999', 86_400_000],
  ])('is %s', (value, ms) => {
    expect(retryAfterMsOf(answer({ 'retry-after': value, date }))).toBe(ms)
  })

  it.each(['0', '-1', '1.5', 'soon', '', 'Fri, 20 Nov 2026 09:00:00 GMT'])('is not %s', (value) => {
    expect(retryAfterMsOf(answer({ 'retry-after': value, date }))).toBeUndefined()
  })

  it('is ignored as a date when the answer has no date of its own', () => {
    expect(
      retryAfterMsOf(answer({ 'retry-after': 'Fri, 20 Nov 2099 10:00:30 GMT' })),
    ).toBeUndefined()
    expect(retryAfterMsOf(answer({ date }))).toBeUndefined()
  })
})

describe('a failure', () => {
  it('has the sentence of its category, and the words as received', () => {
    const given = answer({}, ' {"errors":[{"message":"slow down"}]}\n')
    const failure = relayFailure('sender_rate_limited', {
      retryable: true,
      words: 'slow down',
      answer: given,
      retryAfterMsMin: 5,
    })
    expect(failure).toEqual({
      category: 'sender_rate_limited',
      retryable: true,
      failedReason: 'The sending account is sending too fast',
      providerError: '429 {"errors":[{"message":"slow down"}]}',
      retryAfterMsMin: 5,
      authRejected: false,
      cannotHealByWaiting: false,
    })
  })

  it('has the words alone when its category is unknown', () => {
    const unknown = (words: string | undefined) =>
      relayFailure('unknown', { retryable: false, words, answer: answer({}, `${words}`) })
    expect(unknown('odd\u0000').failedReason).toBe('odd\ufffd')
    expect(unknown('').failedReason).toBe('HTTP status 429')
  })

  it('does not repeat a web page', () => {
    const page = answer({}, '<html>Login to the router</html>')
    const failure = relayFailure('temporary', { retryable: true, words: undefined, answer: page })
    expect(failure.providerError).toBe('HTTP status 429')
  })
})
