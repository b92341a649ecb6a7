#!/usr/bin/env node
/** `npx postrider …` in a clone: makes it ready to run, then hands over to the operator CLI. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, succeeds } from './bootstrap.mjs'
import { ensureDashboard } from './build-dashboard.mjs'
import { root } from './clone-lock.mjs'

const isServing = process.argv[2] === undefined || process.argv[2] === 'serve'
const prepare = async () => {
  await ensureInstalled()
  if (isServing) await ensureDashboard()
}

if (await succeeds(prepare)) {
  const node = join(root, 'node_modules', '.bin', 'node')
  const cli = join(root, 'packages', 'server', 'bin', 'postrider.mjs')
  // Compiling is half of a start.
  const env = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node-compile') }
  const child = spawn(node, [cli, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...env, ...process.env },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('close', (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
  })
}
