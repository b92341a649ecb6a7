/** The alert rules fire and are quiet as their tests say. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { root } from './project-files.ts'

const cwd = fileURLToPath(root)
const run = (...args: string[]) => spawnSync('promtool', args, { cwd, encoding: 'utf8' })
const isMissing = run('--version').error !== undefined
const why = isMissing ? ' (SKIPPED: promtool is missing; .ci/run installs it)' : ''
if (isMissing) process.stderr.write(`The alert rules are NOT tested${why}\n`)

it.skipIf(isMissing)(`promtool accepts every alert rule${why}`, () => {
  const { status, stdout, stderr } = run('check', 'rules', 'deploy/prometheus/alerts.yaml')
  expect(status, stdout + stderr).toBe(0)
})

it.skipIf(isMissing)(`each alert fires, and is quiet near its threshold${why}`, () => {
  const { status, stdout, stderr } = run('test', 'rules', 'deploy/prometheus/alerts.test.yaml')
  expect(status, stdout + stderr).toBe(0)
})
