/** What releases ask git. */
import { spawnSync } from 'node:child_process'

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
const TAG = /^v\d+\.\d+\.\d+(?:-rc\.\d+)?$/

export function git(root: string, ...args: readonly string[]): string {
  const done = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX })
  if (done.error) throw done.error
  if (done.status !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr.trim()}`)
  return done.stdout.trim()
}

/** Tags of releases in the history of HEAD, the newest version first. */
export function releaseTags(root: string): string[] {
  const newestFirst = ['-c', 'versionsort.suffix=-rc', 'tag', '--sort=-version:refname']
  return git(root, ...newestFirst, '--merged', 'HEAD')
    .split('\n')
    .filter(isReleaseTag)
}

export function tagsOfHead(root: string): string[] {
  return git(root, 'tag', '--points-at', 'HEAD').split('\n').filter(isReleaseTag)
}

/** Release candidates come before a release; nobody upgrades from one. */
export function isCandidate(versionOrTag: string): boolean {
  return versionOrTag.includes('-rc.')
}

function isReleaseTag(name: string): boolean {
  return TAG.test(name)
}
