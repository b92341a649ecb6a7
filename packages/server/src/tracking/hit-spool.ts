/**
 * Hits in files while the database is away: each is on the disk before its request is answered.
 *
 * Callers that arrive while a flush is in flight share the next one. A line is a checksum and a hit;
 * one that a crash has torn was never answered for and is passed over. Files belong to nobody: any
 * process with the same directory may take one, by renaming it, records its hits and removes it.
 * That is safe because a hit counts once however often it is recorded, and because a writer that
 * finds its file gone after a flush writes the same lines into another: whoever renamed it before
 * may not have seen them, whoever renames it later has.
 */
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { newUlid } from '../platform/ids.ts'
import { type Hit, hitFromJson, hitToJson } from './hit.ts'

export interface HitSpool {
  /** Resolves when it is on the disk. Rejects when the spool is full or cannot be written. */
  append(hit: Hit): Promise<void>
  /**
   * Takes one file, its own or of whoever left it, and hands over what it holds; undefined when
   * there is none. It is gone when `done` is called, and taken again later when it is not.
   */
  take(): Promise<SpooledHits | undefined>
  /** Of what this process has written or taken and nobody is done with. */
  readonly bytes: number
  close(): Promise<void>
}

export interface SpooledHits {
  readonly hits: readonly Hit[]
  /** Lines that were torn or spoiled. */
  readonly unreadable: number
  /** @param refused kept in a file beside it, for a person to look at */
  done(refused?: readonly Hit[]): Promise<void>
}

/** What a caller is told of when nothing more fits: its request is refused. */
export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError'
}

const ENDING = '.hits'
const TAKEN = '.taken'
const REFUSED = '.refused'
const FILE_BYTES_MAX = 4 * 1024 * 1024
/** Of one process: about 150,000 hits. */
const BYTES_MAX = 64 * 1024 * 1024
/** After so long, whoever took a file has died with it. */
const TAKEN_FOR_MS = 60_000

interface Waiter {
  readonly line: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function createHitSpool(o: {
  /** Made when it is needed. */
  readonly dir: string
  readonly bytesMax?: number
  readonly takenForMs?: number
}): HitSpool {
  const { dir, bytesMax = BYTES_MAX, takenForMs = TAKEN_FOR_MS } = o
  let waiting: Waiter[] = []
  let flushing: Promise<void> | undefined
  let current: { readonly file: FileHandle; readonly path: string; bytes: number } | undefined
  /** By path: files that this process has written or taken. */
  const held = new Map<string, number>()
  let bytes = 0

  function count(path: string, more: number): void {
    held.set(path, (held.get(path) ?? 0) + more)
    bytes += more
  }

  function forget(path: string): void {
    bytes -= held.get(path) ?? 0
    held.delete(path)
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      try {
        await writeDurably(group.map(({ line }) => line).join(''))
        for (const { resolve } of group) resolve()
      } catch (error) {
        await giveUpFile()
        for (const { reject } of group) reject(error)
      }
    }
    // At once: who comes after the look at `waiting` begins another.
    flushing = undefined
  }

  async function writeDurably(text: string): Promise<void> {
    for (;;) {
      if (current !== undefined && current.bytes > FILE_BYTES_MAX) await leaveFile()
      current ??= await openFile()
      const { file, path } = current
      const { bytesWritten } = await file.write(text)
      if (bytesWritten < Buffer.byteLength(text)) throw new Error('the spool could not be written')
      current.bytes += bytesWritten
      count(path, bytesWritten)
      await file.datasync()
      if (await isStillThere(path)) return
      await leaveFile()
      forget(path)
    }
  }

  async function openFile() {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, newUlid() + ENDING)
    const file = await open(path, 'ax', 0o600)
    // The name as well as what will be in it.
    const folder = await open(dir)
    await folder.sync().finally(() => folder.close())
    return { file, path, bytes: 0 }
  }

  async function leaveFile(): Promise<void> {
    const left = current
    current = undefined
    await left?.file.close().catch(() => undefined)
  }

  /** One in which nothing was kept goes: on a full disk there would soon be thousands. */
  async function giveUpFile(): Promise<void> {
    const left = current
    await leaveFile()
    if (left?.bytes === 0) await rm(left.path, { force: true }).catch(() => undefined)
  }

  async function takeFile(): Promise<string | undefined> {
    const names = await readdir(dir).catch((): string[] => [])
    // Those that another process has taken.
    for (const path of held.keys()) if (!names.includes(basename(path))) forget(path)
    for (const name of names.sort()) {
      const path = join(dir, name)
      const isOpen = name.endsWith(ENDING)
      if (!isOpen && !(name.endsWith(TAKEN) && (await isLeft(path)))) continue
      const taken = join(dir, newUlid() + TAKEN)
      try {
        await rename(path, taken)
      } catch {
        // Another was faster.
        continue
      }
      forget(path)
      return taken
    }
    return undefined
  }

  /** Renaming a file changes this time, which is finer than a clock's milliseconds. */
  async function isLeft(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => undefined)
    return found !== undefined && Date.now() - Math.floor(found.ctimeMs) >= takenForMs
  }

  return {
    append(hit) {
      if (bytes >= bytesMax) return Promise.reject(new SpoolFullError('the spool is full'))
      return new Promise((resolve, reject) => {
        waiting.push({ line: toLine(hit), resolve, reject })
        flushing ??= flush()
      })
    },
    async take() {
      const path = await takeFile()
      if (path === undefined) return undefined
      const text = await readFile(path, 'utf8')
      count(path, text.length)
      const lines = text.split('\n').filter((line) => line !== '')
      const hits = lines.flatMap(fromLine)
      return {
        hits,
        unreadable: lines.length - hits.length,
        async done(refused = []) {
          if (refused.length > 0) await setAside(path + REFUSED, refused)
          await rm(path, { force: true })
          forget(path)
        },
      }
    },
    get bytes() {
      return bytes
    },
    async close() {
      await flushing
      await leaveFile()
    },
  }
}

async function isStillThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

async function setAside(path: string, hits: readonly Hit[]): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.write(hits.map(toLine).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}

function toLine(hit: Hit): string {
  const json = hitToJson(hit)
  return `${crc32(json).toString(16)} ${json}\n`
}

function fromLine(line: string): Hit[] {
  const [, sum, json] = /^([0-9a-f]+) (.*)$/.exec(line) ?? []
  if (sum === undefined || json === undefined || crc32(json).toString(16) !== sum) return []
  return [hitFromJson(json)]
}
