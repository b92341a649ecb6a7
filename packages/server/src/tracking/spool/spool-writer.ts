/**
 * Writes hits into files of a directory: each is flushed before its caller is told so. Callers that
 * arrive while a flush is in flight share the next one.
 *
 * A file that was renamed by another process meanwhile is left, and what the last flush wrote is
 * written again into another. Hits that were written are kept in memory as well, as far as they are
 * few, so that only who has fallen behind reads its own files again.
 */
import { type FileHandle, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newUlid } from '../../platform/ids.ts'
import type { Hit } from '../intake/hit.ts'
import { WRITTEN } from './spool-files.ts'
import type { SpoolInventory } from './spool-inventory.ts'
import { toLine } from './spool-lines.ts'

export interface SpoolWriter {
  /**
   * Resolves when it is on the disk.
   * @param isTried it may have been recorded already
   */
  append(hit: Hit, isTried: boolean): Promise<void>
  /** The oldest file that is not given away, closed: also the one that is written to. */
  next(): Promise<WrittenFile | undefined>
  /** How many wait for a flush after the one that is in flight. */
  readonly waitingCount: number
  close(): Promise<void>
}

export interface WrittenFile {
  readonly path: string
  /** Undefined: they are too many to be kept in memory. */
  readonly hits: readonly Hit[] | undefined
  /** Nobody else has seen it, and none of its hits was ever given to the database. */
  readonly isFresh: boolean
}

const FILE_BYTES_MAX = 4 * 1024 * 1024

interface Waiter {
  readonly hit: Hit
  readonly isTried: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface OpenFile {
  readonly file: FileHandle
  readonly path: string
  bytes: number
  readonly hits: Hit[] | undefined
  isFresh: boolean
}

export function createSpoolWriter(o: {
  /** Made when it is needed. */
  readonly dir: string
  readonly held: SpoolInventory
  readonly hitsKeptMax: number
}): SpoolWriter {
  const { dir, held, hitsKeptMax } = o
  let waiting: Waiter[] = []
  let flushing: Promise<void> | undefined
  let current: OpenFile | undefined
  /** Closed, oldest first. */
  const closed: WrittenFile[] = []
  let keptCount = 0
  /** The name of the folder is on the disk. */
  let isFolderKept = false
  /** Who waits for the end of a flush. */
  const listeners: (() => void)[] = []

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await writeDurably(group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        await giveUpFile()
        for (const { reject } of group) reject(error)
      }
      if (listeners.length > 0) await leaveFile()
      for (const listener of listeners.splice(0)) listener()
    }
    // At once: who comes after the look at `waiting` begins another.
    flushing = undefined
  }

  async function writeDurably(group: readonly Waiter[]): Promise<void> {
    const text = group.map(({ hit }) => toLine(hit)).join('')
    for (let isAgain = false; ; isAgain = true) {
      if (current !== undefined && current.bytes > FILE_BYTES_MAX) await leaveFile()
      current ??= await openFile()
      const { file, path, hits } = current
      // Whoever took the file before may have recorded them.
      if (isAgain || group.some(({ isTried }) => isTried)) current.isFresh = false
      const { bytesWritten } = await file.write(text)
      if (bytesWritten < Buffer.byteLength(text)) throw new Error('the spool could not be written')
      await file.datasync()
      if (await isThere(path)) {
        current.bytes += bytesWritten
        held.add(path, bytesWritten)
        if (hits === undefined) return
        for (const { hit } of group) hits.push(hit)
        keptCount += group.length
        return
      }
      await forgetFile()
    }
  }

  async function openFile(): Promise<OpenFile> {
    if ((await mkdir(dir, { recursive: true, mode: 0o700 })) !== undefined) isFolderKept = false
    if (!isFolderKept) await syncFolder(dirname(dir))
    isFolderKept = true
    const path = join(dir, newUlid() + WRITTEN)
    const file = await open(path, 'ax', 0o600)
    try {
      // The name as well as what will be in it.
      await syncFolder(dir)
    } catch (error) {
      await file.close().catch(() => undefined)
      await rm(path, { force: true }).catch(() => undefined)
      throw error
    }
    held.add(path, 0)
    return { file, path, bytes: 0, hits: keptCount < hitsKeptMax ? [] : undefined, isFresh: true }
  }

  /** For whoever takes it. */
  async function leaveFile(): Promise<void> {
    const left = current
    if (left === undefined) return
    current = undefined
    closed.push(left)
    await left.file.close().catch(() => undefined)
  }

  /** Another process has it. */
  async function forgetFile(): Promise<void> {
    const left = current
    current = undefined
    if (left === undefined) return
    keptCount -= left.hits?.length ?? 0
    held.delete(left.path)
    await left.file.close().catch(() => undefined)
  }

  /** One in which nothing was kept goes: on a full disk there would soon be thousands. */
  async function giveUpFile(): Promise<void> {
    if (current === undefined) return
    // What was refused may be in it all the same.
    if (current.bytes > 0) return await leaveFile()
    const { path } = current
    await forgetFile()
    await rm(path, { force: true }).catch(() => undefined)
  }

  return {
    append(hit, isTried) {
      return new Promise((resolve, reject) => {
        waiting.push({ hit, isTried, resolve, reject })
        flushing ??= flush()
      })
    },
    async next() {
      if (closed.length === 0 && current !== undefined) {
        if (flushing === undefined) await leaveFile()
        else await new Promise<void>((resolve) => listeners.push(resolve))
      }
      const file = closed.shift()
      keptCount -= file?.hits?.length ?? 0
      return file
    },
    get waitingCount() {
      return waiting.length
    },
    async close() {
      await flushing
      await leaveFile()
    },
  }
}

/** The names in it. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}
