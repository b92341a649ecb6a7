/** The files of a release, among all that the parts of the build leave in `dist`. */
import { createHash } from 'node:crypto'
import { createReadStream, linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

export interface Artifact {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

const RELEASED = /\.(?:tgz|deb|oci\.tar|cdx\.json)$/
/** `dist/npm` has the packages unpacked. */
const NOT_RELEASED = /^npm\//

/** Puts them side by side into `folder`, each under its own name. */
export async function collectArtifacts(dist: string, folder: string): Promise<Artifact[]> {
  rmSync(folder, { recursive: true, force: true })
  const paths = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((path) => RELEASED.test(path) && !NOT_RELEASED.test(path))
    .filter((path) => statSync(join(dist, path)).isFile())
    .toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1))
  mkdirSync(folder, { recursive: true })
  const artifacts: Artifact[] = []
  for (const path of paths) {
    const name = basename(path)
    const file = join(folder, name)
    linkSync(join(dist, path), file)
    artifacts.push({ name, bytes: statSync(file).size, sha256: await sha256Of(file) })
  }
  return artifacts
}

/** As `sha256sum --check` reads it. */
export function checksums(artifacts: readonly Artifact[]): string {
  return artifacts.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file)) hash.update(piece)
  return hash.digest('hex')
}
