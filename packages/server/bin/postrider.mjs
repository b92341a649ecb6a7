#!/usr/bin/env node
/**
 * Starts the command line on a Node that can run it: this one, or the pinned one from the `node`
 * package when this one is too old. Imports nothing that an old Node does not have.
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const nodeMajorMin = 24
if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) await import('../src/cli-main.ts')
else startPinned()

function startPinned() {
  const node = findPinned(dirname(fileURLToPath(import.meta.url)))
  if (node === undefined || realpathSync(node) === process.execPath) return refuse()
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', refuse)
  child.on('close', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1
  })
}

function findPinned(directory) {
  const node = join(directory, 'node_modules', 'node', 'bin', 'node')
  if (existsSync(node)) return node
  return dirname(directory) === directory ? undefined : findPinned(dirname(directory))
}

function refuse() {
  process.stderr.write(
    `Postrider needs Node ${nodeMajorMin} or later; this is ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
