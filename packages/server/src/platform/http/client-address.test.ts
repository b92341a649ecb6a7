import { describe, expect, it } from 'vitest'
import { createClientAddress } from './client-address.ts'

const from = (trusted: readonly string[], peer: string | undefined, forwardedFor?: string) =>
  createClientAddress(trusted)({ peer, forwardedFor })

describe('the address of a client', () => {
  it('is that of the connection, whatever the header says, unless a trusted proxy wrote it', () => {
    expect(from([], '198.51.100.7', '203.0.113.9')).toBe('198.51.100.7')
    expect(from(['10.0.0.0/8'], '198.51.100.7', '203.0.113.9')).toBe('198.51.100.7')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '203.0.113.9')).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3')).toBe('10.1.2.3')
    expect(from([], undefined)).toBe('')
  })

  it('is the last that no trusted proxy has: what stands before it may be made up', () => {
    const header = '192.0.2.1, 203.0.113.9, 10.9.9.9'
    expect(from(['10.0.0.0/8'], '10.1.2.3', header)).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '192.0.2.1, 203.0.113.9')).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '10.4.4.4, 10.5.5.5')).toBe('10.4.4.4')
  })

  it('is the nearest proxy where the header holds no address', () => {
    for (const header of ['', 'unknown', '203.0.113.9, _hidden', '203.0.113.9, 1.2.3', '999.1.1.1'])
      expect(from(['10.0.0.0/8'], '10.1.2.3', header)).toBe('10.1.2.3')
  })

  it('is one of IPv6, also with a port, and one of IPv4 that is dressed as such', () => {
    const trusted = ['10.0.0.0/8', 'fd00::/8']
    expect(from(trusted, 'fd00::1', '2001:DB8::9')).toBe('2001:db8::9')
    expect(from(trusted, 'fd00::1', '[2001:db8::9]:4711')).toBe('2001:db8::9')
    expect(from(trusted, '10.0.0.1', '203.0.113.9:4711')).toBe('203.0.113.9')
    expect(from(trusted, '::ffff:10.0.0.1', '::ffff:203.0.113.9')).toBe('203.0.113.9')
  })

  it('is not believed by all of IPv4 when a network is written as a mapped one', () => {
    expect(() => createClientAddress(['::ffff:10.0.0.0/8'])).toThrow('::ffff:10.0.0.0/8')
    expect(from(['::ffff:10.0.0.0/104'], '10.1.2.3', '203.0.113.9')).toBe('203.0.113.9')
    expect(from(['::ffff:10.0.0.0/104'], '11.1.2.3', '203.0.113.9')).toBe('11.1.2.3')
  })
})
