import { describe, expect, it } from 'vitest'
import { idPatternOf, idPrefixes, isId, isUlid } from './ids.ts'

const ulid = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'

describe('isUlid', () => {
  it('accepts 26 characters of Crockford Base32 up to the largest 128-bit value', () => {
    expect(isUlid(ulid)).toBe(true)
    expect(isUlid('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toBe(true)
  })

  it.each([
    ['one bit too many', '8ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
    ['I, L, O and U', `${ulid.slice(0, 22)}ILOU`],
    ['lower case', ulid.toLowerCase()],
    ['too short', ulid.slice(1)],
    ['too long', `${ulid}0`],
    ['a line break at the end', `${ulid}\n`],
    ['nothing', ''],
  ])('refuses %s', (_, text) => {
    expect(isUlid(text)).toBe(false)
  })
})

describe('isId', () => {
  it('requires exactly the prefix, an underscore and a ULID', () => {
    expect(isId('wh', `wh_${ulid}`)).toBe(true)
    expect(isId('wh', `smtp_${ulid}`)).toBe(false)
    expect(isId('wh', `wh${ulid}`)).toBe(false)
    expect(isId('wh', ulid)).toBe(false)
  })

  it('agrees with the pattern of the prefix', () => {
    for (const prefix of Object.values(idPrefixes)) {
      expect(`${prefix}_${ulid}`).toMatch(new RegExp(idPatternOf(prefix)))
      expect(isId(prefix, `${prefix}_${ulid}`)).toBe(true)
    }
  })
})
