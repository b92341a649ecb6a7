import { describe, expect, it } from 'vitest'
import { isReadOnly, loginTypeOf } from './mailer-kind.ts'

describe('the kind of a mailer', () => {
  it.each([
    ['smtp', false, 'smtp'],
    ['oauth_smtp', false, 'smtp'],
    ['imap', true, 'imap'],
    ['oauth_imap', true, 'imap'],
    ['smtp_imap', false, 'smtp_imap'],
  ] as const)(
    'of %s says whether it only reads, and what its login is for',
    (type, isRead, login) => {
      expect(isReadOnly({ config_type: type })).toBe(isRead)
      expect(loginTypeOf({ config_type: type })).toBe(login)
    },
  )

  it('of a domain has nothing to read', () => {
    expect(isReadOnly({ config_type: 'domain' })).toBe(false)
  })
})
