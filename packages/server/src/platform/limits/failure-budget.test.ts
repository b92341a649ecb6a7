import { expect, it } from 'vitest'
import { createFailureBudget } from './failure-budget.ts'

function setUp() {
  let nowMs = 0
  const options = { name: 'tries', failuresMax: 2, windowS: 60, message: 'Too many' }
  const budget = createFailureBudget({ ...options, monotonicMs: () => nowMs })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { budget, pass, fail: (address: string) => budget.note(address) }
}

it('accepts the failures of an address up to its limit, then refuses until the window ends', () => {
  const { fail, pass } = setUp()
  expect([fail('192.0.2.1'), fail('192.0.2.1')]).toEqual([undefined, undefined])
  pass(15_500)
  expect(fail('192.0.2.1')).toMatchObject({ status: 429, retryAfterS: 45, bound: 'tries' })
  expect(fail('192.0.2.2')).toBeUndefined()
  pass(44_500)
  expect(fail('192.0.2.1')).toBeUndefined()
})

it('counts all addresses of one IPv6 network together', () => {
  const { fail } = setUp()
  for (const host of [1, 2]) expect(fail(`2001:db8::${host}`)).toBeUndefined()
  expect(fail('2001:db8::3')).toMatchObject({ status: 429 })
})

it('remembers a bounded number of addresses, those that failed last', () => {
  const { fail } = setUp()
  for (let i = 0; i < 3; i++) fail('192.0.2.1')
  for (let i = 0; i < 20_000; i++) fail(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
  expect(fail('192.0.2.1')).toBeUndefined()
})
