/**
 * How an email's content is stored: as JSON, compressed, and its attachments beside it as the bytes that their
 * base64 stands for, one after the other. PostgreSQL neither parses nor compresses them again.
 */
import { compress, decompress, decompressShort } from '../../platform/values/zstd.ts'
import type { Attachment, EmailContent } from './email.ts'

/** Of a row of `sending_email`. */
export interface StoredContent {
  readonly content: Buffer
  /** Null: there are none. */
  readonly attachments: Buffer | null
}

/** What is shown of an attachment without reading it. */
export interface StoredAttachment extends Omit<Attachment, 'content'> {
  readonly bytes: number
}

export interface ContentWithoutFiles extends Omit<EmailContent, 'attachments'> {
  readonly attachments: readonly StoredAttachment[]
}

/** `octets`: about how much memory it takes while it is sent. */
export async function storeContent(
  whole: EmailContent,
): Promise<StoredContent & { readonly octets: number }> {
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
  let at = 0
  const attachments = rest.attachments.map(({ bytes, ...attachment }): Attachment => {
    const from = at
    at += bytes
    return { ...attachment, content: files?.toString('base64', from, at) ?? '' }
  })
  return { ...rest, attachments }
}
