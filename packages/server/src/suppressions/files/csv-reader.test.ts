import { describe, expect, it } from 'vitest'
import { type CsvFlaw, type CsvRecord, createCsvReader } from './csv-reader.ts'

function read(text: string, pieces = [text], charsMax?: number): (CsvRecord | CsvFlaw)[] {
  const reader = createCsvReader(charsMax)
  return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()]
}
const rows = (text: string) =>
  read(text).map((one) => ('fields' in one ? [one.line, ...one.fields] : [one.line, one.problem]))

describe('a CSV reader', () => {
  it.each([
    [
      'a,b\r\nc,d\r\n',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'a,b\nc,d',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    ['"a","b"', [[1, 'a', 'b']]],
    ['"a,b","c ""d"""\n', [[1, 'a,b', 'c "d"']]],
    [
      'a,"b\r\nc\n\nd",e\nf\n',
      [
        [1, 'a', 'b\r\nc\n\nd', 'e'],
        [5, 'f'],
      ],
    ],
    [
      'a,\n,b\n',
      [
        [1, 'a', ''],
        [2, '', 'b'],
      ],
    ],
    ['"",""\n', []],
    ['\n\r\n,,\n  \na', [[5, 'a']]],
    ['a"b,c\n', [[1, 'a"b', 'c']]],
    ['"a"\r', [[1, 'a']]],
    ['', []],
  ])('reads %j', (text, expected) => {
    expect(rows(text)).toEqual(expected)
  })

  it('loses one line by a record that is not well formed, and no more', () => {
    expect(rows('a,b\n"c"d,e\nf,g\n')).toEqual([
      [1, 'a', 'b'],
      [2, 'has text behind a quoted field'],
      [3, 'f', 'g'],
    ])
    expect(rows('a,"b\nc,d\ne,f\n')).toEqual([
      [1, 'has a quote that is not closed'],
      [2, 'c', 'd'],
      [3, 'e', 'f'],
    ])
  })

  it('gives up a quote that is not closed once its record is too long', () => {
    const after = Array.from({ length: 100 }, (_, i) => `line${i},x\n`).join('')
    const found = read('', [`a\n"b\n${after}${'y'.repeat(20_000)}\n`, after], 500)
    expect(found[1]).toEqual({ line: 2, problem: 'has a quote that is not closed' })
    expect(found.slice(2, 102)).toEqual(
      Array.from({ length: 100 }, (_, i) => ({ line: i + 3, fields: [`line${i}`, 'x'] })),
    )
    expect(found[102]).toEqual({ line: 103, problem: 'is longer than 500 characters' })
    expect(found).toHaveLength(203)
    expect(found.at(-1)).toEqual({ line: 203, fields: ['line99', 'x'] })
  })

  it('passes over a line without an end, and holds no more than a record of it', () => {
    const reader = createCsvReader(1_000)
    const found = Array.from({ length: 100 }, () => [...reader.push('z'.repeat(20_000))]).flat()
    expect([...found, ...reader.push(`\na,b\n${' '.repeat(20_000)}`), ...reader.end()]).toEqual([
      { line: 1, problem: 'is longer than 1000 characters' },
      { line: 2, fields: ['a', 'b'] },
      { line: 3, problem: 'is longer than 1000 characters' },
    ])
  })

  it('reads the same however the text is cut', () => {
    const alphabet = ['"', '"', ',', '\n', '\r\n', 'a', 'é', '""', '\n"', ',"']
    let seed = 7
    const next = (max: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % max
    }
    for (let round = 0; round < 300; round++) {
      const parts = Array.from(
        { length: 20 + next(60) },
        () => alphabet[next(alphabet.length)] ?? '',
      )
      // Long enough that pieces are looked at one by one.
      const text = `${parts.join('')}${'x'.repeat(17_000)}\n`.repeat(3)
      const pieces: string[] = []
      for (let at = 0; at < text.length; ) {
        const end = at + 1 + next(30_000)
        pieces.push(text.slice(at, end))
        at = end
      }
      expect(read(text, pieces)).toEqual(read(text))
    }
  })

  it('reads back what was written', () => {
    const texts = ['', 'a', 'a,b', '"', 'x"y', 'line\nbreak', '\r\n', ' ', "'=1+1"]
    const field = (text: string) => `"${text.replaceAll('"', '""')}"`
    const records = texts.map((text, i) => ['k', text, texts[(i * 5) % texts.length] ?? ''])
    const written = records.map((record) => `${record.map(field).join(',')}\r\n`).join('')
    expect(read(written).map((one) => 'fields' in one && one.fields)).toEqual(records)
  })

  it.each([
    ['short lines', 'a\n'],
    ['quotes that are not closed where their record may be', `a :""""\n'=';","`],
    ['quotes with text behind', `"a\n"b\n`],
  ])('takes time in proportion to the length of a piece with %s', (_title, phrase) => {
    const cpuOf = (chars: number): number => {
      const piece = phrase.repeat(chars / phrase.length)
      const from = process.cpuUsage()
      for (const _ of createCsvReader().push(piece));
      return process.cpuUsage(from).user
    }
    cpuOf(100_000)
    const once = cpuOf(100_000)
    expect(cpuOf(1_600_000)).toBeLessThan(64 * Math.max(once, 1_000))
  })

  it('goes on line by line behind a quote that is not closed', () => {
    const text = `bad,"\n${'x,y\n'.repeat(20_000)}"ada@example.com",1\n`
    const found = read(text)
    expect(found[0]).toEqual({ line: 1, problem: expect.stringContaining('quote') })
    expect(found).toHaveLength(20_002)
    expect(found.at(-1)).toEqual({ line: 20_002, fields: ['ada@example.com', '1'] })
  })
})
