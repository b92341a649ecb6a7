/**
 * Where the service's own secrets come from (contract §1).
 *
 * With a database of its own, a process gets them from its configuration and nowhere else. On the
 * embedded database, those that are not configured are generated once and kept in
 * DATA_DIR/secrets.json, readable by its owner alone. A file that is there is never replaced: if
 * it cannot be read or understood the service refuses to start, because new keys would make every
 * stored password unreadable.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { createKeyRing } from './secrets/index.ts'

export interface Secrets {
  /** For createKeyRing. */
  readonly secretKeys: string
  /** undefined: this process has no admin API. */
  readonly adminToken: string | undefined
}

export interface SecretSources {
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly secretKeys: string | undefined
  readonly adminToken: string | undefined
}

interface Stored {
  readonly secret_keys: string
  readonly admin_token: string
}

export function loadSecrets(sources: SecretSources): Secrets {
  const { secretKeys, adminToken } = sources
  if (secretKeys !== undefined && (adminToken !== undefined || sources.databaseUrl !== undefined))
    return { secretKeys, adminToken }
  if (sources.databaseUrl !== undefined) throw new Error('POSTRIDER_SECRET_KEYS is required')
  const stored = readOrCreate(sources.dataDir)
  return {
    secretKeys: secretKeys ?? stored.secret_keys,
    adminToken: adminToken ?? stored.admin_token,
  }
}

function readOrCreate(dataDir: string): Stored {
  const file = join(dataDir, 'secrets.json')
  const stored = read(file)
  if (stored !== undefined) return stored
  mkdirSync(dataDir, { recursive: true })
  create(file, dataDir)
  const created = read(file)
  if (created === undefined) throw new Error(`${file} vanished while it was being created`)
  return created
}

/** undefined: there is no such file. */
function read(file: string): Stored | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new Error(`${file} cannot be read (${codeOf(error)}): the service does not start`, {
      cause: error,
    })
  }
  const stored = parse(text)
  if (stored === undefined)
    throw new Error(
      `${file} is damaged: restore it from a backup. New keys would make every stored password unreadable`,
    )
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  return stored
}

function parse(text: string): Stored | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    if (!('secret_keys' in value) || !('admin_token' in value)) return undefined
    const { secret_keys, admin_token } = value
    if (typeof secret_keys !== 'string' || typeof admin_token !== 'string') return undefined
    createKeyRing(secret_keys)
    return admin_token.length >= 16 ? { secret_keys, admin_token } : undefined
  } catch {
    return undefined
  }
}

/** Whole and flushed before it has its name. The caller holds the lock of the data directory. */
function create(file: string, directory: string): void {
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  const stored: Stored = {
    secret_keys: `k${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}`,
    admin_token: `pra_${randomBytes(32).toString('base64url')}`,
  }
  try {
    writeFlushed(temporary, `${JSON.stringify(stored, null, 2)}\n`)
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
  flush(directory)
}

function writeFlushed(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600)
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function flush(directory: string): void {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
