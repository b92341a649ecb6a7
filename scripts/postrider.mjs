#!/usr/bin/env node
/** `npx postrider …` in a clone: makes it ready to run, then hands over to the operator CLI. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, root, succeeds } from './bootstrap.mjs'

if (await succeeds(ensureInstalled)) {
  const node = join(root, 'node_modules', '.bin', 'node')
  const cli = join(root, 'packages', 'server', 'bin', 'postrider.mjs')
  const child = spawn(node, [cli, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('close', (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
  })
}
