/** A small repository with the files that a release looks at, made by git. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { outsidePackages } from './notice/packages.ts'
import { noticeOf } from './notice.ts'

export interface ScriptedRepository {
  readonly root: string
  write: (files: Readonly<Record<string, string>>) => void
  commit: (subject: string, files?: Readonly<Record<string, string>>) => void
  tag: (name: string) => void
  remove: () => void
}

export const BASELINE = 'packages/server/migrations/0001_baseline.sql'

export const CHANGELOG = `# Changelog

## [Unreleased]

Words that people wrote.
`

/** Its part `npm` makes a file of the time that it is given; `image` and `deb` do not exist. */
const manifest = {
  name: 'scripted',
  version: '1.0.0-rc.1',
  scripts: { 'release:npm': 'mkdir -p dist/npm && printf %s "$SOURCE_DATE_EPOCH" > dist/a.tgz' },
  dependencies: { node: '24.0.0' },
}

export function manifestOf(version: string, scripts: Readonly<Record<string, string>> = {}) {
  return JSON.stringify({ ...manifest, version, scripts: { ...manifest.scripts, ...scripts } })
}

export function createRepository(): ScriptedRepository {
  const root = mkdtempSync(join(tmpdir(), 'postrider-release-'))
  const date = '2026-02-03T04:05:06Z'
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
  const git = (...args: string[]) =>
    execFileSync('git', [...identity, ...args], {
      cwd: root,
      stdio: 'ignore',
      env: { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
    })
  const repository: ScriptedRepository = {
    root,
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), text)
      }
    },
    commit(subject, files = {}) {
      repository.write(files)
      git('add', '--all')
      git('commit', '--quiet', '--allow-empty', '--message', subject)
    },
    tag: (name) => git('tag', name),
    remove: () => rmSync(root, { recursive: true }),
  }
  git('init', '--quiet')
  repository.write({ 'package-lock.json': '{"packages":{}}' })
  repository.commit('feat: begin', {
    ...{ '.gitignore': 'dist/\n', 'package.json': manifestOf('1.0.0-rc.1') },
    ...{ 'CHANGELOG.md': CHANGELOG, [BASELINE]: 'create table mail (id int, words text);\n' },
    NOTICE: noticeOf(outsidePackages(root)),
  })
  return repository
}
