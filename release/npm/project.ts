/** What the released packages take from this repository: where it is, its version, its commit. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commitOf } from '../../packages/server/src/build.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface PackageJson {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly exports?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export function readPackageJson(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
}

/** Of the checkout; a release of nothing known is refused. */
export function readCommit(): string {
  const commit = commitOf(root, root)
  if (commit === 'unknown') throw new Error(`${root} has no commit that a release could name`)
  return commit
}

export function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
