/** Files are read in slices, and are what they are as a whole. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeBody } from '../parse/decode-body.ts'
import { fileOfRaw } from './raw-attachments.ts'

const wholeOf = (bytes: Buffer, encoding: string) =>
  Buffer.from(decodeBody(bytes, encoding)).toString('base64')

it.each(['base64', 'quoted-printable', '8bit'])(
  'a file in %s is read in slices',
  async (encoding) => {
    const piece = fc.constantFrom(
      'QUJD',
      'QQ==',
      '=41',
      '=C3=',
      '=\r\n',
      'a',
      '=',
      ' ',
      '\r\n',
      '\xff',
    )
    // Lines are shorter than a slice of quoted-printable, which is cut between them.
    const line = fc.array(piece, { maxLength: 6 }).map((pieces) => `${pieces.join('')}\r\n`)
    const text = fc.array(line, { maxLength: 8 }).map((lines) => lines.join(''))
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 32, max: 40 }), async (given, sliceBytes) => {
        const bytes = Buffer.from(`before${given}`, 'latin1')
        const place = { at: 6, end: bytes.length, encoding }
        const slice = encoding === 'quoted-printable' ? sliceBytes : sliceBytes - 31
        expect(await fileOfRaw(bytes, place, slice)).toBe(wholeOf(bytes.subarray(6), encoding))
      }),
    )
  },
)

it('a line that is longer than a slice is cut beside what stands for a byte', async () => {
  for (const before of [0, 1, 2, 3]) {
    const bytes = Buffer.from(`${'a'.repeat(before)}${'=C3=BC'.repeat(20)}`)
    const place = { at: 0, end: bytes.length, encoding: 'quoted-printable' }
    expect(await fileOfRaw(bytes, place, 8)).toBe(wholeOf(bytes, 'quoted-printable'))
  }
})
