import { Value } from 'typebox/value'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type ErrorBody,
  type ErrorCode,
  errorBody,
  errorCatalogue,
  errorCodes,
  isErrorCode,
} from './errors.ts'

describe('errorCatalogue', () => {
  it('[7] has the documented sentences, word for word', () => {
    expect(errorCatalogue.at_least_one_event_required.message).toBe(
      'at least one of webhook_options.events must be true for EMAIL_EVENT',
    )
    expect(errorCatalogue.events_not_allowed.message).toBe(
      'invalid webhook_options.events for DOMAIN_VERIFICATION',
    )
    expect(errorCatalogue.webhook_exists.message).toBe('Webhook Already Exists')
    expect(errorCatalogue.webhook_not_found.message).toBe('Webhook Not Found')
    expect(errorCatalogue.url_unreachable.status).toBe(422)
  })

  it('keeps the status of every code that callers depend on', () => {
    const statuses = Object.fromEntries(
      errorCodes.map((code) => [code, errorCatalogue[code].status]),
    )
    expect(statuses).toStrictEqual({
      validation_failed: 400,
      batch_refused: 400,
      invalid_json: 400,
      bad_request: 400,
      at_least_one_event_required: 400,
      events_not_allowed: 400,
      url_not_allowed: 400,
      duplicate_recipient: 400,
      unauthorized: 401,
      forbidden: 403,
      tenant_suspended: 403,
      not_found: 404,
      webhook_not_found: 404,
      method_not_allowed: 405,
      request_timeout: 408,
      content_removed: 410,
      conflict: 409,
      webhook_exists: 409,
      mailer_exists: 409,
      mailer_inactive: 409,
      domain_taken: 409,
      too_many_unverified: 409,
      template_exists: 409,
      too_many_templates: 409,
      idempotency_mismatch: 409,
      idempotency_in_progress: 409,
      payload_too_large: 413,
      uri_too_long: 414,
      unsupported_media_type: 415,
      url_unreachable: 422,
      no_mailer: 422,
      no_template: 422,
      mailer_unreachable: 422,
      mailer_auth_failed: 422,
      no_relay: 422,
      relay_required: 422,
      relay_unreachable: 422,
      relay_auth_failed: 422,
      relay_refused: 422,
      oauth_failed: 422,
      rate_limited: 429,
      quota_exceeded: 429,
      headers_too_large: 431,
      internal_error: 500,
      unavailable: 503,
    })
  })

  it('names every code in snake_case, and explains its cause and fix', () => {
    for (const code of errorCodes) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(errorCatalogue[code].message).not.toBe('')
      expect(errorCatalogue[code].cause).toMatch(/\.$/)
      expect(errorCatalogue[code].fix).toMatch(/\.$/)
    }
  })
})

describe('isErrorCode', () => {
  it('accepts codes of the catalogue, and no inherited property', () => {
    expect(isErrorCode('conflict')).toBe(true)
    expect(isErrorCode('toString')).toBe(false)
    expect(isErrorCode('no_such_code')).toBe(false)
  })
})

describe('errorBody', () => {
  const body = { success: false, message: 'm', code: 'conflict', request_id: 'r' } as const

  it('accepts the one error shape, with and without fields', () => {
    expect(Value.Check(errorBody, body)).toBe(true)
    expect(
      Value.Check(errorBody, { ...body, errors: [{ path: '/to/0/email', message: 'm' }] }),
    ).toBe(true)
  })

  it('refuses unknown codes, unknown fields and a missing request id', () => {
    expect(Value.Check(errorBody, { ...body, code: 'other' })).toBe(false)
    expect(Value.Check(errorBody, { ...body, stack: 'x' })).toBe(false)
    expect(Value.Check(errorBody, { ...body, request_id: undefined })).toBe(false)
  })

  it('types `code` as the codes of the catalogue', () => {
    expectTypeOf<ErrorBody['code']>().toEqualTypeOf<ErrorCode>()
  })
})
