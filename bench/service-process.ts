/** One process of the service, configured by environment alone, its log in a file. */
import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { findFreePort, programs } from '@postrider/testkit'
import { request } from 'undici'

const READY_WITHIN_MS = 60_000
const POLL_MS = 20
const STOP_WITHIN_MS = 30_000

export interface ServiceProcess {
  readonly origin: string
  readonly pid: number
  /** By SIGTERM, and by SIGKILL where that does not do. */
  stop(): Promise<void>
}

export async function startServiceProcess(o: {
  /** Without the prefix. */
  readonly env: Readonly<Record<string, string | number>>
  readonly logFile: string
  /** Not said: the sources. */
  readonly program?: string
  /** Where a CPU profile of the process is put when it ends. */
  readonly profileDir?: string | undefined
}): Promise<ServiceProcess> {
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  // Logs go to a file: read through a pipe they would cost the bench the time that it measures.
  const log = openSync(o.logFile, 'a')
  const profile = o.profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${o.profileDir}`]
  const child = spawn(process.execPath, [...profile, o.program ?? programs.service], {
    stdio: ['ignore', log, log],
    env: {
      ...inheritedEnv(),
      ...prefixed({ HOST: '127.0.0.1', PORT: port, INBOUND_PORT: 0, ...o.env }),
    },
  })
  const endWithUs = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', endWithUs)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    const late = setTimeout(endWithUs, STOP_WITHIN_MS)
    await exited
    clearTimeout(late)
    process.off('exit', endWithUs)
  }
  try {
    await waitUntilReady(origin, () => {
      if (child.exitCode !== null) throw new Error(readFileSync(o.logFile, 'utf8'))
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { origin, pid: child.pid ?? -1, stop }
}

/** Without the configuration of the person who runs the bench. */
function inheritedEnv(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith('POSTRIDER_')))
}

function prefixed(env: Readonly<Record<string, string | number>>): Record<string, string> {
  const entries = Object.entries(env)
  return Object.fromEntries(entries.map(([name, value]) => [`POSTRIDER_${name}`, String(value)]))
}

async function waitUntilReady(origin: string, checkAlive: () => void): Promise<void> {
  const endsAt = performance.now() + READY_WITHIN_MS
  for (;;) {
    checkAlive()
    const isReady = await request(`${origin}/readyz`).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode === 200
      },
      () => false,
    )
    if (isReady) return
    if (performance.now() > endsAt) throw new Error('the service did not become ready')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
