/**
 * Text of others, made fit for a PostgreSQL text column and for JSON: no NUL, no half of a character.
 *
 * Long texts are rewritten in a buffer: replacing 25 million characters of a string, one by one, takes
 * minutes near a thread's limit of memory, in a step that nothing can interrupt.
 */

const CR = 0x0d
const LF = 0x0a
const REPLACEMENT = 0xfffd

export function cleanText(text: string): string {
  const whole = text.toWellFormed()
  return whole.includes('\u0000') ? rewrite(whole, { joinsLineEnds: false }) : whole
}

/** With LF alone at the ends of lines, too. */
export function cleanBody(text: string): string {
  const whole = text.toWellFormed()
  const isClean = !whole.includes('\u0000') && !whole.includes('\r\n')
  return isClean ? whole : rewrite(whole, { joinsLineEnds: true })
}

/** Byte by byte, low before high: reading numbers out of a buffer takes ten times as long. */
function rewrite(text: string, o: { readonly joinsLineEnds: boolean }): string {
  const bytes = Buffer.alloc(text.length * 2)
  bytes.write(text, 'utf16le')
  const isUnit = (at: number, unit: number) => bytes[at] === unit && bytes[at + 1] === 0
  let end = 0
  for (let i = 0; i < bytes.length; i += 2) {
    if (o.joinsLineEnds && isUnit(i, CR) && isUnit(i + 2, LF)) continue
    const isNul = isUnit(i, 0)
    bytes[end] = isNul ? REPLACEMENT & 0xff : (bytes[i] ?? 0)
    bytes[end + 1] = isNul ? REPLACEMENT >> 8 : (bytes[i + 1] ?? 0)
    end += 2
  }
  return bytes.toString('utf16le', 0, end)
}
