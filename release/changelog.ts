/**
 * Makes the section of a release in CHANGELOG.md: the words under `Unreleased`, which people wrote, and below them
 * the commits since the release before. `npm run changelog`, when package.json has the new version.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Commit, listCommits } from './changelog/commits.ts'
import { addRelease } from './changelog/sections.ts'
import { git, isCandidate, releaseTags } from './git.ts'

/** CHANGELOG.md of the repository at `root`, with the section of `version`. */
export function changelogWith(root: string, version: string): string {
  const before = releaseBefore(releaseTags(root), version)
  return addRelease(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), {
    version,
    date: git(root, 'log', '-1', '--format=%cs'),
    commits: before === undefined ? '' : listCommits(commitsSince(root, before), before.slice(1)),
  })
}

/** A release tells what changed since the last release, a candidate what changed since the candidate before. */
function releaseBefore(tags: readonly string[], version: string): string | undefined {
  return tags.find((tag) => tag !== `v${version}` && (isCandidate(version) || !isCandidate(tag)))
}

function commitsSince(root: string, tag: string): Commit[] {
  const log = git(root, 'log', '--no-merges', '--reverse', '--format=%h %s', `${tag}..HEAD`)
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [hash = '', ...subject] = line.split(' ')
      return { hash, subject: subject.join(' ') }
    })
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'CHANGELOG.md'), changelogWith(root, version))
}
