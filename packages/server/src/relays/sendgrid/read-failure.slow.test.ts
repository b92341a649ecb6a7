import { type FailureCategory, failedReasonOf } from '@postrider/mail'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RelayAnswer } from '../relay.ts'
import { readFailure } from './read-failure.ts'

const date = 'Fri, 20 Nov 2026 10:00:00 GMT'
const answerOf = (status: number, body: unknown, headers = {}): RelayAnswer => ({
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const errors = (message: string, field: string | null = null) => ({
  errors: [{ message, field, help: null }],
})

type Case = readonly [
  status: number,
  message: string,
  field: string | null,
  category: FailureCategory,
  then: 'final' | 'retry' | 'key refused',
]

const IDENTITY =
  'The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.'
const GRANT = 'The provided authorization grant is invalid, expired, or revoked'

const CASES: readonly Case[] = [
  [401, GRANT, null, 'auth_rejected', 'key refused'],
  [401, 'Permission denied, wrong credentials', null, 'auth_rejected', 'key refused'],
  [401, 'authorization required', null, 'auth_rejected', 'key refused'],
  [401, 'Maximum credits exceeded', null, 'sender_quota_exhausted', 'final'],
  [403, 'Credit limit exceeded', null, 'sender_quota_exhausted', 'final'],
  [401, 'You have exceeded your messaging limits', null, 'sender_quota_exhausted', 'final'],
  [403, 'access forbidden', null, 'sender_not_authorized', 'key refused'],
  [403, 'The API key has not the scope mail.send', null, 'sender_not_authorized', 'key refused'],
  [403, 'Authenticated user is not authorized to send mail', null, 'sender_not_authorized', 'key refused'],
  [403, IDENTITY, 'from', 'sender_not_allowed', 'final'],
  [403, 'You are not authorized to send from that email address', null, 'sender_not_allowed', 'final'],
  [403, 'Something else', 'from', 'sender_not_allowed', 'final'],
  [403, 'Too many bad requests. Temporary block', null, 'sender_blocked', 'retry'],
  [403, 'Your account has been suspended', null, 'sender_blocked', 'final'],
  [403, "The requestor's IP Address is not whitelisted", null, 'sender_not_authorized', 'final'],
  [403, 'Something else', null, 'unknown', 'final'],
  [400, 'Does not contain a valid address.', 'personalizations.0.to.0.email', 'invalid_recipient', 'final'],
  [400, 'The from email does not contain a valid address.', 'from.email', 'sender_not_allowed', 'final'],
  [400, 'The content value must be a string at least one character in length.', 'content.0.value', 'content_rejected', 'final'],
  [400, 'The header cannot be one of the reserved keys.', 'headers.to', 'content_rejected', 'final'],
  [400, 'The attachment content must be base64 encoded.', 'attachments.0.content', 'content_rejected', 'final'],
  [400, 'The message exceeds the maximum total size of 30 MB', null, 'message_too_large', 'final'],
  [400, 'Bad Request', null, 'unknown', 'final'],
  [400, 'personalizations is required', 'personalizations', 'unknown', 'final'],
  [404, 'not found', null, 'protocol_error', 'final'],
  [405, 'method not allowed', null, 'protocol_error', 'final'],
  [408, 'request timeout', null, 'temporary', 'retry'],
  [413, 'The JSON payload you have included in your request is too large.', null, 'message_too_large', 'final'],
  [418, 'Something else', null, 'unknown', 'final'],
  [429, 'too many requests', null, 'sender_rate_limited', 'retry'],
  [429, GRANT, null, 'sender_rate_limited', 'retry'],
  [500, 'internal error', null, 'temporary', 'retry'],
  [502, IDENTITY, 'from', 'temporary', 'retry'],
  [503, GRANT, null, 'temporary', 'retry'],
] // biome-ignore format: a table

describe('a refusal in SendGrid’s form', () => {
  it.each(CASES)('reads %i %s (%s) as %s', (status, message, field, category, then) => {
    const body = errors(message, field)
    const failure = readFailure(answerOf(status, body))
    expect(failure).toEqual({
      category,
      retryable: then === 'retry',
      failedReason: category === 'unknown' ? message : failedReasonOf(category),
      providerError: `${status} ${JSON.stringify(body)}`,
      authRejected: then === 'key refused',
      cannotHealByWaiting: false,
    })
  })

  it('accepts bare texts, and several errors', () => {
    const bare = readFailure(answerOf(401, { errors: ['Maximum credits exceeded'] }))
    expect(bare.category).toBe('sender_quota_exhausted')
    const two = { errors: [{ message: 'one' }, { message: 'two', field: 'from' }] }
    expect(readFailure(answerOf(403, two)).category).toBe('sender_not_allowed')
    expect(readFailure(answerOf(400, { errors: [{ message: 'a' }, {}] })).failedReason).toBe('a')
  })
})

describe('a refusal in another form', () => {
  it.each([
    [400, 'temporary', true],
    [403, 'temporary', true],
    [404, 'temporary', true],
    [413, 'message_too_large', false],
    [429, 'sender_rate_limited', true],
    [502, 'temporary', true],
    [301, 'temporary', true],
    [200, 'temporary', true],
  ] as const)(
    'a refusal in another form with %i is %s, without its page',
    (status, category, retryable) => {
      const bodies = ['<html>access forbidden: api key</html>', '\n<!DOCTYPE html>']
      const others = status === 200 ? [] : ['', '[]', '{"errors":[]}', 'null', 'access forbidden']
      for (const body of [...bodies, ...others])
        expect(readFailure(answerOf(status, body))).toMatchObject({
          category,
          retryable,
          providerError: `HTTP status ${status}`,
          authRejected: false,
        })
    },
  )

  it('a refusal in another form with 401 is a verdict on the key', () => {
    expect(readFailure(answerOf(401, '<html>'))).toMatchObject({
      category: 'auth_rejected',
      authRejected: true,
    })
  })
})

describe('a refusal that allows a retry', () => {
  it.each([
    [429, { 'retry-after': '7' }, 7_000],
    [503, { 'retry-after': '9' }, 9_000],
    [429, { 'x-ratelimit-reset': String(Date.parse(date) / 1000 + 40), date }, 40_000],
    [429, { 'retry-after': '7', 'x-ratelimit-reset': '1392815263', date }, 7_000],
    [429, { 'x-ratelimit-reset': '1392815263', date }, undefined],
    [429, { 'x-ratelimit-reset': '1392815263' }, undefined],
    [503, { 'x-ratelimit-reset': String(Date.parse(date) / 1000 + 40), date }, undefined],
    [400, { 'retry-after': '7' }, undefined],
  ])('a refusal of %i with %o is retried after %s ms', (status, headers, ms) => {
    expect(readFailure(answerOf(status, errors('x'), headers)).retryAfterMsMin).toBe(ms)
  })
})

it('makes a failure that can be stored from any answer', () => {
  const body = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.json().map((one) => `{"errors":${one}}`),
    fc.json().map((one) => `{"errors":[{"message":${one},"field":${one}}]}`),
  )
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), body, (status, text) => {
      const failure = readFailure(answerOf(status, text))
      expect(failure.failedReason).not.toBe('')
      for (const stored of [failure.failedReason, failure.providerError]) {
        expect(stored.isWellFormed()).toBe(true)
        expect(stored).not.toContain('\u0000')
        expect(stored.length).toBeLessThanOrEqual(2_000)
      }
      expect(failure.authRejected && failure.retryable).toBe(false)
    }),
  )
})
