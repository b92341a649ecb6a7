import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMailRef, writeMailRef } from './mail-ref.ts'
import { microsOf, textOf } from './report-fields.ts'

describe('the time of a report', () => {
  it.each([
    [1513299569, 1_513_299_569_000_000n],
    ['1513299569', 1_513_299_569_000_000n],
    [1513299569.25, 1_513_299_569_250_000n],
    ['1513299569.1234567', 1_513_299_569_123_456n],
    [1591726752372, 1_591_726_752_372_000n],
    ['1591726752372', 1_591_726_752_372_000n],
    ['2017-12-15T00:59:29Z', 1_513_299_569_000_000n],
    ['2017-12-15T01:59:29.123456+01:00', 1_513_299_569_123_456n],
  ])('is read from %s', (value, micros) => {
    expect(microsOf(value)).toBe(micros)
  })

  it.each([
    0,
    1,
    -1513299569,
    1e21,
    Number.NaN,
    '',
    'now',
    '2017-12-15',
    '1e9',
    null,
    true,
    {},
    [],
  ])('is not read from %s', (value) => {
    expect(microsOf(value)).toBeUndefined()
  })
})

describe('the text of a report', () => {
  it('can be stored, whatever was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (value) => {
        const text = textOf({ value }, 'value', 10) ?? ''
        expect(text.isWellFormed()).toBe(true)
        expect(text).not.toContain('\u0000')
        expect(text.length).toBeLessThanOrEqual(10)
      }),
    )
  })

  it('is neither an inherited property nor an object', () => {
    expect(textOf({ a: {}, b: true }, 'toString')).toBeUndefined()
    expect(textOf({ a: {}, b: true }, 'a')).toBeUndefined()
    expect(textOf({ a: {}, b: true }, 'b')).toBeUndefined()
    expect(textOf({ n: 550 }, 'n')).toBe('550')
  })
})

describe('the name of a copy', () => {
  it('is read exactly as it was written', () => {
    const ref = { refId: '01JD3Z5V9S8QWERTY0ABCDEFGH', n: 999 }
    expect(readMailRef(writeMailRef(ref))).toEqual(ref)
    const others = ['', '.', `${ref.refId}.`, `${ref.refId}.1.2`, `x${ref.refId}.1`, ref, 7, null]
    for (const other of others) expect(readMailRef(other)).toBeUndefined()
    expect(readMailRef('81JD3Z5V9S8QWERTY0ABCDEFGH.1')).toBeUndefined()
    expect(readMailRef(`${ref.refId}.1234567`)).toBeUndefined()
  })
})
