/** Makes a new PostgreSQL data directory: UTF-8, locale C, data checksums, scram passwords only. */
import { execFile } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { ServerAccount } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'

export const superuser = 'postgres'

/** `directory` appears at once and complete, or not at all. */
export async function initialiseDataDirectory(o: {
  binaries: PostgresBinaries
  account: ServerAccount
  directory: string
  superuserPassword: string
  /** Off only where nothing needs to survive, as in tests. */
  isSynced?: boolean
}): Promise<void> {
  const unfinished = `${o.directory}.new`
  const passwordFile = `${o.directory}.password`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  o.account.own(unfinished)
  rmSync(passwordFile, { force: true })
  writeFileSync(passwordFile, `${o.superuserPassword}\n`, { mode: 0o600 })
  o.account.own(passwordFile)
  try {
    const { file, args } = o.account.command(o.binaries.initdb, [
      `--pgdata=${unfinished}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
      ...(o.isSynced === false ? ['--no-sync'] : []),
    ])
    await promisify(execFile)(file, args, { ...o.account.ids, cwd: '/', env: o.binaries.env })
  } catch (error) {
    throw new Error(`The embedded PostgreSQL could not be initialised: ${explain(error)}`, {
      cause: error,
    })
  } finally {
    rmSync(passwordFile, { force: true })
  }
  chmodSync(unfinished, 0o700)
  renameSync(unfinished, o.directory)
  if (o.isSynced !== false) syncDirectory(dirname(o.directory))
}

/** A program whose loader is missing, as glibc's is on Alpine, is reported as if it were missing itself. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'ENOENT')
    return 'its program does not run on this system, which has no glibc; set POSTRIDER_DATABASE_URL'
  return 'stderr' in error ? String(error.stderr).trim() : error.message
}

/** Without it a power cut could take back the directory's name, and with it everything stored since. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
