/**
 * The files of a message that was read before, for those who build a message of their own from its parts:
 * in base64, one after another, with turns of the event loop between.
 */
import { setImmediate } from 'node:timers/promises'
import { decodeBody } from '../parse/decode-body.ts'
import { encodingOf, PARSE_LIMITS } from '../parse/parse-message.ts'
import { readHeaders } from '../parse/read-headers.ts'
import { type LeafPart, splitParts } from '../parse/split-parts.ts'
import { describeFile, divideParts } from './read-raw.ts'

export interface RawFile {
  readonly filename: string
  readonly type: string
  readonly disposition: 'attachment' | 'inline'
  readonly contentId?: string
  /** Base64 without white space. */
  readonly content: string
}

/** Whole groups of base64. */
const SLICE_BYTES = 3 * 256 * 1024

export async function attachmentsOfRaw(message: Buffer): Promise<readonly RawFile[]> {
  const limits = { bytesMax: message.length, fieldsMax: Number.POSITIVE_INFINITY }
  const { parts } = splitParts(message, readHeaders(message, 0, limits), PARSE_LIMITS)
  const files: RawFile[] = []
  for (const part of divideParts(parts).others) {
    const { filename, type, disposition, contentId } = describeFile(part)
    files.push({
      filename: filename === '' ? 'attachment' : filename,
      type,
      disposition,
      ...(contentId === null ? {} : { contentId }),
      content: await base64Of(part),
    })
    await setImmediate()
  }
  return files
}

async function base64Of(part: LeafPart): Promise<string> {
  const bytes = Buffer.from(decodeBody(part.bytes, encodingOf(part)))
  let text = ''
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    text += bytes.toString('base64', at, Math.min(bytes.length, at + SLICE_BYTES))
    await setImmediate()
  }
  return text
}
