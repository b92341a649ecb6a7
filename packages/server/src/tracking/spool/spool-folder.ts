/**
 * Takes files from the folder of hits. Taking is renaming: of several processes that rename one file,
 * one has it.
 */
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { newUlid } from '../../platform/ids.ts'
import type { Hit } from '../intake/hit.ts'
import { REFUSED, TAKEN, UNREADABLE, WRITTEN } from './spool-files.ts'
import type { SpoolInventory } from './spool-inventory.ts'
import { fromLines, toLine } from './spool-lines.ts'
import { syncFolder, type WrittenFile } from './spool-writer.ts'

export interface SpoolFolder {
  /** Takes a file that this process has written. Undefined where another was faster. */
  takeWritten(own: WrittenFile): Promise<SpooledHits | undefined>
  /** Takes the oldest file that another process has left (see `HitSpool.takeLeft`). */
  takeLeft(isBeginning: boolean): Promise<SpooledHits | undefined>
}

/** What one file holds; it is gone when `done` is called, and is taken again later when it is not. */
export interface SpooledHits {
  readonly hits: readonly Hit[]
  /** Lines that were spoiled: their file is kept, for a person to look at. */
  readonly unreadable: number
  /** None of them was ever given to the database. */
  readonly isFresh: boolean
  /** @param refused kept in a file beside it, for a person to look at */
  done(refused?: readonly Hit[]): Promise<void>
}

export function createSpoolFolder({
  dir,
  held,
  takenForMs,
}: {
  readonly dir: string
  readonly held: SpoolInventory
  readonly takenForMs: number
}): SpoolFolder {
  async function takeWritten({ path: own, hits, isFresh }: WrittenFile) {
    const path = await take(own)
    if (path === undefined) return undefined
    const read = hits === undefined ? await readLines(path) : { hits, unreadable: 0 }
    return handOver(path, { ...read, isFresh })
  }

  async function takeLeft(isBeginning: boolean) {
    const before = held.paths
    const names = await readNames(dir)
    const paths = names.sort().map((name) => join(dir, name))
    // Those that another process has taken.
    for (const path of before) if (!paths.includes(path)) held.delete(path)
    for (const left of paths) {
      if (held.has(left)) continue
      const isTaken = left.endsWith(TAKEN) && (isBeginning || (await isLeft(left)))
      if (!isTaken && !left.endsWith(WRITTEN)) continue
      const path = await take(left)
      if (path === undefined) continue
      held.add(path, (await stat(path)).size)
      return handOver(path, { ...(await readLines(path)), isFresh: false })
    }
    return undefined
  }

  /** Undefined where another was faster. */
  async function take(path: string): Promise<string | undefined> {
    const taken = join(dir, newUlid() + TAKEN)
    try {
      await rename(path, taken)
    } catch {
      held.delete(path)
      return undefined
    }
    held.rename(path, taken)
    return taken
  }

  /** Renaming a file changes this time, which is finer than a clock's milliseconds. */
  async function isLeft(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => undefined)
    return found !== undefined && Date.now() - Math.floor(found.ctimeMs) >= takenForMs
  }

  /** Left to a later look, where it cannot be read now. */
  async function readLines(path: string) {
    try {
      return fromLines(await readFile(path, 'utf8'))
    } catch (error) {
      held.delete(path)
      throw error
    }
  }

  function handOver(path: string, read: Omit<SpooledHits, 'done'>): SpooledHits {
    return {
      ...read,
      async done(refused = []) {
        if (refused.length > 0) {
          await setAside(path + REFUSED, refused)
          await syncFolder(dir)
        }
        if (read.unreadable > 0) await rename(path, path + UNREADABLE)
        else await rm(path, { force: true })
        held.delete(path)
      },
    }
  }

  return { takeWritten, takeLeft }
}

/** Throws where nobody knows: what is held there is there still. */
async function readNames(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function setAside(path: string, hits: readonly Hit[]): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(hits.map(toLine).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}
