/**
 * Which program this is: its version, and the commit that it was made of
 * (docs/reference/running.md#readiness).
 *
 * A package names its commit in the file `commit` beside `package.json`; a checkout is asked by its
 * files, since git need not be installed. Where neither is there, the commit is `unknown`.
 */
import { readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Build {
  readonly version: string
  readonly commit: string
}

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

export function thisBuild(): Build {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
    version: string
  }
  return { version, commit: commitOf(PACKAGE, resolve(PACKAGE, '../..')) }
}

/** `0.1.0 (7c724a7…)`: for people. */
export function describeBuild({ version, commit }: Build): string {
  return `${version} (commit ${commit})`
}

export function commitOf(packageDir: string, checkout: string): string {
  const commit = read(join(packageDir, 'commit')) ?? headOf(join(checkout, '.git'))
  return commit !== undefined && COMMIT.test(commit) ? commit : 'unknown'
}

function headOf(dotGit: string): string | undefined {
  const gitDir = gitDirOf(dotGit)
  const head = read(join(gitDir, 'HEAD'))
  const [, ref] = /^ref: (refs\/\S+)$/.exec(head ?? '') ?? []
  if (ref === undefined) return head
  // A worktree has its own HEAD, and shares the branches.
  const common = resolve(gitDir, read(join(gitDir, 'commondir')) ?? '.')
  return read(join(common, ref)) ?? packedOf(common, ref)
}

/** Of a worktree, `.git` is a file that names the directory. */
function gitDirOf(dotGit: string): string {
  const isFile = statSync(dotGit, { throwIfNoEntry: false })?.isFile() === true
  const [, named] = (isFile && /^gitdir: (.+)$/.exec(read(dotGit) ?? '')) || []
  return named === undefined ? dotGit : resolve(dotGit, '..', named)
}

function packedOf(common: string, ref: string): string | undefined {
  const lines = read(join(common, 'packed-refs'))?.split('\n') ?? []
  return lines.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0]
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
