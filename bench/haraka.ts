/**
 * A private Haraka that takes all mail and queues it on the disk, without delivering it: one process,
 * configuration and queue in a directory of its own, loopback only.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

export interface Haraka {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

const TRIES_MAX = 100
const TRY_AFTER_MS = 100

/** Why it cannot be measured here, or undefined. */
export function harakaHindrance(): string | undefined {
  return find() === undefined ? 'not installed (npm install --global Haraka)' : undefined
}

export async function startHaraka(o: { dir: string; port: number }): Promise<Haraka> {
  const program = find() ?? 'haraka'
  // Its own defaults, which it does not do without.
  execFileSync(program, ['-i', o.dir], { stdio: 'ignore' })
  const files = {
    'config/smtp.ini': `listen=127.0.0.1:${o.port}\nnodes=0\n`,
    'config/plugins': 'take_all\n',
    'config/loglevel': 'error\n',
    'config/me': 'haraka.test\n',
    'config/outbound.ini': 'disabled=true\n',
    'plugins/take_all.js': `exports.hook_rcpt = (next, connection) => {
  connection.relaying = true
  next(OK)
}
`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(o.dir, name), text)
  const child = spawn(program, ['-c', o.dir], { stdio: 'ignore' })
  const endWithUs = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', endWithUs)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    // Nothing of it is kept.
    child.kill('SIGKILL')
    await exited
    process.off('exit', endWithUs)
  }
  for (let tries = 0; !(await isListening(o.port)); tries += 1) {
    if (tries === TRIES_MAX) {
      await stop()
      throw new Error('Haraka did not start')
    }
    await setTimeout(TRY_AFTER_MS)
  }
  return { port: o.port, pid: child.pid ?? -1, stop }
}

function find(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, 'haraka')).find((path) => existsSync(path))
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
