/** The parts of CHANGELOG.md: what people wrote, and the list of commits. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { listCommits } from './changelog/commits.ts'
import { addRelease, sectionOf, UNRELEASED, wordsSince } from './changelog/sections.ts'

const before = `# Changelog

Words on all.

## [Unreleased]

Sends faster.

- A list

## [1.0.0] - 2026-01-01

The first.
`

const release = { version: '1.1.0', date: '2026-02-03', commits: '### Commits since 1.0.0' }

it('the words under Unreleased become the words of the release, with the commits below', () => {
  expect(addRelease(before, release)).toBe(`# Changelog

Words on all.

## [Unreleased]

## [1.1.0] - 2026-02-03

Sends faster.

- A list

### Commits since 1.0.0

## [1.0.0] - 2026-01-01

The first.
`)
})

it('a release without words is refused, and a second section of a version', () => {
  const after = addRelease(before, release)
  expect(() => addRelease(after, { ...release, version: '1.2.0' })).toThrow('says nothing under')
  expect(() => addRelease(after, release)).toThrow('has a section for 1.1.0 already')
  expect(() => addRelease('# Changelog\n', release)).toThrow('says nothing under')
})

it('the first release has no list of commits', () => {
  const first = '# Changelog\n\n## [Unreleased]\n\nIt sends.\n'
  expect(addRelease(first, { ...release, commits: '' })).toBe(
    '# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-03\n\nIt sends.\n',
  )
})

it('finds the section of a version, and the words since one', () => {
  const after = addRelease(before, release)
  expect(sectionOf(after, '1.0.0')).toBe('The first.')
  expect(sectionOf(after, '1.1.0')).toContain('Sends faster.')
  expect(sectionOf(after, '1.1')).toBeUndefined()
  expect(wordsSince(after, '1.0.0')).toContain('Sends faster.')
  expect(wordsSince(after, '1.0.0')).not.toContain('The first.')
  expect(wordsSince(after, undefined)).toBe(after)
})

it('lists features and fixes by area, and counts what users do not notice', () => {
  const commits = [
    { hash: 'a1', subject: 'feat(sending): write to <you>' },
    { hash: 'b2', subject: 'fix: say what `a_b` is' },
    { hash: 'c3', subject: 'perf(webhooks): read less' },
    { hash: 'd4', subject: 'test(sending): more' },
    { hash: 'e5', subject: 'docs: more' },
    { hash: 'f6', subject: 'no kind at all' },
    { hash: 'a7', subject: 'feat(inbound): read mail' },
  ]
  expect(listCommits(commits, '1.0.0')).toBe(`### Commits since 1.0.0

#### Added

- sending: write to \\<you\\> (a1)
- inbound: read mail (a7)

#### Fixed

- say what \`a\\_b\` is (b2)

#### Faster

- webhooks: read less (c3)

3 others: docs, other, test.`)
  expect(listCommits(commits.slice(0, 1), '1.0.0')).not.toContain('others')
})

it('CHANGELOG.md of this repository has sections that releases can be made of', () => {
  const changelog = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8')
  expect(sectionOf(changelog, UNRELEASED)).toBeDefined()
  const [, ...others] = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  for (const heading of others)
    expect(heading).toMatch(/^\[\d+\.\d+\.\d+(-rc\.\d+)?\] - \d{4}-\d\d-\d\d$/)
})
