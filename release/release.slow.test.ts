/** Releases of repositories that the tests script: what is refused, and what a release has. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrationProblems } from './breaking-migrations.ts'
import { changelogWith } from './changelog.ts'
import { buildRelease } from './release.ts'
import {
  BASELINE,
  CHANGELOG,
  createRepository,
  manifestOf,
  type ScriptedRepository,
} from './scripted-repository.fixture.ts'

let repository: ScriptedRepository
beforeEach(() => {
  repository = createRepository()
})
afterEach(() => repository.remove())

const build = () => buildRelease(repository.root, process.env)
const makeChangelog = (version: string) => changelogWith(repository.root, version)
const withSection = (version: string) => ({ 'CHANGELOG.md': makeChangelog(version) })

describe('npm run changelog', () => {
  it('writes no list of commits for the first release', () => {
    expect(makeChangelog('1.0.0-rc.1')).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [1.0.0-rc.1] - 2026-02-03\n\nWords that people wrote.\n',
    )
  })

  it('lists for a candidate the commits since the candidate before, for a release those since the release', () => {
    repository.tag('v1.0.0')
    repository.commit('fix(sending): first')
    repository.tag('v1.1.0-rc.2')
    repository.commit('fix(sending): second')
    repository.tag('v1.1.0-rc.10')
    repository.tag('some-other-tag')
    repository.commit('fix(sending): third')
    const candidate = makeChangelog('1.1.0-rc.11')
    expect(candidate).toContain('### Commits since 1.1.0-rc.10\n')
    expect(candidate).toContain('- sending: third (')
    expect(candidate).not.toContain('second')
    const release = makeChangelog('1.1.0')
    expect(release).toContain('### Commits since 1.0.0\n')
    expect(release).toMatch(/first.*\n.*second.*\n.*third/)
  })
})

describe('migrations since the last release', () => {
  const add = (text: string, words = '') =>
    repository.commit('feat: migrate', {
      'packages/server/migrations/0002_next.sql': text,
      'CHANGELOG.md': CHANGELOG.replace('Words', `${words} Words`),
    })

  it('may do anything before the first release', () => {
    repository.tag('v1.0.0-rc.1')
    repository.commit('feat: edit', { [BASELINE]: 'create table other (id int);\n' })
    add('drop table mail;')
    expect(migrationProblems(repository.root)).toEqual([])
  })

  it.each([
    ['drops a table', 'drop table mail;'],
    ['drops a column', 'alter table mail drop column words;'],
    ['renames a column', 'alter table mail rename column words to text;'],
    ['renames a table', 'alter table mail rename to mails;'],
    ['changes a type', 'alter table mail alter column id type bigint;'],
  ])('one that %s must say that it breaks, there and in the changelog', (_, statement) => {
    repository.tag('v1.0.0')
    add(statement)
    const unnamed = expect.stringContaining('name `0002_next` in CHANGELOG.md')
    expect(migrationProblems(repository.root)).toEqual([
      expect.stringContaining('0002_next.sql breaks older programs: begin it with -- breaking'),
      unnamed,
    ])
    add(`-- breaking: it goes\n${statement}`)
    expect(migrationProblems(repository.root)).toEqual([unnamed])
    add(`-- breaking: it goes\n${statement}`, 'Breaking: `0002_next`.')
    expect(migrationProblems(repository.root)).toEqual([])
  })

  it('one that the changelog named only for an older release is found', () => {
    repository.tag('v1.0.0')
    add('-- breaking\ndrop table mail;')
    const older = `${CHANGELOG}\n## [1.0.0] - 2026-01-01\n\nBreaking: \`0002_next\`.\n`
    repository.commit('docs: words', { 'CHANGELOG.md': older })
    expect(migrationProblems(repository.root)).toHaveLength(1)
  })

  it('one that adds needs no words', () => {
    repository.tag('v1.0.0')
    add('create table more (id int);\nalter table mail add column more int;\n')
    expect(migrationProblems(repository.root)).toEqual([])
  })

  it('a released one must stay as it is', () => {
    repository.tag('v1.0.0')
    repository.commit('feat: edit', { [BASELINE]: 'create table mail (id bigint);\n' })
    expect(migrationProblems(repository.root)).toEqual([
      '0001_baseline.sql is released: restore it, and put the change into a new file',
    ])
  })
})

describe('npm run release', () => {
  it('puts the files side by side, with checksums, provenance and words', async () => {
    repository.commit('docs: changelog', withSection('1.0.0-rc.1'))
    const { folder, artifacts, parts } = await build()
    expect(parts).toEqual(['npm'])
    expect(artifacts.map(({ name }) => name)).toEqual(['a.tgz'])
    expect(readdirSync(folder).sort()).toEqual([
      'SHA256SUMS',
      'a.tgz',
      'provenance.json',
      'release-notes.md',
    ])
    expect(readFileSync(join(folder, 'a.tgz'), 'utf8')).toBe(
      String(Date.UTC(2026, 1, 3, 4, 5, 6) / 1e3),
    )
    expect(readFileSync(join(folder, 'release-notes.md'), 'utf8')).toBe(
      'Words that people wrote.\n',
    )
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })
    const statement = JSON.parse(readFileSync(join(folder, 'provenance.json'), 'utf8'))
    expect(statement.subject).toEqual([{ name: 'a.tgz', digest: { sha256: artifacts[0]?.sha256 } }])
  })

  it('makes the same bytes of the same commit', async () => {
    repository.commit('docs: changelog', withSection('1.0.0-rc.1'))
    const bytesOf = (folder: string) =>
      readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    const first = bytesOf((await build()).folder)
    expect(bytesOf((await build()).folder)).toEqual(first)
  })

  it('leaves nothing of an earlier build in dist, and takes nothing from unpacked packages', async () => {
    const scripts = {
      'release:deb': 'mkdir -p dist/deb && echo b > dist/deb/b.deb && echo > dist/npm/c.tgz',
    }
    repository.commit('docs: changelog', withSection('1.0.0-rc.1'))
    repository.commit('build: deb', { 'package.json': manifestOf('1.0.0-rc.1', scripts) })
    repository.write({ 'dist/old.tgz': 'old' })
    const { artifacts, parts } = await build()
    expect(parts).toEqual(['npm', 'deb'])
    expect(artifacts.map(({ name }) => name)).toEqual(['a.tgz', 'b.deb'])
  })

  it('says all that is missing, at once', async () => {
    repository.write({ 'new.txt': 'not committed' })
    repository.write({ NOTICE: 'old' })
    await expect(build()).rejects.toThrow(
      /commit or remove these changes first:\n(.*\n)*- CHANGELOG.md has no section for 1.0.0-rc.1.*\n- NOTICE is out of date/,
    )
  })

  it('refuses a release without its tag, and a tag of another version', async () => {
    repository.commit('build: version', {
      'package.json': manifestOf('1.0.0'),
      ...withSection('1.0.0'),
    })
    await expect(build()).rejects.toThrow('only a candidate is built without a tag: git tag v1.0.0')
    repository.tag('v1.0.1')
    await expect(build()).rejects.toThrow('tagged v1.0.1, but package.json has 1.0.0')
    repository.tag('v1.0.0')
    await expect(build()).resolves.toMatchObject({ version: '1.0.0' })
  })

  it('refuses a release with a breaking migration that nobody named', async () => {
    repository.tag('v0.9.0')
    repository.commit('feat: drop', {
      'packages/server/migrations/0002_next.sql': '-- breaking\ndrop table mail;\n',
      ...withSection('1.0.0-rc.1'),
    })
    await expect(build()).rejects.toThrow('name `0002_next` in CHANGELOG.md')
  })

  it('fails when a part fails, or makes nothing', async () => {
    repository.commit('docs: changelog', withSection('1.0.0-rc.1'))
    const withScript = (script: string) =>
      repository.commit('build: other', {
        'package.json': manifestOf('1.0.0-rc.1', { 'release:npm': script }),
      })
    withScript('exit 3')
    await expect(build()).rejects.toThrow('npm run release:npm failed')
    withScript('mkdir dist')
    await expect(build()).rejects.toThrow('the parts of the release made no file')
  })
})
