/**
 * Frames of Zstandard (RFC 8878), for values that PostgreSQL keeps as they are. A frame of what cannot be made
 * smaller is a few bytes longer than it.
 *
 * Long values are worked on in a thread of libuv, so that the event loop stays free; short ones here, which is
 * cheaper than to hand them over: 5 kB take about 30 µs, and 15 µs back. What a short one is written into is as long
 * as it has to be. Node takes 16 kB otherwise, twice for each mail: that cost a twentieth of the service's processor
 * time of a mail, most of it in collections of garbage.
 */
import { promisify } from 'node:util'
import { zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'

const IN_THREAD_FROM = 64 * 1024
/** A full buffer would be followed by another, to see that nothing follows. */
const ROOM = 128

const compressInThread = promisify(zstdCompress)
const decompressInThread = promisify(zstdDecompress)

export async function compress(plain: Buffer): Promise<Buffer> {
  if (plain.length < IN_THREAD_FROM) return compressShort(plain)
  return await compressInThread(plain, { pledgedSrcSize: plain.length })
}

/**
 * Of a value that is known to be short. Told the length ahead, it clears tables of that size alone: of a mail of
 * 1 kB, a third of the time.
 */
export function compressShort(plain: Buffer): Buffer {
  const chunkSize = plain.length + (plain.length >> 8) + ROOM
  return zstdCompressSync(plain, { pledgedSrcSize: plain.length, chunkSize })
}

export async function decompress(frame: Buffer): Promise<Buffer> {
  return frame.length < IN_THREAD_FROM ? decompressShort(frame) : await decompressInThread(frame)
}

/** Of a value that is known to be short. */
export function decompressShort(frame: Buffer): Buffer {
  const length = contentLengthOf(frame)
  if (length === undefined || length >= IN_THREAD_FROM) return zstdDecompressSync(frame)
  return zstdDecompressSync(frame, { chunkSize: length + ROOM })
}

/** Where the header of the frame tells it (RFC 8878 §3.1.1.1). */
function contentLengthOf(frame: Buffer): number | undefined {
  const descriptor = frame[4] ?? 0
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] ?? 0
  const at = 5 + (isSingleSegment ? 0 : 1) + dictionaryId
  if (frame.length < at + 4) return undefined
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? frame[at] : undefined
    case 1:
      return frame.readUInt16LE(at) + 256
    case 2:
      return frame.readUInt32LE(at)
    default:
      return undefined
  }
}
