/** What must hold before a release is built: each sentence says what does not, and what to do. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrationProblems } from '../breaking-migrations.ts'
import { sectionOf } from '../changelog/sections.ts'
import { git, isCandidate, tagsOfHead } from '../git.ts'
import { outsidePackages } from '../notice/packages.ts'
import { noticeOf } from '../notice.ts'

export function unmetConditions(root: string, version: string): string[] {
  return [
    ...uncommitted(root),
    ...wrongTag(tagsOfHead(root), version),
    ...missingWords(root, version),
    ...staleNotice(root),
    ...migrationProblems(root),
  ]
}

function uncommitted(root: string): string[] {
  const changes = git(root, 'status', '--porcelain')
  return changes === '' ? [] : [`commit or remove these changes first:\n${changes}`]
}

function wrongTag(tags: readonly string[], version: string): string[] {
  const tag = `v${version}`
  if (tags.includes(tag)) return []
  if (tags.length > 0)
    return [`the commit is tagged ${tags.join(', ')}, but package.json has ${version}`]
  return isCandidate(version) ? [] : [`only a candidate is built without a tag: git tag ${tag}`]
}

function missingWords(root: string, version: string): string[] {
  const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)
  return section ? [] : [`CHANGELOG.md has no section for ${version}: npm run changelog`]
}

function staleNotice(root: string): string[] {
  const file = join(root, 'NOTICE')
  const notice = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return notice === noticeOf(outsidePackages(root)) ? [] : ['NOTICE is out of date: npm run notice']
}
