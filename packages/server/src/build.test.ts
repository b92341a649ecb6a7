import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commitOf, thisBuild } from './build.ts'

const commit = '7c724a7c724a7c724a7c724a7c724a7c724a7c72'
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-build-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
}

describe('the commit of this program', () => {
  it.each([
    ['the file of a package', { commit: `${commit}\n` }],
    ['a branch', { '.git/HEAD': 'ref: refs/heads/a/b\n', '.git/refs/heads/a/b': `${commit}\n` }],
    [
      'a packed branch',
      {
        '.git/HEAD': 'ref: refs/heads/b\n',
        '.git/packed-refs': `# pack\n${commit} refs/heads/b\n`,
      },
    ],
    ['a checked out commit', { '.git/HEAD': `${commit}\n` }],
    [
      'a worktree',
      {
        '.git': 'gitdir: base/worktrees/w\n',
        'base/worktrees/w/HEAD': 'ref: refs/heads/b\n',
        'base/worktrees/w/commondir': '../..\n',
        'base/refs/heads/b': `${commit}\n`,
      },
    ],
  ])('is read from %s', (_, files) => {
    write(files)
    expect(commitOf(dir, dir)).toBe(commit)
  })

  it.each([
    ['there is neither a file nor git', {}],
    ['the branch has no commit yet', { '.git/HEAD': 'ref: refs/heads/b\n' }],
    ['the file holds no commit', { commit: '../../etc/passwd\n' }],
  ])('is unknown where %s', (_, files) => {
    write(files)
    expect(commitOf(dir, dir)).toBe('unknown')
  })

  it('is shown with the version', () => {
    expect(thisBuild().version).toMatch(/^\d+\.\d+\.\d+/)
  })
})
