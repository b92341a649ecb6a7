import { describe, expect, it } from 'vitest'
import { classifyImapFailure } from './classify-failure.ts'
import { IMAP_REFUSALS, type ImapStage } from './failure.ts'

/** A tagged reply as it stands in a log: `NO [CODE] words`. */
function said(text: string, stage: ImapStage = 'auth') {
  const [, status = '', code] = /^(NO|BAD|BYE)(?: \[([A-Z]+)[^\]]*\])?/.exec(text) ?? []
  return classifyImapFailure({
    stage,
    reply: {
      status: status as 'NO' | 'BAD' | 'BYE',
      ...(code === undefined ? {} : { code }),
      text,
    },
  })
}

describe('a refused login', () => {
  it.each([
    'NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)',
    'NO [AUTHENTICATIONFAILED] Authentication failed.',
    'NO AUTHENTICATE failed.',
    'NO LOGIN failed.',
    'NO [AUTHORIZATIONFAILED] Not allowed to use this mailbox',
    'NO [CONTACTADMIN] Account is locked',
    'NO Invalid login or password',
    'NO',
  ])('[contract 3.3] %s is a rejection that a second try confirms', (text) => {
    expect(said(text)).toMatchObject({
      category: 'auth_rejected',
      authRejected: true,
      cannotHealByWaiting: false,
      failedReason: "The mail server rejected the mailer's login",
      providerError: text,
    })
  })

  it.each([
    'NO [ALERT] Application-specific password required: https://support.google.com/accounts/answer/185833 (Failure)',
    'NO [WEBALERT https://accounts.google.com/signin/continue?sarp=1] Web login required.',
    'NO [ALERT] Please log in via your web browser: https://support.google.com/mail/accounts/answer/78754 (Failure)',
    'NO [ALERT] Your account is not enabled for IMAP use. Please visit your Gmail settings page and enable your account for IMAP access. (Failure)',
    'NO [EXPIRED] Your password has expired',
  ])('[contract 1] %s cannot be fixed by waiting', (text) => {
    expect(said(text)).toMatchObject({ authRejected: true, cannotHealByWaiting: true })
  })

  it.each([
    ['NO [ALERT] Too many simultaneous connections. (Failure)', 'sender_concurrency_limited'],
    [
      'NO [LIMIT] Maximum number of connections from user+IP exceeded (mail_max_userip_connections=10)',
      'sender_concurrency_limited',
    ],
    [
      'NO [UNAVAILABLE] Temporary authentication failure. [mail:2026-11-20 10:00:00]',
      'auth_temporary',
    ],
    ['NO [UNAVAILABLE] AUTHENTICATE Server error - Please try again later', 'auth_temporary'],
    ['NO [INUSE] Mailbox is in use', 'auth_temporary'],
    [
      'NO [SERVERBUG] Internal error occurred. Refer to server log for more information.',
      'auth_temporary',
    ],
    ['NO [AUTHENTICATIONFAILED] Temporary failure, please try again later', 'auth_temporary'],
    ['NO [ALERT] Account exceeded command or bandwidth limits. (Failure)', 'auth_throttled'],
    [
      'NO Login fail. Account is abnormal, login frequency limited, or system is busy',
      'auth_throttled',
    ],
    ['NO [OVERQUOTA] Too many login attempts', 'auth_throttled'],
    ['BAD User is authenticated but not connected.', 'auth_temporary'],
    ['BAD Request is throttled. Suggested Backoff Time: 92415 milliseconds', 'auth_throttled'],
    ['BAD Command Argument Error. 12', 'protocol_error'],
    ['BAD [AUTHENTICATIONFAILED] no', 'protocol_error'],
    [
      'NO [PRIVACYREQUIRED] Plaintext authentication disallowed on non-secure connections',
      'tls_required',
    ],
    ['BYE Too many connections', 'sender_concurrency_limited'],
    ['BYE [AUTHENTICATIONFAILED] Go away', 'temporary'],
  ])('[contract 3.3] %s deactivates nothing', (text, category) => {
    expect(said(text)).toMatchObject({ category, authRejected: false })
  })
})

describe('another failure', () => {
  it.each([
    ['NO [NONEXISTENT] Mailbox does not exist', 'open', 'unknown'],
    ['NO [AUTHENTICATIONFAILED] odd here', 'open', 'unknown'],
    ['NO [SERVERBUG] Internal error', 'fetch', 'temporary'],
    ['BAD What?', 'fetch', 'protocol_error'],
    ['BYE Autologout; idle for too long', 'fetch', 'temporary'],
  ] as const)('%s at %s is %s', (text, stage, category) => {
    const result = said(text, stage)
    expect(result).toMatchObject({ category, authRejected: false })
    if (category === 'unknown') expect(result.failedReason).toBe(text)
  })

  it.each([
    [{ systemCode: 'ECONNREFUSED', message: 'connection failed' }, 'network'],
    [{ systemCode: 'ENOTFOUND' }, 'host_not_found'],
    [{ systemCode: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'tls_certificate'],
    [{ systemCode: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'tls_wrong_port'],
    [{ systemCode: 'address_refused' }, 'address_refused'],
    [{ systemCode: IMAP_REFUSALS.noLoginOffered }, 'auth_not_offered'],
    [{ systemCode: IMAP_REFUSALS.noGreeting }, 'no_greeting'],
    [{ systemCode: IMAP_REFUSALS.folderMissing, message: 'Archive' }, 'folder_missing'],
    [{ systemCode: IMAP_REFUSALS.tooMuch }, 'too_much'],
    [{ systemCode: IMAP_REFUSALS.unnumbered }, 'unnumbered'],
    [{ systemCode: 'ETIMEDOUT' }, 'network'],
  ] as const)('%j is %s', (failure, category) => {
    expect(classifyImapFailure({ stage: 'connect', ...failure })).toMatchObject({
      category,
      authRejected: false,
    })
  })

  it('is bounded, and fit to be stored', () => {
    const { providerError } = said(`NO \u0000\ud800${'x'.repeat(10_000)}`)
    expect(providerError).toHaveLength(4_096)
    expect(providerError.slice(0, 5)).toBe('NO \ufffd\ufffd')
  })
})
