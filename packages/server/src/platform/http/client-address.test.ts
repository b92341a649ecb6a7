import { describe, expect, it } from 'vitest'
import { createClientAddress } from './client-address.ts'

const from = (trusted: readonly string[], peer: string | undefined, forwardedFor?: string) =>
  createClientAddress(trusted)({ peer, forwardedFor })

describe('the address of a client', () => {
  it('is the peer of the connection, unless a trusted proxy set the header', () => {
    expect(from([], '198.51.100.7', '203.0.113.9')).toBe('198.51.100.7')
    expect(from(['10.0.0.0/8'], '198.51.100.7', '203.0.113.9')).toBe('198.51.100.7')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '203.0.113.9')).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3')).toBe('10.1.2.3')
    expect(from([], undefined)).toBe('')
  })

  it('is the last one that is no trusted proxy, as earlier ones may be invented', () => {
    const header = '192.0.2.1, 203.0.113.9, 10.9.9.9'
    expect(from(['10.0.0.0/8'], '10.1.2.3', header)).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '192.0.2.1, 203.0.113.9')).toBe('203.0.113.9')
    expect(from(['10.0.0.0/8'], '10.1.2.3', '10.4.4.4, 10.5.5.5')).toBe('10.4.4.4')
  })

  it('is the nearest proxy where the header holds no address', () => {
    for (const header of ['', 'unknown', '203.0.113.9, _hidden', '203.0.113.9, 1.2.3', '999.1.1.1'])
      expect(from(['10.0.0.0/8'], '10.1.2.3', header)).toBe('10.1.2.3')
  })

  it('may be IPv6 with a port, and is IPv4 when it is a mapped address', () => {
    const trusted = ['10.0.0.0/8', 'fd00::/8']
    expect(from(trusted, 'fd00::1', '2001:DB8::9')).toBe('2001:db8::9')
    expect(from(trusted, 'fd00::1', '[2001:db8::9]:4711')).toBe('2001:db8::9')
    expect(from(trusted, '10.0.0.1', '203.0.113.9:4711')).toBe('203.0.113.9')
    expect(from(trusted, '::ffff:10.0.0.1', '::ffff:203.0.113.9')).toBe('203.0.113.9')
  })

  it('is not trusted from all of IPv4 when a network is written as a mapped one', () => {
    expect(() => createClientAddress(['::ffff:10.0.0.0/8'])).toThrow('::ffff:10.0.0.0/8')
    expect(from(['::ffff:10.0.0.0/104'], '10.1.2.3', '203.0.113.9')).toBe('203.0.113.9')
    expect(from(['::ffff:10.0.0.0/104'], '11.1.2.3', '203.0.113.9')).toBe('11.1.2.3')
  })
})
