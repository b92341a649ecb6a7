import { describe, expect, it } from 'vitest'
import { parseHost } from './parse-host.ts'

const LOOPBACK_SPELLINGS = [
  '127.0.0.1', '2130706433', '0x7f000001', '0x7f.1', '0x7F.0.0.0x1', '0177.0.0.1', '017700000001',
  '127.1', '127.0.1', '127.0.0.1.', '①②⑦.⓪.⓪.①', '127。0。0。1', '127．0．0．1', '１２７.0.0.1',
  '0x7f。1', '𝟏𝟐𝟕.𝟎.𝟎.𝟏',
] // biome-ignore format: a table

describe('parseHost', () => {
  it.each(LOOPBACK_SPELLINGS)('reads %s as the address 127.0.0.1', (text) => {
    expect(parseHost(text)).toEqual({ kind: 'address', address: '127.0.0.1' })
  })

  it.each(['::1', '[::1]', '::ffff:7f00:1', '[::ffff:127.0.0.1]'])('reads %s as IPv6', (text) => {
    expect(parseHost(text)).toMatchObject({ kind: 'address' })
  })

  it('reads 0 and other short forms as the addresses that they are', () => {
    expect(parseHost('0')).toEqual({ kind: 'address', address: '0.0.0.0' })
    expect(parseHost('10.1')).toEqual({ kind: 'address', address: '10.0.0.1' })
  })

  it.each([
    ['Smtp.EXAMPLE.com', 'smtp.example.com'],
    ['smtp.example.com.', 'smtp.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['ⓔⓧample.com', 'example.com'],
    ['mail_host.example', 'mail_host.example'],
    ['localhost', 'localhost'],
  ])('reads %s as the name %s', (text, name) => {
    expect(parseHost(text)).toEqual({ kind: 'name', name })
  })

  it.each([
    '', ' ', 'a b', 'a\r\nb', 'a\u0000b', 'example.com:25', 'user@example.com', 'example.com/x',
    'example.com?x', 'example.com#x', 'example.com\\x', '%31%32%37.0.0.1', '[::1', '::1]', '[::1%25lo]',
    'fe80::1%eth0', '1.2.3.4.5', '256.0.0.1', '999.1', '.', 'a..b', `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(130)}example`, 'a<b', 'a|b',
  ])('refuses %j', (text) => {
    expect(parseHost(text)).toBeUndefined()
  }) // biome-ignore format: a table
})
