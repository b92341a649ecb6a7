/** One layer of an image: a tar archive, compressed. Equal trees give equal bytes. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { constants, zstdCompressSync } from 'node:zlib'

export interface Layer {
  readonly bytes: Uint8Array
  /** Of the bytes. */
  readonly digest: string
  /** Of the archive before it is compressed. */
  readonly diffId: string
}

export interface LayerOptions {
  /** Paths are relative to it. */
  readonly tree: string
  /** With all that is in them. */
  readonly paths: readonly string[]
  readonly without?: readonly string[]
  /** Of every file, in seconds since 1970. Layers that seldom change have the same date in all releases. */
  readonly seconds: number
  /** The user and the group. */
  readonly owner?: number
}

/** A higher level takes 1 % off, and ten times as long. */
const LEVEL = 10

export function makeLayer({ tree, paths, without = [], seconds, owner = 0 }: LayerOptions): Layer {
  const archive = execFileSync(
    'tar',
    [
      ...['--create', '--sort=name', '--format=gnu', '--numeric-owner', `--mtime=@${seconds}`],
      ...[`--owner=${owner}`, `--group=${owner}`],
      ...without.map((path) => `--exclude=${path}`),
      ...paths,
    ],
    { cwd: tree, maxBuffer: 2 ** 30 },
  )
  const bytes = zstdCompressSync(archive, {
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  })
  return { bytes, digest: digestOf(bytes), diffId: digestOf(archive) }
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
