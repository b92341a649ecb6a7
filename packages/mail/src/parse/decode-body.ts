/**
 * Undoes a part's Content-Transfer-Encoding (RFC 2045 §6), in one pass over its bytes. What is no
 * base64 is passed over, and what is no escape is left as it is; the result is a buffer of its own.
 */

export function decodeBody(bytes: Uint8Array, encoding: string): Uint8Array<ArrayBuffer> {
  switch (encoding) {
    case 'base64':
      return decodeBase64(bytes)
    case 'quoted-printable':
      return decodeQuotedPrintable(bytes)
    default:
      return new Uint8Array(bytes)
  }
}

const EQUALS = 0x3d
const LF = 0x0a
const NONE = 0xff

const BASE64_VALUES = valuesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const HEX_VALUES = valuesOf('0123456789ABCDEF')
for (const [i, digit] of [...'abcdef'].entries()) HEX_VALUES[digit.charCodeAt(0)] = 10 + i

function valuesOf(alphabet: string): Uint8Array {
  const values = new Uint8Array(256).fill(NONE)
  for (const [i, sign] of [...alphabet].entries()) values[sign.charCodeAt(0)] = i
  return values
}

function decodeBase64(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padding = bytes.indexOf(EQUALS)
  const goesOn = padding >= 0 && bytes.subarray(padding).some(isBase64)
  if (goesOn) return decodePadded(bytes)
  // Ten times as fast. A copy, for a short one is out of a pool, which must not be handed over.
  return new Uint8Array(Buffer.from(Buffer.from(bytes).toString('latin1'), 'base64'))
}

function isBase64(byte: number): boolean {
  return BASE64_VALUES[byte] !== NONE
}

/** Some mailers pad every line: after `=` a new group begins. */
function decodePadded(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return createBase64Decoder()(bytes)
}

/** Of bytes that come in slices, cut anywhere. */
export function createBase64Decoder(): (slice: Uint8Array) => Uint8Array<ArrayBuffer> {
  let bits = 0
  let held = 0
  return (slice) => {
    const out = new Uint8Array(Math.ceil((slice.length + 3) / 4) * 3)
    let length = 0
    for (let i = 0; i < slice.length; i++) {
      const byte = slice[i] ?? 0
      if (byte === EQUALS) {
        bits = 0
        held = 0
        continue
      }
      const value = BASE64_VALUES[byte] ?? NONE
      if (value === NONE) continue
      held = ((held << 6) | value) & 0xfff
      bits += 6
      if (bits < 8) continue
      bits -= 8
      out[length++] = held >> bits
    }
    return out.slice(0, length)
  }
}

function decodeQuotedPrintable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0
    if (byte !== EQUALS) {
      out[length++] = byte
      continue
    }
    const high = HEX_VALUES[bytes[i + 1] ?? 0] ?? NONE
    const low = HEX_VALUES[bytes[i + 2] ?? 0] ?? NONE
    if (high !== NONE && low !== NONE) {
      out[length++] = (high << 4) | low
      i += 2
      continue
    }
    const next = endOfSoftBreak(bytes, i + 1)
    if (next === undefined) out[length++] = byte
    else i = next - 1
  }
  return out.slice(0, length)
}

/** Blanks that something has put behind the `=` included, as many as a line has room for. */
function endOfSoftBreak(bytes: Uint8Array, from: number): number | undefined {
  let i = from
  while (i < from + 76 && (bytes[i] === 0x20 || bytes[i] === 0x09)) i++
  if (i === bytes.length) return i
  if (bytes[i] === 0x0d && bytes[i + 1] === LF) return i + 2
  return bytes[i] === LF ? i + 1 : undefined
}
