import { randomBytes } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { compress, decompress, decompressShort } from './zstd.ts'

/** Where the length takes another field of the header, and where another thread takes over. */
const LENGTHS = [0, 1, 127, 255, 256, 257, 4_095, 16_384, 65_535, 65_536, 65_791, 65_792, 200_000]

describe.each([
  ['random bytes', randomBytes],
  ['one letter', (length: number) => Buffer.alloc(length, 'a')],
])('%s', (_, make) => {
  it.each(LENGTHS)('of %i are the same after they were compressed', async (length) => {
    const plain = make(length)
    const frame = await compress(plain)
    expect(zstdDecompressSync(frame).equals(plain)).toBe(true)
    expect((await decompress(frame)).equals(plain)).toBe(true)
    expect(decompressShort(frame).equals(plain)).toBe(true)
  })

  it.each(LENGTHS)('of %i are read from a frame that does not tell its length', async (length) => {
    const plain = make(length)
    const frame = zstdCompressSync(plain)
    expect((await decompress(frame)).equals(plain)).toBe(true)
  })

  it('are written into no more memory than they need', async () => {
    const plain = make(5_000)
    const frames = await Promise.all(Array.from({ length: 12 }, () => compress(plain)))
    const values = frames.map(decompressShort)
    // Node gives short buffers out of pools of 64 kB; with 16 kB for each, both would be in three of them or more.
    for (const all of [frames, values])
      expect(new Set(all.map(({ buffer }) => buffer)).size).toBeLessThanOrEqual(2)
  })
})

it('refuses a frame that is cut', async () => {
  const frame = await compress(randomBytes(100))
  for (const length of [1, 4, 5, 6, 8, 50])
    expect(() => decompressShort(frame.subarray(0, length))).toThrow()
})
