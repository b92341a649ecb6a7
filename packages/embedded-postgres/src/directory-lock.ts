/**
 * One process per data directory: a lock file that names its holder.
 *
 * A lock whose holder is gone is taken over. A holder in another container or on another machine cannot be looked
 * up by pid; it is alive when it keeps touching its file. The last proof of exclusive use is not this
 * file but an advisory lock in the database itself.
 */
import {
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import {
  identifySelf,
  isSameProcess,
  ownNamespace,
  type ProcessIdentity,
} from './process-identity.ts'

export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'

  constructor(directory: string, pid: number) {
    super(
      `The data directory ${directory} is in use by process ${pid}: stop it, or set POSTRIDER_DATA_DIR to another directory`,
    )
  }
}

export interface DirectoryLock {
  release(): void
}

const touchEveryMs = 2_000

/** Rejects with DirectoryInUseError when another process has it. */
export async function lockDirectory(
  directory: string,
  /** How long a holder that cannot be looked up must have been silent. */
  watchStrangerMs = 7_000,
): Promise<DirectoryLock> {
  const path = `${directory}/lock`
  const content = `${JSON.stringify(identifySelf())}\n`
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, content, { mode: 0o600 })
  try {
    while (!place(draft, path)) await clearStale(directory, path, watchStrangerMs)
  } finally {
    rmSync(draft, { force: true })
  }
  const touch = setInterval(() => touchFile(path), touchEveryMs)
  touch.unref()
  return {
    release() {
      clearInterval(touch)
      if (readIfThere(path) === content) rmSync(path, { force: true })
    },
  }
}

/** A link appears whole or not at all, and never over another file. */
function place(draft: string, path: string): boolean {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Throws when the holder lives; otherwise the lock is gone when this ends. */
async function clearStale(directory: string, path: string, watchStrangerMs: number): Promise<void> {
  const content = readIfThere(path)
  if (content === undefined) return
  const holder = parse(content)
  if (holder && (await isHeld(path, holder, watchStrangerMs)))
    throw new DirectoryInUseError(directory, holder.pid)
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch {
    // Another process was faster; look again.
    return
  }
  // Between reading and renaming, another process may have taken the stale lock over: it gets its own back.
  if (readIfThere(aside) !== content) place(aside, path)
  rmSync(aside, { force: true })
}

async function isHeld(
  path: string,
  holder: ProcessIdentity,
  watchStrangerMs: number,
): Promise<boolean> {
  if (holder.namespace === ownNamespace()) return isSameProcess(holder)
  const before = modifiedAt(path)
  const stepMs = watchStrangerMs / 14
  for (let waitedMs = 0; waitedMs < watchStrangerMs; waitedMs += stepMs) {
    await delay(stepMs)
    if (modifiedAt(path) !== before) return true
  }
  return false
}

function parse(content: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(content) as ProcessIdentity
  } catch {
    return undefined
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function touchFile(path: string): void {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // Removed by hand: the lock in the database still holds.
  }
}
