/** The server process itself: its settings, its pid file, its start and its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerAccount } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { isAlive } from './process-identity.ts'

/** Only what differs from PostgreSQL's own defaults, or must not be changed in a file. */
const settings = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  wal_compression: 'on',
  shared_buffers: '128MB',
  max_connections: '100',
  checkpoint_timeout: '15min',
  // How much the log ahead of the tables grows between two checkpoints: it must fit in the margin that
  // the disk guard leaves free (DISK_FREE_MIN, 512 MiB), with as much again for what comes during one.
  max_wal_size: '256MB',
  min_wal_size: '64MB',
  // A segment takes its room when it is made, and is used again, so that commits seldom need more.
  wal_init_zero: 'on',
  wal_recycle: 'on',
  // Queue tables turn over all the time: vacuum them early.
  autovacuum_naptime: '15s',
  autovacuum_vacuum_scale_factor: '0.05',
  jit: 'off',
  huge_pages: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // Statements and the details of errors hold tenants' data.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
} as const

const shutdownMs = { fast: 15_000, immediate: 5_000 }
const logBytesMax = 20 * 1024 * 1024

/** In a process group of its own, so that Ctrl-C in a terminal reaches only the service. */
export function spawnPostmaster(o: {
  binaries: PostgresBinaries
  account: ServerAccount
  database: string
  socketDir: string
  logFile: string
}): ChildProcess {
  const options = Object.entries({ ...settings, unix_socket_directories: o.socketDir })
  const { file, args } = o.account.command(o.binaries.postgres, [
    '-D',
    o.database,
    ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  if ((statSync(o.logFile, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax)
    renameSync(o.logFile, `${o.logFile}.1`)
  const log = openSync(o.logFile, 'a', 0o600)
  try {
    const child = spawn(file, args, {
      ...o.account.ids,
      cwd: '/',
      env: o.binaries.env,
      stdio: ['ignore', log, log],
      detached: true,
    })
    child.unref()
    return child
  } finally {
    closeSync(log)
  }
}

export interface Postmaster {
  readonly pid: number
  readonly socketDir: string
}

/**
 * A server that still runs on this directory, by the pid file that it wrote. A pid that now belongs
 * to another program is not taken for it.
 */
export function findPostmaster(database: string): Postmaster | undefined {
  const file = readPidFile(database)
  if (file === undefined || !isAlive(file.pid)) return undefined
  if (process.platform !== 'linux') return file
  return workingDirectory(file.pid) === database ? file : undefined
}

/**
 * A pid file of before a reboot may name a pid that another program of the same user has now, and PostgreSQL would refuse
 * to start. It is removed when surely no process works in the directory: a server's orphans
 * still do, and PostgreSQL finds them by this very file.
 */
export function removeStalePidFile(database: string): void {
  const file = readPidFile(database)
  if (file === undefined || process.platform !== 'linux' || !isAlive(file.pid)) return
  if (processesIn(database).length === 0) rmSync(join(database, 'postmaster.pid'), { force: true })
}

function readPidFile(database: string): Postmaster | undefined {
  let lines: string[]
  try {
    lines = readFileSync(join(database, 'postmaster.pid'), 'utf8').split('\n')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  // pid, data directory, start time, port, socket directory, ...
  const pid = Number(lines[0])
  return Number.isInteger(pid) && pid > 1 ? { pid, socketDir: lines[4] ?? '' } : undefined
}

/** Linux only: elsewhere none is found. */
function processesIn(database: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => workingDirectory(pid) === database)
}

function workingDirectory(pid: number): string | undefined {
  return linkOf(pid, 'cwd')
}

function linkOf(pid: number, name: 'cwd' | 'exe'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    return undefined
  }
}

/**
 * Fast shutdown; what does not end in time is shut down immediately, which costs a recovery at the
 * next start; what does not even do that, being frozen, is killed with all its children after 20 s.
 */
export async function stopPostmaster(pid: number, waitMsOf = shutdownMs): Promise<void> {
  const database = workingDirectory(pid)
  const program = linkOf(pid, 'exe')
  const steps = [
    { signal: 'SIGINT', waitMs: waitMsOf.fast },
    { signal: 'SIGQUIT', waitMs: waitMsOf.immediate },
    { signal: 'SIGKILL', waitMs: shutdownMs.immediate },
  ] as const
  for (const { signal, waitMs } of steps) {
    send(pid, signal)
    // Its children end by themselves when it has gone, unless they are frozen like it. Someone's
    // shell in the directory is no child.
    if (signal === 'SIGKILL' && database !== undefined)
      for (const one of processesIn(database)) if (linkOf(one, 'exe') === program) send(one, signal)
    for (const until = performance.now() + waitMs; performance.now() < until; ) {
      if (!isAlive(pid)) return
      await delay(20)
    }
  }
  throw new Error(`The embedded PostgreSQL, process ${pid}, does not end`)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
