/**
 * How an email's content is stored: a line of its `ref_id` and its JSON, compressed, and its attachments beside it as
 * the bytes that their base64 stands for, one after the other. Short contents that are accepted together share a
 * frame, a line for each (`accept/pack-contents.ts`). PostgreSQL neither parses nor compresses them again.
 */
import { setImmediate } from 'node:timers/promises'
import { compress, decompress, decompressShort } from '../../platform/values/zstd.ts'
import type { Attachment, EmailContent } from './email.ts'

/** Of a row of `sending_content`. */
export interface StoredContent {
  readonly content: Buffer
  /** Null: there are none. */
  readonly attachments: Buffer | null
}

/** What becomes a row: a short content with others, any other by itself. */
export type ReadyContent = { readonly line: string } | StoredContent

/**
 * For SQL: the row `c` with the content of the email `e`, which is that of $1 and $2 on the day $3. Laterally: it is
 * reached by its key.
 */
export const CONTENT_OF_EMAIL = `lateral (
      select content, attachments from sending_content
       where tenant_id = $1 and ref_id = coalesce(e.content_of, e.ref_id) and rendering = 0 and day = $3
       limit 1) c`

/** What is shown of an attachment without reading it. */
export interface StoredAttachment extends Omit<Attachment, 'content'> {
  readonly bytes: number
  /** Of a page within a message that was handed in. */
  readonly page?: string
}

export interface ContentWithoutFiles extends Omit<EmailContent, 'attachments'> {
  readonly attachments: readonly StoredAttachment[]
}

/** In bytes of JSON. Many of them share a frame, and to read one is to decompress all. */
const SHORT_OCTETS = 16 * 1024

/** `octets`: about how much memory it takes while it is sent. */
export async function makeReady(
  refId: string,
  whole: EmailContent,
): Promise<{ readonly ready: ReadyContent; readonly octets: number }> {
  if (whole.rawBytes !== undefined) return readyRaw(refId, whole, whole.rawBytes)
  const files = whole.attachments.map(({ content }) => Buffer.from(content, 'base64'))
  const attachments = whole.attachments.map(({ content: _, ...rest }, i) => ({
    ...rest,
    bytes: files[i]?.length ?? 0,
  }))
  const json = JSON.stringify({ ...whole, attachments })
  const line = lineOf(refId, json)
  const plainOctets = Buffer.byteLength(json)
  if (files.length === 0 && plainOctets <= SHORT_OCTETS)
    return { ready: { line }, octets: plainOctets }
  const base64 = whole.attachments.reduce((sum, { content }) => sum + content.length, 0)
  return {
    ready: {
      content: await compress(Buffer.from(line)),
      attachments: files.length === 0 ? null : Buffer.concat(files),
    },
    octets: plainOctets + base64,
  }
}

/** What is longer is written, and encoded, in turns of the event loop. */
const JSON_CHARS_IN_TURN = 1024 * 1024

/** A message that was handed in stands where attachments stand: it has them. Of these, pages are kept for scans. */
async function readyRaw(refId: string, { rawBytes: _, ...whole }: EmailContent, raw: Buffer) {
  const attachments = whole.attachments.map(({ content, size = 0, ...rest }) => ({
    ...rest,
    bytes: size,
    ...(content === '' ? {} : { page: content }),
  }))
  const json = JSON.stringify({ ...whole, attachments })
  if (json.length > JSON_CHARS_IN_TURN) await setImmediate()
  const plain = Buffer.from(lineOf(refId, json))
  return {
    ready: { content: await compress(plain), attachments: raw },
    octets: plain.length + raw.length,
  }
}

/** JSON has no line end in it, so no content can hold the beginning of another's line. */
const beginOf = (refId: string) => `\n${refId} `
const lineOf = (refId: string, json: string) => beginOf(refId) + json

export async function readStored(
  { content, attachments }: StoredContent,
  refId: string,
): Promise<EmailContent> {
  return withFiles(await readWithoutFiles(content, refId), attachments)
}

export async function readWithoutFiles(
  stored: Buffer,
  refId: string,
): Promise<ContentWithoutFiles> {
  return parse(await decompress(stored), refId)
}

/** Of contents that are known to be small. What is read of one frame is decompressed once. */
export function readSmall({
  content,
  attachments,
}: StoredContent): (refId: string) => EmailContent {
  const plain = decompressShort(content)
  return (refId) => withFiles(parse(plain, refId), attachments)
}

function parse(plain: Buffer, refId: string): ContentWithoutFiles {
  const begin = beginOf(refId)
  const at = plain.indexOf(begin)
  if (at < 0) throw new Error(`the content of ${refId} is not in its row`)
  const from = at + begin.length
  const end = plain.indexOf('\n', from)
  const json = plain.toString('utf8', from, end < 0 ? plain.length : end)
  return JSON.parse(json) as ContentWithoutFiles
}

function withFiles(rest: ContentWithoutFiles, files: Buffer | null): EmailContent {
  if (rest.raw !== undefined) {
    const attachments = rest.attachments.map(
      ({ bytes, page = '', ...one }): Attachment => ({ ...one, size: bytes, content: page }),
    )
    return { ...rest, attachments, ...(files === null ? {} : { rawBytes: files }) }
  }
  let at = 0
  const attachments = rest.attachments.map(({ bytes, ...attachment }): Attachment => {
    const from = at
    at += bytes
    return { ...attachment, content: files?.toString('base64', from, at) ?? '' }
  })
  return { ...rest, attachments }
}
