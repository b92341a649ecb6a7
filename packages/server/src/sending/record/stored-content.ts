/**
 * How an email's content is stored: as JSON, compressed, and its attachments beside it as the bytes that their
 * base64 stands for, one after the other. PostgreSQL neither parses nor compresses them again.
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

/** What is shown of an attachment without reading it. */
export interface StoredAttachment extends Omit<Attachment, 'content'> {
  readonly bytes: number
  /** Of a page within a message that was handed in. */
  readonly page?: string
}

export interface ContentWithoutFiles extends Omit<EmailContent, 'attachments'> {
  readonly attachments: readonly StoredAttachment[]
}

/** `octets`: about how much memory it takes while it is sent. */
export async function storeContent(
  whole: EmailContent,
): Promise<StoredContent & { readonly octets: number }> {
  if (whole.rawBytes !== undefined) return storeRaw(whole, whole.rawBytes)
  const files = whole.attachments.map(({ content }) => Buffer.from(content, 'base64'))
  const attachments = whole.attachments.map(({ content: _, ...rest }, i) => ({
    ...rest,
    bytes: files[i]?.length ?? 0,
  }))
  const plain = Buffer.from(JSON.stringify({ ...whole, attachments }))
  const base64 = whole.attachments.reduce((sum, { content }) => sum + content.length, 0)
  return {
    content: await compress(plain),
    attachments: files.length === 0 ? null : Buffer.concat(files),
    octets: plain.length + base64,
  }
}

/** What is longer is written, and encoded, in turns of the event loop. */
const JSON_CHARS_IN_TURN = 1024 * 1024

/** A message that was handed in stands where attachments stand: it has them. Of these, pages are kept for scans. */
async function storeRaw({ rawBytes: _, ...whole }: EmailContent, raw: Buffer) {
  const attachments = whole.attachments.map(({ content, size = 0, ...rest }) => ({
    ...rest,
    bytes: size,
    ...(content === '' ? {} : { page: content }),
  }))
  const json = JSON.stringify({ ...whole, attachments })
  if (json.length > JSON_CHARS_IN_TURN) await setImmediate()
  const plain = Buffer.from(json)
  return {
    content: await compress(plain),
    attachments: raw,
    octets: plain.length + raw.length,
  }
}

export async function readStored({ content, attachments }: StoredContent): Promise<EmailContent> {
  return withFiles(await readWithoutFiles(content), attachments)
}

export async function readWithoutFiles(stored: Buffer): Promise<ContentWithoutFiles> {
  return parse(await decompress(stored))
}

/** Of a content that is known to be small. */
export function readSmall({ content, attachments }: StoredContent): EmailContent {
  return withFiles(parse(decompressShort(content)), attachments)
}

function parse(plain: Buffer): ContentWithoutFiles {
  return JSON.parse(plain.toString()) as ContentWithoutFiles
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
