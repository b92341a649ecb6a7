/** Answers that are files: offered to be kept, never shown, and sent in slices. */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { attachmentDisposition } from './content-disposition.ts'

/** As a file, whatever is in it. `fallback` is its name where `filename` is none. */
export function offerFile(
  reply: FastifyReply,
  o: { readonly type: string; readonly filename: string; readonly fallback: string },
): void {
  reply.header('content-type', o.type)
  reply.header('content-disposition', attachmentDisposition(o.filename, o.fallback))
  reply.header('x-content-type-options', 'nosniff')
  reply.header('content-security-policy', "default-src 'none'; sandbox")
  reply.header('cache-control', 'private, no-store')
}

const SLICE_BYTES = 64 * 1024
/** It is held in memory while it is sent. */
const SEND_MS_MAX = 120_000

/** `leave` is called when it has been sent, or was given up. */
export function streamInSlices(
  reply: FastifyReply,
  content: Uint8Array,
  leave: () => void,
  sendMsMax = SEND_MS_MAX,
): Readable {
  reply.header('content-length', content.byteLength)
  const stream = Readable.from(slices(content), { objectMode: false })
  const timer = setTimeout(() => stream.destroy(new Error('sent too slowly')), sendMsMax)
  stream.once('close', () => {
    clearTimeout(timer)
    leave()
  })
  return stream
}

function* slices(content: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < content.byteLength; at += SLICE_BYTES)
    yield content.subarray(at, at + SLICE_BYTES)
}
