/**
 * A throw-away PostgreSQL server in a temporary directory.
 *
 * A test run that is killed leaves its server behind: the next run finds it by its directory, whose
 * `owner` file names a process that is gone, and ends it by the pid that the server itself wrote.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runOnServer } from '@postrider/testkit/database'
import { chooseServerAccount } from '../../embedded-postgres/src/account.ts'
import { findPostgresBinaries } from '../../embedded-postgres/src/binaries.ts'
import { initialiseDataDirectory, superuser } from '../../embedded-postgres/src/initialise.ts'

const prefix = 'postrider-test-pg-'

export async function startScratchServer(): Promise<{ url: string; stop(): Promise<void> }> {
  sweep()
  const root = mkdtempSync(join(tmpdir(), prefix))
  chmodSync(root, 0o711)
  writeFileSync(join(root, 'owner'), String(process.pid))
  const data = join(root, 'data')
  const socketDir = join(root, 'run')
  mkdirSync(socketDir, { mode: 0o700 })
  const binaries = findPostgresBinaries(join(root, 'libraries'))
  const account = chooseServerAccount(binaries, { data: socketDir })
  account.own(socketDir)
  const password = 'test'
  await initialiseDataDirectory({
    binaries,
    account,
    directory: data,
    superuserPassword: password,
    isSynced: false,
  })
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    fsync: 'off',
    full_page_writes: 'off',
    shared_buffers: '64MB',
    max_connections: '200',
    autovacuum: 'off',
    timezone: 'UTC',
  }
  const { file, args } = account.command(binaries.postgres, [
    '-D',
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  const child = spawn(file, args, {
    ...account.ids,
    cwd: '/',
    env: binaries.env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(-4_000)
  })
  const url = `postgresql://${superuser}:${password}@/postgres?host=${encodeURIComponent(socketDir)}`
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      // Immediate shutdown: nothing of it is kept.
      child.kill('SIGQUIT')
      await exited
    }
    rmSync(root, { recursive: true, force: true })
  }
  for (;;) {
    try {
      await runOnServer(url, 'select 1')
      return { url, stop }
    } catch (error) {
      if (child.exitCode !== null || child.signalCode !== null) {
        await stop()
        throw new Error(`The test server ended: ${output}`, { cause: error })
      }
      await delay(20)
    }
  }
}

/** Ends servers whose test run is gone, and only those. */
function sweep(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const root = join(tmpdir(), name)
    try {
      if (isAlive(Number(readFileSync(join(root, 'owner'), 'utf8')))) continue
      endServer(join(root, 'data'))
      rmSync(root, { recursive: true, force: true })
    } catch {
      // Just being made or removed, or another user's: not ours to judge.
    }
  }
}

function endServer(data: string): void {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0])
    if (readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data)) process.kill(pid, 'SIGQUIT')
  } catch {
    // It has ended already.
    return
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
