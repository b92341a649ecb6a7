import { REFUSALS } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { ERRORS, MICROSOFT_CODES, type TokenVerdict, verdictOf } from './token-verdict.ts'

type Refusal = keyof typeof REFUSALS

const EXPECTED: Readonly<Record<Refusal, TokenVerdict>> = {
  googleRevoked: 'revoked',
  googleBadRequest: 'revoked',
  googleDeleted: 'revoked',
  googleReauthentication: 'revoked',
  googleNoClient: 'app',
  googleWrongSecret: 'app',
  googleUnauthorizedClient: 'app',
  googleUnavailable: 'transient',
  microsoftExpired: 'revoked',
  microsoftRevoked: 'revoked',
  microsoftDisabled: 'revoked',
  microsoftConsent: 'revoked',
  microsoftSecondFactor: 'revoked',
  microsoftWrongSecret: 'app',
  microsoftSecretExpired: 'app',
  microsoftNoApp: 'app',
  microsoftScope: 'app',
  microsoftBusy: 'transient',
  microsoftLoop: 'transient',
}

describe('[interface 2.6] what a refusal of a token endpoint means', () => {
  it.each(Object.entries(EXPECTED))('calls %s %s', (name, verdict) => {
    const provider = name.startsWith('google') ? 'google' : 'microsoft'
    const { status, body } = REFUSALS[name as Refusal]
    const read = typeof body === 'string' ? undefined : body
    expect(verdictOf({ provider, status, body: read })).toBe(verdict)
  })

  const verdict = (status: number, body: unknown, provider: 'microsoft' | 'custom' = 'custom') =>
    verdictOf({ provider, status, body })

  it.each([
    ['a server error, whatever it says', 500, { error: 'invalid_grant' }],
    ['too many requests', 429, { error: 'invalid_grant' }],
    ['a page instead of JSON', 400, undefined],
    ['a text in JSON', 400, 'invalid_grant'],
  ])('calls %s transient', (_, status, body) => {
    expect(verdict(status, body)).toBe('transient')
  })

  it.each([
    ['an error that nobody knows', { error: 'out_of_cheese' }],
    ['no error', {}],
    ["an error of another shape, as Google's APIs have it", { error: { code: 403 } }],
    ['a name of Object.prototype', { error: 'constructor' }],
  ])('holds %s against the app, not the mailbox', (_, body) => {
    expect(verdict(400, body)).toBe('app')
  })

  it('reads error numbers of Microsoft only, and the error where a number is unknown', () => {
    const body = { error: 'invalid_grant', error_codes: [7000222] }
    expect(verdict(400, body)).toBe('revoked')
    expect(verdict(400, body, 'microsoft')).toBe('app')
    expect(verdict(400, { ...body, error_codes: [1] }, 'microsoft')).toBe('revoked')
    expect(verdict(400, { ...body, error_codes: 'x' }, 'microsoft')).toBe('revoked')
  })

  it('prefers a number that is not the fault of the mailbox', () => {
    const body = { error: 'invalid_grant', error_codes: [50173, 90033] }
    expect(verdict(400, body, 'microsoft')).toBe('transient')
  })

  it('gives every number and error one meaning', () => {
    const numbers = Object.values(MICROSOFT_CODES).flatMap((codes) => [...codes])
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Object.values(ERRORS)).toContain('transient')
  })

  it('ignores the description', () => {
    const body = { error: 'invalid_client', error_description: 'Token has been revoked.' }
    expect(verdict(401, body)).toBe('app')
  })
})
