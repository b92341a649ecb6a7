/**
 * The content of files of a message that was read before, for those who build a message of their own from its
 * parts: in base64, in slices, with turns of the event loop between.
 */
import { setImmediate } from 'node:timers/promises'
import { createBase64Decoder, decodeBody } from '../parse/decode-body.ts'
import type { FilePlace } from './read-raw.ts'

const SLICE_BYTES = 256 * 1024
const LF = 0x0a
const EQUALS = 0x3d

/** Base64 without white space. */
export async function fileOfRaw(
  message: Buffer,
  { at, end, encoding }: FilePlace,
  sliceBytes = SLICE_BYTES,
): Promise<string> {
  const bytes = message.subarray(at, end)
  const decode = encoding === 'base64' ? createBase64Decoder() : undefined
  let text = ''
  /** Less than a group of base64. */
  let rest = Buffer.alloc(0)
  for (let from = 0; from < bytes.length; ) {
    const to =
      encoding === 'quoted-printable' ? cutLines(bytes, from, sliceBytes) : from + sliceBytes
    const slice = bytes.subarray(from, to)
    const decoded = Buffer.concat([rest, decode?.(slice) ?? decodeBody(slice, encoding)])
    const whole = decoded.length - (decoded.length % 3)
    text += decoded.toString('base64', 0, whole)
    rest = decoded.subarray(whole)
    from = to
    await setImmediate()
  }
  return text + rest.toString('base64')
}

/** Behind a line; of one that is longer, not within what stands for a byte. */
function cutLines(bytes: Buffer, from: number, sliceBytes: number): number {
  const to = from + sliceBytes
  if (to >= bytes.length) return bytes.length
  const line = bytes.lastIndexOf(LF, to - 1)
  if (line >= from) return line + 1
  const code = bytes.lastIndexOf(EQUALS, to - 1)
  return code > from && code > to - 3 ? code : to
}
