import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hashBody } from './idempotency.ts'

const hash = (value: unknown) => hashBody(value).toString('hex')

it('the order of keys and the white space of a body do not change its hash', () => {
  expect(hash(JSON.parse('{"a":1,"b":[{"c":2,"d":3}]}'))).toBe(
    hash(JSON.parse('{ "b": [ { "d": 3.0, "c": 2 } ], "a": 1 }')),
  )
})

it('two bodies have the same hash exactly when they are the same JSON value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(hash(a) === hash(b)).toBe(sorted(a) === sorted(b))
      expect(hash(JSON.parse(JSON.stringify(a)))).toBe(hash(a))
    }),
  )
})

it.each([
  [{ a: 'b' }, { a: ['b'] }],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: null }, {}],
  ['1', 1],
  [{ 'a":1,"b': 2 }, { a: 1, b: 2 }],
])('%j is not %j', (a, b) => {
  expect(hash(a)).not.toBe(hash(b))
})

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
