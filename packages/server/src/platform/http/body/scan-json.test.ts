import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countJson, findRepeatedName } from './scan-json.ts'

const scan = (text: string) => countJson(Buffer.from(text), 1_000_000)
const find = (text: string, depthMax = 64) => findRepeatedName(Buffer.from(text), depthMax)

/** Texts that look like JSON, long ones that end in what could end them, and ordinary values. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[\\"{}[\]:,]{0,8}$/),
  fc
    .tuple(fc.integer({ min: 60, max: 70 }), fc.stringMatching(/^[\\"]{0,5}$/))
    .map(([n, end]) => 'x'.repeat(n) + end),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    ...[text, fc.integer(), fc.constant(null), fc.boolean()],
    ...[fc.array(tie('value')), fc.dictionary(text, tie('value'))],
  ),
})).value

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, one: unknown) => sum + membersOf(one), own)
}

describe('countJson', () => {
  it('counts the values of any JSON, however it is written', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        expect(scan(JSON.stringify(value, null, indent)).members).toBe(membersOf(value))
      }),
    )
  })

  it('stops beyond the maximum number of values', () => {
    expect(countJson(Buffer.from(`[${'0,'.repeat(1_000)}0]`), 10).values).toBe(11)
  })
})

describe('findRepeatedName', () => {
  it('finds no repeated name in any object', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(find(JSON.stringify(value))).toBeUndefined()
      }),
    )
  })

  it('finds a repeated name by its path', () => {
    fc.assert(
      fc.property(fc.dictionary(text, json, { minKeys: 1 }), (members) => {
        const [[name, value] = ['', null]] = Object.entries(members)
        const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`
        const repeated = `${JSON.stringify(members).slice(0, -1)},${pair}}`
        expect(find(`[0,{"a":[${repeated}]}]`)).toEqual({ segments: [1, 'a', 0, name] })
      }),
    )
  })

  it.each([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"":1,"":2}', ['']],
    ['{"a":{"a":1},"b":[{"a":1},{"a":1,"b":2,"a":3}]}', ['b', 1, 'a']],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
    ['{"é":1,"\\u00e9":2}', ['é']],
  ])('finds the right path: %s', (given, segments) => {
    expect(find(given)).toEqual({ segments })
  })

  it('reports excessive nesting first', () => {
    expect(find('[[[{"a":1,"a":2}]]]', 4)).toEqual({ segments: [0, 0, 0, 'a'] })
    expect(find('[[[[{"a":1,"a":2}]]]]', 4)).toBe('too-deep')
  })
})
