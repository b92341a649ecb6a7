import { describe, expect, it } from 'vitest'
import { heloNameOf, isHeloNameBare } from './ehlo-hostname.ts'

const host = { hostname: 'mx7', addresses: ['192.0.2.7'], hosts: '' }
const config = { heloName: undefined, inboundHost: '127.0.0.1' }

describe('the name by which the service greets', () => {
  it('is POSTRIDER_HELO_NAME where that is set, with or without a dot', () => {
    const named = { ...host, hostname: 'mx7.example.com' }
    expect(heloNameOf({ ...config, heloName: 'mail.example.com' }, named)).toBe('mail.example.com')
    expect(heloNameOf({ ...config, heloName: 'mail' }, named)).toBe('mail')
  })

  it('is the fully qualified name of the host, in preference to the inbound host', () => {
    const named = { ...host, hostname: 'mx7.example.com' }
    expect(heloNameOf({ ...config, inboundHost: 'in.example.com' }, named)).toBe('mx7.example.com')
  })

  it.each([
    ['the first name of its line', '127.0.1.1 mx7.example.com mx7', 'mx7.example.com'],
    ['a later name of its line', '192.0.2.7\tmx7 MX7.example.com # this', 'mx7.example.com'],
    ['no name of another line', '192.0.2.8 mx8.example.com mx8', '[192.0.2.7]'],
    ['no name of a comment', '192.0.2.7 mx7 # mx7.example.com', '[192.0.2.7]'],
    ['no name of the machine alone', '127.0.0.1 mx7 localhost.localdomain', '[192.0.2.7]'],
  ])('is by the hosts file %s', (_, hosts, name) => {
    expect(heloNameOf(config, { ...host, hosts })).toBe(name)
  })

  it('is the inbound host when the name of the machine has no dot', () => {
    expect(heloNameOf({ ...config, inboundHost: 'in.example.com' }, host)).toBe('in.example.com')
  })

  it('has a warning when it is an address or has no dot', () => {
    expect(['[192.0.2.7]', 'mail', 'mail.example.com'].map(isHeloNameBare)).toEqual([
      true,
      true,
      false,
    ])
  })
})
