import { describe, expect, it } from 'vitest'
import { ehloNameOf } from '../index.ts'

describe('the name in EHLO', () => {
  it.each(['mail.example.com', 'MAIL.example.com', 'mail.example.com.'])(
    'is the host name %s where that is fully qualified',
    (hostname) => {
      expect(ehloNameOf({ hostname, addresses: ['198.51.100.7'] })).toBe('mail.example.com')
    },
  )

  it.each(['web-1', '', 'a b.example', 'a_b.example.com', '10.0.0.1', '-a.example', 'a..example'])(
    'is an address literal where the host name is %j',
    (hostname) => {
      const addresses = ['2001:db8::1', '198.51.100.7']
      expect(ehloNameOf({ hostname, addresses })).toBe('[198.51.100.7]')
    },
  )

  it('is the loopback literal where no address is known', () => {
    expect(ehloNameOf({ hostname: 'web-1', addresses: [] })).toBe('[127.0.0.1]')
  })
})
