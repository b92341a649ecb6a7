/**
 * Space kept back in the data directory for the day when the disk is full: a file without meaning.
 *
 * PostgreSQL ends when it cannot write its log, and needs some space to recover. The file is then
 * given up, recovery runs, frees old log, and what was accepted can be finished. It is made again
 * when there is room. It holds random bytes, so that no file system stores less than its size.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '@postrider/runtime/logger'

export interface Ballast {
  /** Makes the file in the background, and again when it is missing and there is room. */
  start(): void
  stop(): Promise<void>
  /** What a server that does not start has written tells that too. True when room was made. */
  releaseIfShort(serverLog?: string): Promise<boolean>
  /** False when there is none. */
  release(): Promise<boolean>
}

const BALLAST_BYTES = 64 * 1024 * 1024
const PIECE_BYTES = 1024 * 1024
const CHECK_MS = 60_000
/** Two segments of the log: with less, recovery may not end. */
const SHORT_BYTES = 32 * 1024 * 1024
/** Made only where it leaves this many times its size to the living. */
const ROOM_TIMES = 2
const NO_SPACE = /No space left on device|Disk quota exceeded/

export function createBallast(o: {
  readonly dir: string
  readonly log: Logger
  readonly bytes?: number
  readonly readSpace?: (dir: string) => Promise<{ bavail: number; bsize: number }>
}): Ballast {
  const { log, bytes = BALLAST_BYTES, readSpace = statfs } = o
  const path = join(o.dir, 'ballast')
  const draft = `${path}.new`
  let making: Promise<void> | undefined
  let isCancelled = false
  let timer: NodeJS.Timeout | undefined

  async function freeBytes(): Promise<number> {
    const { bavail, bsize } = await readSpace(o.dir)
    return bavail * bsize
  }

  async function make(): Promise<void> {
    if (sizeOf(path) === bytes) return
    await rm(draft, { force: true })
    if ((await freeBytes()) < bytes * (1 + ROOM_TIMES)) return
    try {
      if (!(await fill())) return
      await rename(draft, path)
      log.info({ bytes }, 'ballast.made')
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** False when it was cancelled meanwhile. */
  async function fill(): Promise<boolean> {
    const piece = randomBytes(Math.min(PIECE_BYTES, bytes))
    const file = await open(draft, 'w', 0o600)
    try {
      for (let written = 0; written < bytes && !isCancelled; )
        written += (await file.write(piece, 0, Math.min(piece.length, bytes - written)))
          .bytesWritten
    } finally {
      await file.close()
    }
    return !isCancelled
  }

  function tend(): void {
    making ??= make()
      .catch((error: unknown) => log.warn({ err: error }, 'ballast.not_made'))
      .finally(() => {
        making = undefined
      })
  }

  async function cancel(): Promise<void> {
    isCancelled = true
    await making
    isCancelled = false
  }

  async function release(): Promise<boolean> {
    await cancel()
    const held = (sizeOf(path) ?? 0) + (sizeOf(draft) ?? 0)
    if (held === 0) return false
    for (const file of [path, draft]) rmSync(file, { force: true })
    log.warn({ bytes: held }, 'ballast.released')
    return true
  }

  return {
    start() {
      timer ??= setInterval(tend, CHECK_MS).unref()
      tend()
    },
    async stop() {
      clearInterval(timer)
      timer = undefined
      await cancel()
    },
    async releaseIfShort(serverLog = '') {
      const isShort = NO_SPACE.test(serverLog) || (await freeBytes()) < SHORT_BYTES
      return isShort && release()
    },
    release,
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}
