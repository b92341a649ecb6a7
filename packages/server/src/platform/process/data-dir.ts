/**
 * The data directory: secrets, the embedded database and spooled events. Only the user of the service
 * may list it or write in it.
 *
 * Others may pass through it: as root, the embedded PostgreSQL runs as another user and opens its own
 * files by their full path (db/embedded/layout.ts). The files themselves are private.
 */
import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from '../log.ts'

/** Reading and writing, for the group and for others. */
const TOO_OPEN = 0o066
/** Anything at all, of files that hold secrets. */
const NOT_PRIVATE = 0o077
/** secrets-file.ts, db/embedded/layout.ts, compose.ts. A copy that was brought back may be open. */
const SECRET_FILES = ['secrets.json', 'postgres.json', 'inbound-tls.pem']
/** Permissions, set-id bits and the sticky bit. */
const MODE = 0o7777
const STICKY = 0o1000

export function makeDataDir(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
}

/** In words, when this process may not use the directory, or may not make it. Changes nothing. */
export function findDataDirFault(dir: string): string | undefined {
  const place = nearestExisting(dir)
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const isReadOnly = Reflect.get(Object(error), 'code') === 'EROFS'
    const why = isReadOnly ? `${place} is read-only. Make it writable` : explainOwner(dir, place)
    return `The data directory ${dir} cannot be used: ${why}, or set POSTRIDER_DATA_DIR to another directory`
  }
}

function explainOwner(dir: string, place: string): string {
  const own = process.getuid?.()
  if (place !== dir) return `the user ${own} may not make it in ${place}. Make it for this user`
  const { uid } = statSync(dir)
  if (uid === own) return 'its owner may not write in it. Run chmod 700 on it'
  return `it belongs to the user ${uid}, and the service runs as the user ${own}. Run chown ${own} on it`
}

/** The directory itself, or the nearest one above it that is there. */
export function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

/** The mode in octal when others may list the directory or write in it. Undefined as well when there is none. */
export function findOpenMode(dir: string): string | undefined {
  const mode = statSync(dir, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & TOO_OPEN) === 0 ? undefined : toOctal(mode)
}

interface OpenFile {
  readonly path: string
  /** In octal. */
  readonly mode: string
}

/** Files with secrets that others may read, write or run. */
export function findOpenFiles(dir: string): readonly OpenFile[] {
  return SECRET_FILES.flatMap((name) => {
    const path = join(dir, name)
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & NOT_PRIVATE) === 0 ? [] : [{ path, mode: toOctal(mode) }]
  })
}

/** Takes everything from the group and from others; a warning names a file where that fails. */
export function closeSecretFiles(dir: string, log: Logger): void {
  for (const { path, mode } of findOpenFiles(dir)) {
    try {
      chmodSync(path, statSync(path).mode & MODE & ~NOT_PRIVATE)
      log.info({ file: path, mode_before: mode }, 'data_dir.file_closed')
    } catch (err) {
      log.warn({ err, file: path, mode }, 'data_dir.file_too_open')
    }
  }
}

/**
 * Takes reading and writing from the group and from others. A directory that others share (another
 * owner, or the sticky bit of /tmp) stays as it is, and a warning names it.
 */
export function closeDataDir(dir: string, log: Logger): void {
  const before = findOpenMode(dir)
  if (before === undefined) return
  const { mode, uid } = statSync(dir)
  const isShared = uid !== process.getuid?.() || (mode & STICKY) !== 0
  if (isShared) {
    log.warn({ data_dir: dir, mode: before }, 'data_dir.too_open')
    return
  }
  chmodSync(dir, mode & MODE & ~TOO_OPEN)
  log.info(
    { data_dir: dir, mode_before: before, mode: toOctal(statSync(dir).mode) },
    'data_dir.closed',
  )
}

function toOctal(mode: number): string {
  return `0${(mode & MODE).toString(8)}`
}
