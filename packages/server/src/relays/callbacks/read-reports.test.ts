import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  digestOf,
  readReports,
  reportDepthMax,
  reportsMax,
  reportValuesMax,
} from './read-reports.ts'

const whiteSpace = fc.constantFrom('', ' ', '\r\n', '\t ')
const json = fc.json({ maxDepth: 4 }).filter((text) => !/\d{16}/.test(text))

describe('the reports of a callback', () => {
  it('are split as written, whatever they contain', () => {
    fc.assert(
      fc.property(fc.array(json), whiteSpace, (written, space) => {
        const body = `${space}[${written.map((one) => space + one + space).join(',')}]${space}`
        const reports = readReports(body) ?? []
        expect(reports.map(({ raw }) => raw)).toEqual(written.map((one) => one.trim()))
        expect(reports.map(({ value }) => value)).toEqual(written.map((one) => JSON.parse(one)))
      }),
    )
  })

  it('keep the digits of numbers, and escaped quotation marks', () => {
    const written = ['{"a":12345678901234567890.10}', String.raw`{"b\\":"]\\\"},[{"}`, '[[],{}]']
    expect(readReports(`[${written.join(' ,\n')}]`)?.map(({ raw }) => raw)).toEqual(written)
  })

  it('are refused when the body is no array', () => {
    for (const body of ['', ' ', '{}', '{"a":[1]}', '"[]"', 'null', '[1', '[1]]', '[,]'])
      expect(readReports(body)).toBeUndefined()
    expect(readReports(' [ ] ')).toEqual([])
  })

  it('take time in proportion to their length', () => {
    const backslashes = `["${'\\\\'.repeat(1_000_000)}","${'\\"'.repeat(500_000)}"]`
    expect(readReports(backslashes)?.map(({ raw }) => raw.length)).toEqual([2_000_002, 1_000_002])
  })

  it('have ids as text, however many digits they have', () => {
    const id = '92356927693813856'
    const [report] = readReports(`[{"a":${id},"b":[-${id}],"c":"${id}","d":${id}.5,"e":12}]`) ?? []
    expect(report?.value).toEqual({ a: id, b: [`-${id}`], c: id, d: Number(`${id}.5`), e: 12 })
  })

  it('are refused beyond the depth and number that a provider sends', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(readReports(nested(reportDepthMax))).toHaveLength(1)
    for (const depth of [reportDepthMax + 1, 1_000_000])
      expect(readReports(nested(depth))).toBeUndefined()
    const many = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`
    expect(readReports(many(reportsMax))).toHaveLength(reportsMax)
    expect(readReports(many(reportsMax + 1))).toBeUndefined()
  })

  it('are refused with more values than a provider sends', () => {
    const values = (count: number) => `[[${Array.from({ length: count }, () => '1').join(',')}]]`
    expect(readReports(values(reportValuesMax - 1))).toHaveLength(1)
    expect(readReports(values(reportValuesMax))).toBeUndefined()
  })

  it('are refused when the text is cut anywhere', () => {
    const body = String.raw`[{"a":"\\\"b","c":[1,{"d":null}]},{"e":92356927693813856}]`
    for (let end = 0; end < body.length; end++)
      expect(readReports(body.slice(0, end))).toBeUndefined()
    expect(readReports(body)).toHaveLength(2)
  })

  it('are identified by their text when they have no id', () => {
    const [one, same, other] = readReports('[{"a":1}, {"a":1} ,{"a":2}]') ?? []
    if (!one || !same || !other) throw new Error('three')
    expect(digestOf(one)).toBe(digestOf(same))
    expect(digestOf(one)).not.toBe(digestOf(other))
  })
})
