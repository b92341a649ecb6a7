import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeTextBody } from './encode-body.ts'
import { createPlaceholders, findPlaceholders, writeOver } from './placeholders.ts'

const ID = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'

/** The text that a program reads out of a copy. */
async function readBack(text: string, texts: readonly string[], placeholders: readonly string[]) {
  const body = await encodeTextBody(text)
  const marked = findPlaceholders(body, ID, placeholders)
  if (marked === undefined) return undefined
  const wire = Buffer.concat(await writeOver(marked, texts)).toString('latin1')
  for (const line of wire.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76)
  if (body.encoding === 'base64') return Buffer.from(wire, 'base64').toString()
  if (body.encoding === '7bit') return wire
  const bytes = wire
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

const lengths = [60, 83, 140]
const placeholders = createPlaceholders(ID, lengths)
const texts = lengths.map((length, i) => `http://t.example/${i}/`.padEnd(length, 'Ab.-_~09'))

it('have the requested length, differ, and look like URLs', () => {
  expect(placeholders.map((one) => one.length)).toEqual(lengths)
  expect(new Set(placeholders.map((one) => one.slice(0, 44))).size).toBe(3)
  for (const one of placeholders) expect(one).toMatch(/^https:\/\/[0-9a-z]+$/)
  expect(createPlaceholders('another', lengths)[0]).not.toBe(placeholders[0])
  expect(() => createPlaceholders(ID, [43])).toThrow(RangeError)
})

describe('a body with placeholders', () => {
  const all = (filler: string) => (own: readonly string[]) =>
    `${filler}${own[2]}${filler}${own[0]}${own[1]}x${own[0]}${filler.repeat(9)}`
  it.each([
    ['7bit', (own: readonly string[]) => `a ${own[0]}\nb ${own[0]}`],
    ['quoted-printable', all('Grüße = ')],
    ['base64', all('日本語のメールです。'.repeat(3))],
  ])(
    'a body with placeholders in %s equals the same body with other texts written over them',
    async (encoding, write) => {
      expect((await encodeTextBody(write(placeholders))).encoding).toBe(encoding)
      const expected = write(texts).replaceAll('\n', '\r\n')
      expect(await readBack(write(placeholders), texts, placeholders)).toBe(expected)
    },
  )

  it('a body with placeholders of any text in any order equals a body that was written so', async () => {
    const piece = fc.oneof(
      fc.constantFrom(0, 1, 2),
      fc.string({ unit: 'grapheme', maxLength: 90 }),
      fc.constantFrom('=', '\r\n', '=\r\n', ' ', '日本語'.repeat(9)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const write = (all: readonly string[]) =>
          pieces.map((one) => (typeof one === 'number' ? all[one] : one)).join('')
        const source = write(placeholders)
        fc.pre(source.isWellFormed())
        const read = await readBack(source, texts, placeholders)
        if (!pieces.some((one) => typeof one === 'number')) expect(read).toBeUndefined()
        else expect(read).toBe(write(texts).replace(/\r\n?|\n/g, '\r\n'))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['quoted-printable', 'Grüße aus dem Süden. '],
    ['base64', '日本語のメールです。'],
  ])(
    'a body with placeholders that is long, in %s, is written over as a whole',
    async (_, filler) => {
      const long = filler.repeat(20_000)
      const write = (all: readonly string[]) => `${long}${all[1]}${long.slice(7)}${all[2]}`
      expect(await readBack(write(placeholders), texts, placeholders)).toBe(write(texts))
    },
  )

  it('refuses a text of another length', async () => {
    const marked = findPlaceholders(await encodeTextBody(`a ${placeholders[0]}`), ID, placeholders)
    if (marked === undefined) return expect.unreachable()
    await expect(writeOver(marked, ['short'])).rejects.toThrow('in place of 60')
    await expect(writeOver(marked, [])).rejects.toThrow('0 characters')
  })

  it('does not change other copies when one is written', async () => {
    const marked = findPlaceholders(await encodeTextBody(`ü ${placeholders[0]}`), ID, placeholders)
    if (marked === undefined) return expect.unreachable()
    const first = await writeOver(marked, ['a'.repeat(60)])
    await writeOver(marked, ['b'.repeat(60)])
    expect(Buffer.concat(first).toString('latin1')).toMatch(/^=C3=BC a{60}/)
  })
})
