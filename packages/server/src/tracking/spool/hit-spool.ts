/**
 * Hits in files until they are in the database: each is on the disk before its request is answered.
 *
 * Files belong to nobody: any process with the same directory may take one, by renaming it, records
 * its hits and removes it. That is safe because a hit counts once however often it is recorded, and
 * because a writer that finds its file gone after a flush writes the same lines into another: whoever
 * renamed it before may not have seen them, whoever renames it later has.
 */
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { newUlid } from '../../platform/ids.ts'
import type { Hit } from '../intake/hit.ts'
import { REFUSED, TAKEN, UNREADABLE, WRITTEN } from './spool-files.ts'
import { createSpoolInventory } from './spool-inventory.ts'
import { fromLines, toLine } from './spool-lines.ts'
import { createSpoolWriter, type SpoolWriter, syncFolder } from './spool-writer.ts'

export interface HitSpool {
  /**
   * Resolves when it is on the disk. Rejects when the spool is full or cannot be written.
   * @param o.isTried it may have been recorded already
   */
  append(hit: Hit, o?: { readonly isTried?: boolean }): Promise<void>
  /** Takes the oldest file that this process has written, also the one that is written to. */
  takeOwn(): Promise<SpooledHits | undefined>
  /** Into files apart, also where the spool is full: they are in it already. Resolves like `append`. */
  putOff(hits: readonly Hit[]): Promise<void>
  /** Takes the oldest of these. */
  takePutOff(): Promise<SpooledHits | undefined>
  /**
   * Takes a file that another process has left. Rejects where the directory cannot be read. Where one was taken before, and is there after a while
   * still, its taker has died with it; who begins supposes that at once.
   */
  takeLeft(o?: { readonly isBeginning?: boolean }): Promise<SpooledHits | undefined>
  /** Of what this process has written or taken and nobody is done with. */
  readonly bytes: number
  /** How many it was given, ever. */
  readonly givenCount: number
  /** How long the oldest of these files has been there; 0 without any. */
  readonly oldestMs: number
  close(): Promise<void>
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

/** What a caller is told of when nothing more fits. */
export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError'
}

/** Of one process: about 150,000 hits. */
const BYTES_MAX = 64 * 1024 * 1024
/** After so long, whoever took a file has died with it. */
const TAKEN_FOR_MS = 60_000
/** Of files that nobody has taken, in memory as well. */
const HITS_KEPT_MAX = 20_000
/** For a flush: with more than that a disk is not slow, but stuck. */
const WAITING_MAX = 20_000

export function createHitSpool(o: {
  /** Made when it is needed. */
  readonly dir: string
  readonly bytesMax?: number
  readonly takenForMs?: number
  readonly hitsKeptMax?: number
  readonly waitingMax?: number
}): HitSpool {
  const { dir, bytesMax = BYTES_MAX, takenForMs = TAKEN_FOR_MS, waitingMax = WAITING_MAX } = o
  const held = createSpoolInventory()
  let givenCount = 0
  const { hitsKeptMax = HITS_KEPT_MAX } = o
  const writer = createSpoolWriter({ dir, held, hitsKeptMax })
  const putOffWriter = createSpoolWriter({ dir, held, hitsKeptMax })

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

  /** Left to whoever looks later, where it cannot be read now. */
  async function readLines(path: string) {
    try {
      return fromLines(await readFile(path, 'utf8'))
    } catch (error) {
      held.delete(path)
      throw error
    }
  }

  async function takeWritten(by: SpoolWriter): Promise<SpooledHits | undefined> {
    for (let own = await by.next(); own !== undefined; own = await by.next()) {
      const path = await take(own.path)
      if (path === undefined) continue
      const { hits, isFresh } = own
      const read = hits === undefined ? await readLines(path) : { hits, unreadable: 0 }
      return handOver(path, { ...read, isFresh })
    }
    return undefined
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

  return {
    append(hit, { isTried = false } = {}) {
      givenCount += 1
      if (held.bytes < bytesMax && writer.waitingCount < waitingMax)
        return writer.append(hit, isTried)
      return Promise.reject(new SpoolFullError('the spool is full'))
    },
    takeOwn: () => takeWritten(writer),
    async putOff(hits) {
      await Promise.all(hits.map((hit) => putOffWriter.append(hit, true)))
    },
    takePutOff: () => takeWritten(putOffWriter),
    async takeLeft({ isBeginning = false } = {}) {
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
    },
    get bytes() {
      return held.bytes
    },
    get givenCount() {
      return givenCount
    },
    get oldestMs() {
      return held.oldestMs
    },
    async close() {
      await Promise.all([writer.close(), putOffWriter.close()])
    },
  }
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
