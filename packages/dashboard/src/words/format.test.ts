import { describe, expect, it } from 'vitest'
import { createFormat } from './format.ts'

const english = createFormat('en')
const german = createFormat('de')
/** Spaces that do not break are spaces here. */
const plain = (text: string) => text.replaceAll(/\s/g, ' ')

describe('bytes', () => {
  it.each([
    [0, '0 bytes', '0 Byte'],
    [1, '1 byte', '1 Byte'],
    [999, '999 bytes', '999 Byte'],
    [1_000, '1 kB', '1 kB'],
    [1_550, '1.6 kB', '1,6 kB'],
    [999_949, '999.9 kB', '999,9 kB'],
    [999_950, '1 MB', '1 MB'],
    [1_000_000, '1 MB', '1 MB'],
    [1_000_000_000, '1 GB', '1 GB'],
    [5e12, '5 TB', '5 TB'],
    [5e15, '5,000 TB', '5.000 TB'],
  ])('says %i with the unit of its size', (value, en, de) => {
    expect([plain(english.bytes(value)), plain(german.bytes(value))]).toEqual([en, de])
  })
})

describe('duration', () => {
  it.each([
    [0, '0 ms', '0 ms'],
    [999.4, '999 ms', '999 ms'],
    [999.9, '1 sec', '1 Sek.'],
    [1_250, '1.3 secs', '1,3 Sek.'],
    [59_940, '59.9 secs', '59,9 Sek.'],
    [59_999, '1 min', '1 Min.'],
    [90_000, '1.5 mins', '1,5 Min.'],
    [3_599_999, '1 hr', '1 Std.'],
    [86_399_999, '1 day', '1 Tag'],
    [3 * 86_400_000, '3 days', '3 Tage'],
  ])('says %f ms with the unit of its length', (ms, en, de) => {
    expect([plain(english.duration(ms)), plain(german.duration(ms))]).toEqual([en, de])
  })
})

describe('percent', () => {
  it('says fractions, and a dash where there is nothing to divide by', () => {
    expect([0, 0.5, 0.123_4, 1, null, undefined].map(english.percent)).toEqual([
      ...['0%', '50%', '12.3%', '100%', '–', '–'],
    ])
    expect(plain(german.percent(0.123_4))).toBe('12,3 %')
  })
})

describe('relative', () => {
  const now = new Date('2030-01-02T00:00:00Z')
  it.each([
    [0, 'now', 'jetzt'],
    [-59, '59 seconds ago', 'vor 59 Sekunden'],
    [-60, '1 minute ago', 'vor 1 Minute'],
    [-3_599, '59 minutes ago', 'vor 59 Minuten'],
    [7_200, 'in 2 hours', 'in 2 Stunden'],
    [86_400, 'tomorrow', 'morgen'],
    [-400 * 86_400, 'last year', 'letztes Jahr'],
  ])('says what is %i seconds away in its largest whole unit', (seconds, en, de) => {
    const at = new Date(now.getTime() + seconds * 1_000)
    expect([english.relative(at, now), german.relative(at, now)]).toEqual([en, de])
  })

  it('says no minutes of a time that is known to the hour', () => {
    const at = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
    expect(english.relative(at(32), now, 'hour')).toBe('this hour')
    expect(german.relative(at(0), now, 'hour')).toBe('in dieser Stunde')
    expect(english.relative(at(61), now, 'hour')).toBe('1 hour ago')
  })
})

describe('numbers', () => {
  it('are grouped as the language does, and short where there is little room', () => {
    expect([english.integer(1_234_567), german.integer(1_234_567)]).toEqual([
      ...['1,234,567', '1.234.567'],
    ])
    expect(english.compact(12_345).toLowerCase()).toBe('12.3k')
  })
})
