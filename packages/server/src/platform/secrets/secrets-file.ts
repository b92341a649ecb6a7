/**
 * Where the service's own secrets come from (docs/reference/running.md#secret-keys).
 *
 * With a database of its own, a process gets them from its configuration and nowhere else. On the
 * embedded database, those that are not configured are generated once and kept in
 * DATA_DIR/secrets.json, readable by its owner alone. A file that is there is never replaced: if
 * it cannot be read or understood the service refuses to start, because new keys would make every
 * stored password unreadable. Nor is one that is lost: the database tells that it was there.
 */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeDataDir } from '../process/data-dir.ts'
import { type ConfiguredKeys, createKeyRing, keyIdsOf } from './index.ts'

export interface Secrets {
  /** For createKeyRing. */
  readonly secretKeys: string
  /** undefined: this process has no admin API. */
  readonly adminToken: string | undefined
}

export function toKeys({ secretKeys }: Pick<Secrets, 'secretKeys'>): ConfiguredKeys {
  return { keyRing: createKeyRing(secretKeys), keyIds: keyIdsOf(secretKeys) }
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

/** Throws what `loadSecrets` would throw of a file that is there, and creates none. */
export function checkSecretsFile(sources: SecretSources): void {
  if (sources.databaseUrl === undefined) read(fileIn(sources.dataDir))
}

/** `needs`: what the database needs each of its keys for, empty where it was never sealed. */
export function refuseLostFile(
  sources: SecretSources,
  needs: ReadonlyMap<string, readonly string[]>,
): void {
  const { databaseUrl, dataDir, secretKeys, adminToken } = sources
  const file = fileIn(dataDir)
  if (needs.size === 0 || existsSync(file)) return
  if (databaseUrl !== undefined || (secretKeys !== undefined && adminToken !== undefined)) return
  const keys = [...needs].map(([id, kinds]) => `"${id}" (${kinds.join(', ')})`).join(', ')
  throw new Error(
    secretKeys === undefined
      ? `${file} is missing, and this database needs the secret key ${keys}: restore the file from a backup, or set POSTRIDER_SECRET_KEYS and POSTRIDER_ADMIN_TOKEN. No new file is made`
      : `${file} is missing, which held the operator's token: restore it from a backup, or set POSTRIDER_ADMIN_TOKEN. No new file is made`,
  )
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'secrets.json')
}

function readOrCreate(dataDir: string): Stored {
  const file = fileIn(dataDir)
  const stored = read(file)
  if (stored !== undefined) return stored
  makeDataDir(dataDir)
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
