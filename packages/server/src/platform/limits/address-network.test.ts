import { expect, it } from 'vitest'
import { networkOf } from './address-network.ts'

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('groups the address %s under %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
