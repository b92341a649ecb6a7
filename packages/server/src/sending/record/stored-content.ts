/**
 * How an email's content is stored: as JSON, compressed with Zstandard where that makes it smaller, and its
 * attachments beside it as the bytes that their base64 stands for, one after the other. PostgreSQL neither
 * parses nor compresses them again.
 *
 * A content that is stored as it is begins with `{`, and a compressed one with the magic number of a frame
 * (RFC 8878 §3.1.1).
 */
import { promisify } from 'node:util'
import { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
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

/** Below it a frame saves nothing. */
const COMPRESSED_FROM = 256
/** From here on the work is done in a thread of libuv, so that the event loop stays free. */
const IN_THREAD_FROM = 64 * 1024
const PLAIN = '{'.charCodeAt(0)

const compressInThread = promisify(zstdCompress)
const decompressInThread = promisify(zstdDecompress)

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

async function compress(plain: Buffer): Promise<Buffer> {
  if (plain.length < COMPRESSED_FROM) return plain
  const made =
    plain.length < IN_THREAD_FROM ? zstdCompressSync(plain) : await compressInThread(plain)
  return made.length < plain.length ? made : plain
}

export async function readStored({ content, attachments }: StoredContent): Promise<EmailContent> {
  return withFiles(await readWithoutFiles(content), attachments)
}

export async function readWithoutFiles(stored: Buffer): Promise<ContentWithoutFiles> {
  return parse(stored.length < IN_THREAD_FROM ? plainOf(stored) : await plainInThread(stored))
}

/** Of a content that is known to be small. */
export function readSmall({ content, attachments }: StoredContent): EmailContent {
  return withFiles(parse(plainOf(content)), attachments)
}

function plainOf(stored: Buffer): Buffer {
  return stored[0] === PLAIN ? stored : zstdDecompressSync(stored)
}

async function plainInThread(stored: Buffer): Promise<Buffer> {
  return stored[0] === PLAIN ? stored : await decompressInThread(stored)
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
