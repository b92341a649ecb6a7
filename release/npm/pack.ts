/** Packs a built package as it is published. npm gives every file the same date, so equal files give equal bytes. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { unifyModes } from '../modes.ts'

export interface Tarball {
  readonly path: string
  readonly packedBytes: number
  readonly unpackedBytes: number
  /** Paths in the package, in order. */
  readonly files: readonly string[]
}

interface Said {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

export function pack(packageDir: string, destination: string): Tarball {
  unifyModes(packageDir)
  mkdirSync(destination, { recursive: true })
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  const said = execFileSync('npm', args, {
    cwd: packageDir,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename, size, unpackedSize, files }] = JSON.parse(said) as [Said]
  return {
    path: join(destination, filename),
    packedBytes: size,
    unpackedBytes: unpackedSize,
    files: files.map(({ path }) => path).sort(),
  }
}
