/**
 * Keeps hits in files until they are in the database: each is on the disk before its request is answered.
 *
 * Any process with the same directory may take a file by renaming it. It records the hits and removes the
 * file. That is safe for two reasons. A hit counts once however often it is recorded. And a writer that
 * finds its file gone after a flush writes the same lines into another file, as the process that renamed
 * the file may have read it before the flush.
 */
import type { Hit } from '../intake/hit.ts'
import { createSpoolFolder, type SpooledHits } from './spool-folder.ts'
import { createSpoolInventory } from './spool-inventory.ts'
import { createSpoolWriter, type SpoolWriter } from './spool-writer.ts'

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

/** The error when nothing more fits. */
export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError'
}

/** Of one process: about 150,000 hits. */
const BYTES_MAX = 64 * 1024 * 1024
/** After so long, the process that took a file is considered dead. */
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
  const folder = createSpoolFolder({ dir, held, takenForMs })
  let givenCount = 0
  const { hitsKeptMax = HITS_KEPT_MAX } = o
  const writer = createSpoolWriter({ dir, held, hitsKeptMax })
  const putOffWriter = createSpoolWriter({ dir, held, hitsKeptMax })

  async function takeWritten(by: SpoolWriter): Promise<SpooledHits | undefined> {
    for (let own = await by.next(); own !== undefined; own = await by.next()) {
      const taken = await folder.takeWritten(own)
      if (taken !== undefined) return taken
    }
    return undefined
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
    takeLeft: ({ isBeginning = false } = {}) => folder.takeLeft(isBeginning),
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
