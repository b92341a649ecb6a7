import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyFailure } from './classify-reply.ts'
import { FAILURES, type FailureCategory, failedReasonOf } from './failure-category.ts'
import { REPLY_CASES } from './reply-cases.fixture.ts'
import type { SmtpStage } from './smtp/failure.ts'

function classify(text: string, stage?: SmtpStage) {
  const reply = { code: Number(text.slice(0, 3)), text: text.replaceAll('\n', ' ') }
  return classifyFailure(stage === undefined ? { reply } : { reply, stage })
}

describe('replies of real servers', () => {
  for (const [text, category, outcome, about] of REPLY_CASES)
    it(`[6.4.5] ${text}`, () => {
      const c = classify(text)
      expect({
        category: c.category,
        outcome: c.retryable ? 'retry' : 'final',
        about: c.authRejected ? 'login' : undefined,
      }).toEqual({ category, outcome, about })
    })
})

describe('a reply by its stage', () => {
  const cases: readonly (readonly [
    string,
    SmtpStage,
    FailureCategory,
    'retry' | 'final',
    boolean,
  ])[] = [
    ['550 User has no permission', 'auth', 'auth_rejected', 'final', true],
    ['550 Mailbox disabled', 'auth', 'auth_rejected', 'final', true],
    ['535 5.7.8 nope', 'auth', 'auth_rejected', 'final', true],
    ['535 5.7.8 Account is blocked', 'auth', 'auth_rejected', 'final', true],
    ['535 Login with this email address denied', 'auth', 'auth_rejected', 'final', true],
    ['454 4.7.0 nope', 'auth', 'auth_temporary', 'retry', false],
    ['421 4.7.0 closing', 'auth', 'auth_temporary', 'retry', false],
    ['503 5.5.1 authentication not enabled', 'auth', 'protocol_error', 'final', false],
    ['502 5.5.2 command not recognized', 'auth', 'protocol_error', 'final', false],
    ['530 5.7.0 Must issue a STARTTLS command first', 'auth', 'tls_required', 'final', false],
    ['550 SMTP is available only with SSL or TLS', 'auth', 'tls_required', 'final', false],
    ['550 5.7.1 your IP is on our blacklist', 'auth', 'blocked_reputation', 'final', false],
    ['530 5.7.1 Client was not authenticated', 'mail', 'auth_required', 'final', true],
    ['550 authentication required', 'mail', 'auth_required', 'final', true],
    ['550 authentication required', 'rcpt', 'relay_denied', 'final', false],
    ['550 5.7.1 authentication required', 'dot', 'blocked_policy', 'final', false],
    [
      '550-5.7.26 unauthenticated email is not accepted',
      'dot',
      'blocked_unauthenticated_domain',
      'final',
      false,
    ],
    ['554 no SMTP service here', 'greeting', 'blocked_reputation', 'final', false],
    ['421 hold on', 'greeting', 'temporary', 'retry', false],
    ['454 4.3.0 not now', 'starttls', 'tls_unavailable', 'retry', false],
    ['502 5.5.1 what?', 'starttls', 'tls_unavailable', 'final', false],
    ['550 mailbox unavailable', 'mail', 'sender_not_allowed', 'final', false],
    ['550 mailbox unavailable', 'rcpt', 'invalid_recipient', 'final', false],
  ]
  it.each([
    ['550 5.1.8 Sender address rejected; you must authenticate your domain', 'mail'],
    ['554 5.7.1 You are not authenticated: sender domain is unknown', 'mail'],
    ['550 5.7.1 Your IP address 192.0.2.1 is blocked', 'auth'],
    ['554 5.7.1 Client host [192.0.2.1] is blocked', 'auth'],
    ['571 192.0.2.1 has been blocked', 'auth'],
    ['521 5.3.2 mail.example.com does not accept mail', 'auth'],
    ['535 5.7.8 Error: authentication failed: Internal authentication failure', 'auth'],
    ['535 5.7.8 Internal login failure. Refer to server log for more information.', 'auth'],
  ] as const)('%s after %s refuses no login', (text, stage) => {
    const reply = { code: Number(text.slice(0, 3)), text }
    expect(classifyFailure({ stage, reply }).authRejected).toBe(false)
  })

  it.each(cases)('%s after %s means %s', (text, stage, category, outcome, authRejected) => {
    const c = classify(text, stage)
    expect([c.category, c.retryable ? 'retry' : 'final', c.authRejected]).toEqual([
      category,
      outcome,
      authRejected,
    ])
  })
})

describe('a wait', () => {
  it('cannot help a login that is disabled or needs an application password', () => {
    for (const text of [
      '535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.',
      '535 5.7.139 Authentication unsuccessful, basic authentication is disabled.',
      '534-5.7.9 Application-specific password required.',
    ])
      expect(classify(text, 'auth').cannotHealByWaiting).toBe(true)
    expect(
      classify(
        '530 5.7.57 Client not authenticated to send mail. Error: 535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.',
        'mail',
      ).cannotHealByWaiting,
    ).toBe(true)
    expect(classify('535 5.7.8 bad password', 'auth').cannotHealByWaiting).toBe(false)
  })

  it('is at least five minutes long for greylisting', () => {
    expect(classify('450 4.2.0 Greylisted').retryAfterMsMin).toBe(300_000)
    expect(classify('451 4.3.0 busy').retryAfterMsMin).toBeUndefined()
  })
})

describe('failures without a reply', () => {
  const cases: readonly (readonly [string, FailureCategory, 'retry' | 'final'])[] = [
    ['ECONNREFUSED', 'network', 'retry'],
    ['ETIMEDOUT', 'network', 'retry'],
    ['EHOSTUNREACH', 'network', 'retry'],
    ['ENETUNREACH', 'network', 'retry'],
    ['ECONNRESET', 'network', 'retry'],
    ['EPIPE', 'network', 'retry'],
    ['EAI_AGAIN', 'network', 'retry'],
    ['ECONNECTION', 'network', 'retry'],
    ['ENOTFOUND', 'host_not_found', 'retry'],
    ['EPROTOCOL', 'protocol_error', 'retry'],
    ['address_refused', 'address_refused', 'final'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_certificate', 'final'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_certificate', 'final'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_certificate', 'final'],
    ['CERT_HAS_EXPIRED', 'tls_certificate_expired', 'retry'],
    ['CERT_NOT_YET_VALID', 'tls_certificate_expired', 'retry'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_certificate_expired', 'retry'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls_certificate_expired', 'retry'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_wrong_port', 'final'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls_unavailable', 'retry'],
    ['ESIZE', 'message_too_large', 'final'],
    ['ESMTPUTF8', 'smtputf8_unsupported', 'final'],
    ['EABORTED', 'internal', 'retry'],
    ['ENOAUTH', 'auth_not_offered', 'retry'],
  ]
  it.each(cases)('%s mean %s', (systemCode, category, outcome) => {
    const c = classifyFailure({ stage: 'connect', systemCode, message: 'what the system says' })
    expect([c.category, c.retryable ? 'retry' : 'final']).toEqual([category, outcome])
    expect(c.authRejected).toBe(false)
    expect(c.providerError).toBe('what the system says')
    expect(c.failedReason).toBe(failedReasonOf(category))
  })

  it('are uncertain after the end of the message, whatever the error is', () => {
    for (const systemCode of ['ECONNRESET', 'ETIMEDOUT', 'EPROTOCOL', 'ENOTFOUND']) {
      const c = classifyFailure({ stage: 'dot', systemCode })
      expect(c.category).toBe('uncertain')
      expect(c.retryable).toBe(true)
      expect(c.failedReason).toBe(
        'Connection lost after end of data; the message may have been delivered',
      )
    }
  })

  it('are final for a host name that never resolved', () => {
    const failure = { stage: 'connect', systemCode: 'ENOTFOUND' } as const
    expect(classifyFailure({ ...failure, hostEverWorked: false }).retryable).toBe(false)
    expect(classifyFailure({ ...failure, hostEverWorked: true }).retryable).toBe(true)
  })

  it('distinguish TLS on a plain port from bad certificates by their text', () => {
    const failure = { stage: 'connect', systemCode: 'ESOCKET' } as const
    expect(
      classifyFailure({ ...failure, message: 'ssl3_get_record:wrong version number' }).category,
    ).toBe('tls_wrong_port')
    expect(classifyFailure({ ...failure, message: 'self-signed certificate' }).category).toBe(
      'tls_certificate',
    )
  })
})

describe('texts', () => {
  it('[6.4.5] are a fixed sentence for a known category, and the raw text for an unknown one', () => {
    expect(classify('550 5.1.1 no such user').failedReason).toBe(
      'The recipient address does not exist',
    )
    const raw = '554 5.5.0 Sorry, the oracle is silent'
    expect(classify(raw)).toMatchObject({ failedReason: raw, providerError: raw })
  })

  it('[6.4.5] have one sentence per category, which programs may compare', () => {
    const sentences = Object.values(FAILURES).map(({ sentence }) => sentence)
    expect(new Set(sentences).size).toBe(sentences.length)
    expect(failedReasonOf('expired')).toBe('Message expired before it could be sent')
    expect(failedReasonOf('mailer_config')).toBe('Mailer configuration could not be loaded')
  })

  it('can be stored for any reply, and keep the class of an unknown one', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6_000 })
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), text, (code, said) => {
        const c = classifyFailure({ stage: 'rcpt', reply: { code, text: `${code} ${said}` } })
        expect(c.providerError.length).toBeLessThanOrEqual(4_096)
        expect(c.providerError.isWellFormed()).toBe(true)
        expect(c.providerError.includes('\0')).toBe(false)
        expect(c.failedReason).not.toBe('')
        if (c.category === 'unknown') expect(c.retryable).toBe(code < 500)
      }),
    )
  })
})
