import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hashBody } from './idempotency.ts'

const hash = async (value: unknown) => (await hashBody(value)).toString('hex')

it('the hash of a body does not depend on the order of keys and on white space', async () => {
  expect(await hash(JSON.parse('{"a":1,"b":[{"c":2,"d":3}]}'))).toBe(
    await hash(JSON.parse('{ "b": [ { "d": 3.0, "c": 2 } ], "a": 1 }')),
  )
})

it('two bodies have the same hash exactly when they are the same JSON value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (a, b) => {
      expect((await hash(a)) === (await hash(b))).toBe(sorted(a) === sorted(b))
      expect(await hash(JSON.parse(JSON.stringify(a)))).toBe(await hash(a))
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
])('gives %j and %j different hashes', async (a, b) => {
  expect(await hash(a)).not.toBe(await hash(b))
})

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  )
}
