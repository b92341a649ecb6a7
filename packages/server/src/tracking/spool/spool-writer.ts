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

export interface SpoolWriterOptions {
  /** Made when it is needed. */
  readonly dir: string
  readonly held: SpoolInventory
  readonly hitsKeptMax: number
}

export function createSpoolWriter(o: SpoolWriterOptions): SpoolWriter {
  const files = createWrittenFiles(o)
  let waiting: Waiter[] = []
  let flushing: Promise<void> | undefined
  /** Who waits for the end of a flush. */
  const listeners: (() => void)[] = []

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await files.write(group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        await files.giveUp()
        for (const { reject } of group) reject(error)
      }
      if (listeners.length > 0) await files.leave()
      for (const listener of listeners.splice(0)) listener()
    }
    // At once: who comes after the look at `waiting` begins another.
    flushing = undefined
  }

  return {
    append(hit, isTried) {
      return new Promise((resolve, reject) => {
        waiting.push({ hit, isTried, resolve, reject })
        flushing ??= flush()
      })
    },
    async next() {
      if (files.isOnlyOpen) {
        if (flushing === undefined) await files.leave()
        else await new Promise<void>((resolve) => listeners.push(resolve))
      }
      return files.takeClosed()
    },
    get waitingCount() {
      return waiting.length
    },
    async close() {
      await flushing
      await files.leave()
    },
  }
}

/** The file that is written to, and those that are closed and not given away. One call at a time. */
function createWrittenFiles({ dir, held, hitsKeptMax }: SpoolWriterOptions) {
  let current: OpenFile | undefined
  /** Oldest first. */
  const closed: WrittenFile[] = []
  let keptCount = 0
  /** The name of the folder is on the disk. */
  let isFolderKept = false

  /** Resolves when the hits are on the disk, in a file that has its name. */
  async function write(group: readonly Waiter[]): Promise<void> {
    const text = group.map(({ hit }) => toLine(hit)).join('')
    for (let isAgain = false; ; isAgain = true) {
      if (current !== undefined && current.bytes > FILE_BYTES_MAX) await leave()
      current ??= await openNew()
      const { file, path, hits } = current
      // The process that took the file before may have recorded them.
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
      await forget()
    }
  }

  async function openNew(): Promise<OpenFile> {
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

  /** For the process that takes it. */
  async function leave(): Promise<void> {
    const left = current
    if (left === undefined) return
    current = undefined
    closed.push(left)
    await left.file.close().catch(() => undefined)
  }

  /** Another process has it. */
  async function forget(): Promise<void> {
    const left = current
    current = undefined
    if (left === undefined) return
    keptCount -= left.hits?.length ?? 0
    held.delete(left.path)
    await left.file.close().catch(() => undefined)
  }

  /** One in which nothing was kept goes: on a full disk there would soon be thousands. */
  async function giveUp(): Promise<void> {
    if (current === undefined) return
    // What was refused may be in it all the same.
    if (current.bytes > 0) return await leave()
    const { path } = current
    await forget()
    await rm(path, { force: true }).catch(() => undefined)
  }

  return {
    write,
    leave,
    giveUp,
    takeClosed(): WrittenFile | undefined {
      const file = closed.shift()
      keptCount -= file?.hits?.length ?? 0
      return file
    },
    /** Whether the file that is written to is the oldest. */
    get isOnlyOpen() {
      return closed.length === 0 && current !== undefined
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
