import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digestOf, readReports } from './read-reports.ts'

const whiteSpace = fc.constantFrom('', ' ', '\r\n', '\t ')

describe('the reports of a callback', () => {
  it('are as they were written, whatever is in them', () => {
    fc.assert(
      fc.property(fc.array(fc.json({ maxDepth: 4 })), whiteSpace, (written, space) => {
        const body = `${space}[${written.map((one) => space + one + space).join(',')}]${space}`
        const reports = readReports(body) ?? []
        expect(reports.map(({ raw }) => raw)).toEqual(written.map((one) => one.trim()))
        expect(reports.map(({ value }) => value)).toEqual(written.map((one) => JSON.parse(one)))
      }),
    )
  })

  it('keep their numbers, and quotation marks behind backslashes end nothing', () => {
    const written = ['{"a":12345678901234567890.10}', String.raw`{"b\\":"]\\\"},[{"}`, '[[],{}]']
    expect(readReports(`[${written.join(' ,\n')}]`)?.map(({ raw }) => raw)).toEqual(written)
  })

  it('are none of what is no array', () => {
    for (const body of ['', ' ', '{}', '{"a":[1]}', '"[]"', 'null', '[1', '[1]]', '[,]'])
      expect(readReports(body)).toBeUndefined()
    expect(readReports(' [ ] ')).toEqual([])
  })

  it('take time by their length alone', () => {
    const deep = `[${'['.repeat(500)}${']'.repeat(500)}]`
    expect(readReports(deep)).toHaveLength(1)
    const backslashes = `["${'\\\\'.repeat(1_000_000)}","${'\\"'.repeat(500_000)}"]`
    expect(readReports(backslashes)?.map(({ raw }) => raw.length)).toEqual([2_000_002, 1_000_002])
  })

  it('without an id are known by what they say', () => {
    const [one, same, other] = readReports('[{"a":1}, {"a":1} ,{"a":2}]') ?? []
    if (!one || !same || !other) throw new Error('three')
    expect(digestOf(one)).toBe(digestOf(same))
    expect(digestOf(one)).not.toBe(digestOf(other))
  })
})
