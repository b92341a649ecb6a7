import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAddressPolicy, parseNetwork } from './address-policy.ts'

const REFUSED = [
  // IPv4
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255',
  '127.0.0.1', '127.255.255.254', '168.63.129.16', '169.254.0.1', '169.254.169.254', '172.16.0.1',
  '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.1',
  '192.168.255.255', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1',
  '239.255.255.255', '240.0.0.1', '255.255.255.255',
  // IPv6 outside 2000::/3
  '::', '::1', '::7f00:1', '::8.8.8.8', '64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1',
  '100::1', '1fff::1', '4000::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe00::1', 'fe80::1',
  'fe80::1%eth0', 'fec0::1', 'ff02::1', 'ff0e::1', '::ffff:0:808:808', '200::1', '3ff::1',
  // IPv6 special inside 2000::/3
  '2001::1', '2001:0:7f00:1::', '2001:2::1', '2001:10::1', '2001:20::1', '2001:30::1',
  '2001:1ff:ffff::1', '2001:db8::1', '2002:7f00:1::', '2002:808:808::1', '3fff::1', '3fff:fff::1',
  // IPv4-mapped, judged as IPv4
  '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:0:0',
  // no addresses
  '', 'localhost', '127.1', '2130706433', '1.2.3.4.5', '[::1]', '8.8.8.8/32', '08.8.8.8',
] // biome-ignore format: a table

const ALLOWED = [
  '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0',
  '126.255.255.255', '128.0.0.0', '168.63.129.15', '168.63.129.17', '169.253.255.255', '172.15.0.1',
  '172.32.0.0', '192.0.1.1', '192.0.3.0', '192.167.255.255', '192.169.0.0', '198.17.255.255',
  '198.20.0.0', '203.0.112.255', '203.0.114.0', '223.255.255.255', '::ffff:8.8.8.8', '::ffff:808:808',
  '2001:200::1', '2001:db7::1', '2001:db9::1', '2003::1', '2606:4700:4700::1111', '2a00:1450::1',
  '3ffe::1', '3fff:1000::1',
] // biome-ignore format: a table

const METADATA = [
  '169.254.169.254', '169.254.170.2', '169.254.42.42', '168.63.129.16', '100.100.100.200',
  '192.0.0.192', 'fd00:ec2::254', 'fd00:42::42', '64:ff9b::c000:c0', '2002:a9fe:2a2a::1',
  '169.254.0.23', '169.254.170.23', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe',
  'fe80::a9fe:a9fe', 'fe80::a9fe:a9fe%eth0', '::ffff:0:a9fe:a9fe', '64:ff9b:1:a9fe:a9:fe00::',
  '64:ff9b:1:a9:fe:a9fe::', '64:ff9b:1:0:a9:fea9:fe00::',
  '::ffff:169.254.169.254', '::a9fe:a9fe', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1', '::ffff:a83f:8110',
] // biome-ignore format: a table

describe('the address policy', () => {
  const policy = createAddressPolicy([])

  it.each(REFUSED)('refuses %s', (address) => {
    expect(policy.isAllowed(address)).toBe(false)
  })

  it.each(ALLOWED)('allows %s', (address) => {
    expect(policy.isAllowed(address)).toBe(true)
  })

  it('allows nothing outside 2000::/3', () => {
    const words = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 7, maxLength: 7 })
    const outside = fc.integer({ min: 0, max: 0xffff }).filter((word) => word >> 13 !== 1)
    fc.assert(
      fc.property(outside, words, (first, rest) => {
        const address = [first, ...rest].map((word) => word.toString(16)).join(':')
        return !policy.isAllowed(address)
      }),
    )
  })

  it('judges a mapped address exactly like its IPv4 address', () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        (address) => policy.isAllowed(`::ffff:${address}`) === policy.isAllowed(address),
      ),
    )
  })
})

describe('ALLOW_NETWORKS', () => {
  it.each([
    ['127.0.0.0/8', '127.9.9.9', '128.0.0.1'],
    ['10.1.2.3/8', '10.200.0.1', '11.0.0.1'],
    ['192.168.7.9', '192.168.7.9', '192.168.7.10'],
    ['::1', '::1', '::2'],
    ['fd12::/16', 'fd12:3::1', 'fd13::1'],
    ['::ffff:10.0.0.0/104', '10.1.1.1', '127.0.0.1'],
    ['::ffff:10.0.0.0/104', '::ffff:10.1.1.1', '::ffff:127.0.0.1'],
    ['::ffff:a00:0/104', '10.1.1.1', '192.168.0.1'],
    ['::/8', '::2', '127.0.0.1'],
  ])('%s opens %s but not %s', (network, inside, outside) => {
    const policy = createAddressPolicy([network])
    expect(policy.isAllowed(inside)).toBe(true)
    expect(policy.isAllowed(outside) && !createAddressPolicy([]).isAllowed(outside)).toBe(false)
  })

  it.each(METADATA)('never opens the metadata address %s', (address) => {
    const everything = createAddressPolicy(['0.0.0.0/0', '::/0'])
    expect(everything.isAllowed(address)).toBe(false)
    expect(everything.isAllowed('10.0.0.1')).toBe(true)
  })

  it.each([
    '::ffff:10.0.0.0/8', '::ffff:0:0/95', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/-1',
    '10.0.0/8', 'localhost', 'fe80::1%eth0', '10.0.0.0/8/8', '', '0x7f.0.0.1/8', '10.0.0.0/ 8',
  ])('refuses %s', (text) => {
    expect(() => parseNetwork(text)).toThrow()
  }) // biome-ignore format: a table
})
