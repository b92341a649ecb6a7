/**
 * Where the embedded server keeps things inside the data directory, and its generated passwords.
 *
 * `postgres/` the database · `libraries/` links to the libraries of its program · `run/` its socket ·
 * `postgres.json` passwords, private · `postgres.log` · `lock`.
 * The path of a Unix socket must fit in about 100 bytes: under a longer data directory the socket lives
 * in a private temporary directory, whose name is kept in `postgres.json`.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ServerAccount } from './account.ts'
import { syncDirectory } from './initialise.ts'

export interface Layout {
  readonly root: string
  readonly database: string
  readonly libraries: string
  readonly log: string
}

export interface ServerSecrets {
  readonly superuserPassword: string
  readonly password: string
  readonly socketDir?: string
}

const socketDirBytesMax = 88

export function openLayout(dataDir: string): Layout {
  return layoutOf(makeRoot(dataDir))
}

export function layoutOf(root: string): Layout {
  return {
    root,
    database: join(root, 'postgres'),
    libraries: join(root, 'libraries'),
    log: join(root, 'postgres.log'),
  }
}

function makeRoot(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    return realpathSync(dataDir)
  } catch (error) {
    if (error instanceof Error)
      error.message = `POSTRIDER_DATA_DIR cannot be used: ${error.message}`
    throw error
  }
}

/** As root the server runs as another user, who must be let through, and see nothing. */
export function letThrough(layout: Layout, account: ServerAccount): void {
  if (!account.isRoot) return
  const { mode } = statSync(layout.root)
  if ((mode & 0o001) === 0) chmodSync(layout.root, (mode & 0o777) | 0o011)
}

/** Undefined before the first start. */
export function readSecrets(layout: Layout): ServerSecrets | undefined {
  try {
    return JSON.parse(readFileSync(secretsPath(layout), 'utf8')) as ServerSecrets
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new Error(`${secretsPath(layout)} cannot be read`, { cause: error })
  }
}

export function generateSecrets(): ServerSecrets {
  const password = () => randomBytes(24).toString('base64url')
  return { superuserPassword: password(), password: password() }
}

/** Flushed before it takes its name: without it the database cannot be opened. */
export function writeSecrets(layout: Layout, secrets: ServerSecrets): void {
  const draft = `${secretsPath(layout)}.new`
  writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  renameSync(draft, secretsPath(layout))
  syncDirectory(layout.root)
  syncDirectory(dirname(layout.root))
}

/** Makes the socket's directory, private to the account, and answers its path. */
export function prepareSocketDir(
  layout: Layout,
  account: ServerAccount,
  secrets: ServerSecrets,
): string {
  const inside = join(layout.root, 'run')
  if (Buffer.byteLength(inside) <= socketDirBytesMax) {
    mkdirSync(inside, { recursive: true, mode: 0o700 })
    account.own(inside)
    return inside
  }
  if (secrets.socketDir !== undefined && isPrivate(secrets.socketDir, account))
    return secrets.socketDir
  const outside = mkdtempSync(join(tmpdir(), 'postrider-'))
  account.own(outside)
  writeSecrets(layout, { ...secrets, socketDir: outside })
  return outside
}

/** Someone else may have made a directory of this name after a reboot. */
function isPrivate(path: string, account: ServerAccount): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat?.isDirectory()) return false
  return stat.uid === account.uid && (stat.mode & 0o077) === 0
}

function secretsPath(layout: Layout): string {
  return join(layout.root, 'postgres.json')
}
