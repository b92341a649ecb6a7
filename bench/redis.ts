/**
 * A private Redis that flushes every write before it answers, as PostgreSQL does every commit: data
 * in a directory of its own, loopback only, nothing of the system's Redis touched.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'

export interface RedisServer {
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

const READY_WITHIN_MS = 10_000

/** Why it cannot be measured here, or undefined. */
export function redisHindrance(): string | undefined {
  return find() === undefined ? 'redis-server is not installed' : undefined
}

export async function startRedis(o: { dir: string; port: number }): Promise<RedisServer> {
  const settings = {
    port: String(o.port),
    bind: '127.0.0.1',
    dir: o.dir,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    daemonize: 'no',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(find() ?? 'redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const endWithUs = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', endWithUs)
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    // Nothing of it is kept, and in order it would write a file first.
    child.kill('SIGKILL')
    await exited
    process.off('exit', endWithUs)
  }
  try {
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('Redis did not start')), READY_WITHIN_MS)
      const settle = (end: () => void) => () => {
        clearTimeout(late)
        end()
      }
      child.once(
        'exit',
        settle(() => reject(new Error('Redis ended at once'))),
      )
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.includes('Ready to accept connections')) settle(resolve)()
      })
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { port: o.port, pid: child.pid ?? -1, stop }
}

function find(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return [...folders, '/usr/bin', '/usr/local/bin']
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file))
}
