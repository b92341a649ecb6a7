import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countEscaped, toQuotedPrintable } from './quoted-printable.ts'

const encode = (text: string) => toQuotedPrintable(Buffer.from(text)).encoded.toString('latin1')

/** By the rules of RFC 2045 alone. */
function decode(encoded: string): string {
  const bytes = encoded
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString()
}

/** Cut at any place, as long texts are. */
function encodeInSlices(bytes: Buffer, length: number): string {
  const parts: string[] = []
  let [next, column] = [0, 0]
  while (next < bytes.length) {
    const piece = toQuotedPrintable(bytes, next, Math.min(bytes.length, next + length), column)
    ;({ next, column } = piece)
    parts.push(piece.encoded.toString('latin1'))
  }
  return parts.join('')
}

const text = fc
  .array(
    fc.constantFrom(' ', '\t', '\r\n', '=', '.', 'a', 'é', '€', '😀', '\u0007', 'x'.repeat(40)),
    {
      maxLength: 200,
    },
  )
  .map((parts) => parts.join(''))

describe('quoted-printable', () => {
  it('comes back as it was, in lines of at most 76 printable characters without blanks at their end', () => {
    fc.assert(
      fc.property(text, (given) => {
        const encoded = encode(given)
        expect(decode(encoded)).toBe(given)
        for (const line of encoded.split('\r\n')) {
          expect(line.length).toBeLessThanOrEqual(76)
          expect(line).toMatch(/^(?:[\t\x20-\x7e]*[\x21-\x7e])?$/)
        }
      }),
    )
  })

  it('is the same in slices of any length', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 300 }), (given, length) => {
        expect(encodeInSlices(Buffer.from(given), length)).toBe(encode(given))
      }),
    )
  })

  it('escapes what a reader would not see, and leaves the rest legible', () => {
    expect(encode('Grüße = \t\r\n.\u0007 end ')).toBe('Gr=C3=BC=C3=9Fe =3D =09\r\n.=07 end=20')
  })

  it('breaks a line where it must, and not within an escaped byte', () => {
    expect(encode('x'.repeat(75))).toBe('x'.repeat(75))
    expect(encode('x'.repeat(76))).toBe(`${'x'.repeat(75)}=\r\nx`)
    expect(encode(`${'x'.repeat(73)}é`)).toBe(`${'x'.repeat(73)}=\r\n=C3=A9`)
    expect(encode(`${'x'.repeat(72)}=`)).toBe(`${'x'.repeat(72)}=3D`)
  })

  it('has room for whatever a text is made of', () => {
    for (const piece of [' \r\n', '\t\r\n', `${'é'.repeat(12)}x`, 'x', '=', '\r\n', ' '])
      for (const times of [1, 72, 73, 74, 75, 76, 1_000]) {
        const given = piece.repeat(times)
        expect(decode(encode(given))).toBe(given)
        expect(encodeInSlices(Buffer.from(given), 100)).toBe(encode(given))
      }
    expect(encode(`${'x'.repeat(70)}\r\n`.repeat(3))).not.toContain('=')
  })

  it('tells how much of a text is escaped', () => {
    expect(countEscaped(Buffer.from('a=\u0000é\t\r\n~'))).toBe(4)
  })
})
