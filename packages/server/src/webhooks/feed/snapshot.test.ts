import { describe, expect, it } from 'vitest'
import { parseSnapshot, rangesBetween, sees } from './snapshot.ts'

describe('a snapshot', () => {
  it('sees what had ended when it was taken', () => {
    const snapshot = parseSnapshot('10:20:10,15')
    expect([9n, 10n, 14n, 15n, 19n, 20n].filter((xact) => sees(snapshot, xact))).toEqual([
      9n,
      14n,
      19n,
    ])
    expect(sees(parseSnapshot('10:10:'), 9n)).toBe(true)
  })
})

describe('the ranges between two snapshots', () => {
  const between = (earlier: string, later: string, first?: bigint) =>
    rangesBetween(parseSnapshot(earlier), parseSnapshot(later), first).map(
      (range) => `${range.first}-${range.last}`,
    )

  it('hold what has begun since', () => {
    expect(between('10:10:', '20:20:')).toEqual(['10-19'])
    expect(between('10:10:', '10:10:')).toEqual([])
  })

  it('hold what was under way and has ended, and nothing between', () => {
    expect(between('10:90000:10,15', '15:90001:15')).toEqual(['10-10', '90000-90000'])
    expect(between('10:90000:10', '90000:90000:')).toEqual(['10-10'])
  })

  it('are one range where they are near each other', () => {
    expect(between('10:100:10,15', '200:200:')).toEqual(['10-199'])
  })

  it('begin where a look has ended', () => {
    expect(between('10:90000:10', '90010:90010:', 90_005n)).toEqual(['90005-90009'])
  })

  it('begin with the first transaction without an earlier snapshot', () => {
    expect(rangesBetween(undefined, parseSnapshot('5:5:'))).toEqual([{ first: 0n, last: 4n }])
  })
})
