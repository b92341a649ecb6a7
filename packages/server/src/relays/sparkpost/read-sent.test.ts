import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anAnswer, errors } from './mail.fixture.ts'
import { sparkpost } from './sparkpost.ts'

const read = (status: number, body: unknown, headers = {}) =>
  sparkpost.readSent(anAnswer(status, body, headers))
function failure(status: number, body: unknown, headers = {}) {
  const outcome = read(status, body, headers)
  if (outcome.kind !== 'failed') throw new Error(outcome.kind)
  return outcome.failure
}
const results = (change: object = {}) => ({
  results: { total_rejected_recipients: 0, total_accepted_recipients: 1, id: '118', ...change },
})

describe('the answer to a transmission', () => {
  it.each([
    ['as documented', results(), '118'],
    [
      'with an id of digits that no double carries',
      '{"results":{"id":"92356927693813856"}}',
      '92356927693813856',
    ],
    ['with warnings', { ...results(), ...errors('2000', 'created, with errors') }, '118'],
    ['with counts as text', results({ total_accepted_recipients: '1' }), '118'],
    ['without an id', results({ id: undefined }), ''],
  ])('is a success: %s', (_what, body, providerMessageId) => {
    expect(read(200, body)).toEqual({ kind: 'accepted', providerMessageId })
  })

  it('is a refusal when no recipient was accepted', () => {
    const body = {
      ...errors('2000', 'transmission created, but with validation errors'),
      ...results({
        total_accepted_recipients: 0,
        total_rejected_recipients: 1,
        rcpt_to_errors: [
          { message: 'invalid data format', description: 'not an address', code: '1300' },
        ],
      }),
    }
    expect(failure(200, body)).toMatchObject({
      category: 'invalid_recipient',
      retryable: false,
      providerError: `200 ${JSON.stringify(body)}`,
    })
    expect(
      failure(200, results({ total_accepted_recipients: 0, rcpt_to_errors: 1 })),
    ).toMatchObject({
      category: 'invalid_recipient',
    })
    const rejected = { total_accepted_recipients: undefined, total_rejected_recipients: 1 }
    expect(failure(200, results(rejected))).toMatchObject({ category: 'invalid_recipient' })
    const limited = results({ total_accepted_recipients: 0, rcpt_to_errors: [{ code: '2101' }] })
    expect(failure(200, limited)).toMatchObject({
      category: 'sender_rate_limited',
      retryable: true,
    })
  })

  it('is uncertain when it cannot be read', () => {
    const cut = '{"results":{"total_rejected_recipients":0,"total_acc'
    for (const body of ['', ' ', cut, 'null', '[]', '{}', '{"results":[]}', '"ok"'])
      expect(failure(200, body)).toMatchObject({ category: 'uncertain', retryable: true })
  })

  it('is not a success when it is a web page', () => {
    expect(failure(200, '\n<!doctype html>Welcome')).toMatchObject({
      category: 'temporary',
      retryable: true,
      providerError: 'HTTP status 200',
    })
  })

  it('is a refusal with errors and no results', () => {
    expect(failure(200, errors('9999', 'odd'))).toMatchObject({
      category: 'unknown',
      retryable: false,
      failedReason: 'odd (9999)',
    })
  })
})

describe('a refusal by SparkPost', () => {
  it.each([
    [400, '7000', 'Restricted domain', 'sender_not_allowed', false],
    [400, '7001', 'Invalid domain', 'sender_not_allowed', false],
    [400, '2008', 'No local part specified in sender address', 'sender_not_allowed', false],
    [400, '5002', 'No valid recipients in list', 'invalid_recipient', false],
    [400, '1305', 'Input Data not UTF8 encoded', 'content_rejected', false],
    [400, '1901', 'Message failed to generate', 'content_rejected', false],
    [400, '1902', 'Message generation rejected', 'content_rejected', false],
    [400, '1502', 'Server resources unavailable', 'temporary', true],
    [400, '1100', "DKIM key 'x' is not verified", 'unknown', false],
    [400, '1200', 'invalid params', 'unknown', false],
    [404, '1600', 'resource not found', 'unknown', false],
    [405, '1102', 'invalid HTTP method', 'unknown', false],
    [409, '1602', 'Resource in use', 'unknown', false],
    [413, '1300', 'request entity too large', 'message_too_large', false],
    [415, '1700', 'Unsupported Content-Type header', 'unknown', false],
    [422, '1300', 'invalid data format/type/length', 'unknown', false],
    [422, '1300', 'content exceeds maximum size of 20MB', 'message_too_large', false],
    [422, '1400', 'required field is missing', 'unknown', false],
    [422, '2002', 'Substitution data too large', 'message_too_large', false],
    [422, '2007', 'Metadata size too large', 'message_too_large', false],
    [422, '3000', 'template language syntax error', 'content_rejected', false],
    [422, '3002', 'Invalid header', 'content_rejected', false],
    [422, '3050', 'template HTML content is invalid', 'content_rejected', false],
    [420, '2101', 'Exceed Sending Limit (hourly)', 'sender_rate_limited', true],
    [420, '2102', 'Exceed Sending Limit (daily)', 'sender_quota_exhausted', false],
    [420, '2103', 'Exceed Sending Limit (sandbox)', 'sender_quota_exhausted', false],
    [420, '2105', 'Exceed Sending Limit (monthly)', 'sender_quota_exhausted', false],
    [420, undefined, 'Exceed Sending Limit (hourly)', 'sender_rate_limited', true],
    [420, '2199', 'Exceed Sending Limit (weekly)', 'sender_quota_exhausted', false],
    [429, undefined, 'Too many requests', 'sender_rate_limited', true],
    [500, '1500', 'Failed to update database', 'temporary', true],
    [503, '1900', 'Message generation module not available', 'temporary', true],
    [500, undefined, 'Internal Server Error', 'temporary', true],
    [418, undefined, 'a teapot', 'unknown', false],
  ] as const)(
    'a refusal by SparkPost of %i with code %s, "%s", is %s',
    (status, code, message, category, retryable) => {
      const body = errors(code, message)
      const found = failure(status, body)
      expect(found).toMatchObject({ category, retryable, authRejected: false })
      expect(found.providerError).toBe(`${status} ${JSON.stringify(body)}`)
      const words = code === undefined ? message : `${message} (${code})`
      if (category === 'unknown') expect(found.failedReason).toBe(words)
    },
  )

  it('[2.6] a refusal of the key differs from one of the account, and from an unknown one', () => {
    const isAuthRejected = (status: number, body: unknown) => failure(status, body).authRejected
    expect(isAuthRejected(401, errors(undefined, 'Unauthorized.'))).toBe(true)
    expect(isAuthRejected(401, errors('1303', 'Invalid customer id'))).toBe(true)
    expect(isAuthRejected(401, '')).toBe(true)
    expect(isAuthRejected(403, errors(undefined, 'Forbidden.'))).toBe(true)
    expect(isAuthRejected(403, errors('1100', 'permission denied'))).toBe(true)
    expect(isAuthRejected(403, errors('1601', 'No license'))).toBe(true)
    expect(isAuthRejected(400, errors('1304', 'Invalid User ID'))).toBe(true)
    expect(failure(401, '{}')).toMatchObject({ category: 'auth_rejected', retryable: false })
    expect(failure(403, errors(undefined, 'Account suspended, see compliance'))).toMatchObject({
      category: 'sender_blocked',
      authRejected: false,
    })
    expect(failure(403, errors(undefined, 'Odd'))).toMatchObject({
      category: 'unknown',
      authRejected: false,
    })
    expect(failure(403, '<html>Request blocked: no permission')).toMatchObject({
      category: 'temporary',
      authRejected: false,
    })
  })

  it('a refusal that is a web page is retried, and not repeated', () => {
    for (const status of [301, 400, 403, 404, 422, 503])
      for (const body of [
        '',
        '<html>secret page',
        '{"message":"secret"}',
        '{"errors":[]}',
        '{"errors":"secret"}',
      ])
        expect(failure(status, body)).toMatchObject({
          category: 'temporary',
          retryable: true,
          providerError: `HTTP status ${status}`,
        })
    expect(failure(413, '<html>')).toMatchObject({
      category: 'message_too_large',
      retryable: false,
    })
  })

  it.each([502, 504])('a refusal by a gateway without an answer is uncertain: %i', (status) => {
    expect(failure(status, '<html>')).toMatchObject({ category: 'uncertain', retryable: true })
  })

  it('is retried after the time it names, else after the documented one', () => {
    const wait = (status: number, body: unknown, headers = {}) =>
      failure(status, body, headers).retryAfterMsMin
    expect(wait(429, errors(undefined, 'Too many'))).toBe(5_000)
    expect(wait(429, '', { 'retry-after': '30' })).toBe(30_000)
    expect(wait(420, errors('2101', 'hourly'))).toBe(300_000)
    expect(wait(503, errors('1900', 'x'), { 'retry-after': '7' })).toBe(7_000)
    expect(wait(503, errors('1900', 'x'))).toBeUndefined()
    expect(wait(420, errors('2102', 'daily'), { 'retry-after': '7' })).toBeUndefined()
  })

  it('a refusal by SparkPost without a category has all its words', () => {
    const body = errors('1200', 'invalid params', 'Tracking domain is not registered')
    const words = 'invalid params: Tracking domain is not registered (1200)'
    expect(failure(400, body).failedReason).toBe(words)
  })

  it('a refusal by SparkPost of several errors is the first known one', () => {
    const body = {
      errors: [{ message: 'a' }, { code: 7001, message: 'b' }, null, { code: '1502' }],
    }
    expect(failure(400, body)).toMatchObject({ category: 'sender_not_allowed' })
  })
})

it('makes an outcome of any answer', () => {
  const text = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc.string({ unit: 'binary' }),
    fc.json().map((one) => one.slice(0, one.length / 2)),
  )
  const said = fc
    .record({ errors: fc.anything(), results: fc.anything() }, { requiredKeys: [] })
    .map((one) =>
      JSON.stringify(one, (_name, value) => (typeof value === 'bigint' ? `${value}` : value)),
    )
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(text, said), (status, body) => {
      const outcome = read(status, body)
      if (outcome.kind === 'accepted') expect(status).toBeLessThan(300)
      else expect(outcome.failure.providerError).not.toMatch(/\0/)
    }),
  )
})
