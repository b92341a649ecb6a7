/**
 * Refuses new email before the disk is full (docs/reference/limits.md#disk: 503 with `Retry-After`), so that
 * accepted work has space to be finished.
 *
 * What an email will take is set aside from its admission until its commit has ended, on top of the
 * margin. A large one is admitted by a look at the disk of its own; small ones by the periodic look
 * and what was admitted since. Nothing is forgotten between the two: what a look cannot have seen
 * yet stays counted until the next.
 */
import { statfs } from 'node:fs/promises'
import type { Service } from '@postrider/runtime/service'
import { ApiError } from '../errors.ts'
import type { Logger } from '../log.ts'

export interface DiskGuard extends Service {
  isOpen(): boolean
  /** Does the work, which stores about so many bytes, or throws `unavailable` when they do not fit. */
  admit<T>(bytes: number, work: () => Promise<T>): Promise<T>
  runOnce(): Promise<void>
}

export type FreeSpaceMin = { readonly bytes: number } | { readonly percent: number }

const CHECK_MS = 2_000
const LARGE_BYTES = 128 * 1024
/** Once in the table, once in the log ahead of it, once for indexes, page images and their like. */
const COPIES = 3
const RETRY_CLOSED_S = 30
/** The space is only set aside, and most callers give back a part of it. */
const RETRY_CROWDED_S = 5

export function createDiskGuard(o: {
  readonly dir: string
  readonly freeMin: FreeSpaceMin
  readonly log: Logger
  readonly readSpace?: (dir: string) => Promise<{ bavail: number; blocks: number; bsize: number }>
}): DiskGuard {
  const readSpace = o.readSpace ?? statfs
  let freeBytes = Number.POSITIVE_INFINITY
  let neededBytes = 0
  let isOpen = true
  /** Of work under way. */
  let reservedBytes = 0
  /** Of work that has ended, ever; and as much of it as the last look has surely seen. */
  let endedBytes = 0
  let seenBytes = 0
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  function runOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  async function look(): Promise<void> {
    const endedBefore = endedBytes
    const { bavail, blocks, bsize } = await readSpace(o.dir)
    seenBytes = endedBefore
    freeBytes = bavail * bsize
    neededBytes =
      'bytes' in o.freeMin ? o.freeMin.bytes : (blocks * bsize * o.freeMin.percent) / 100
    const wasOpen = isOpen
    isOpen = freeBytes >= neededBytes
    if (isOpen === wasOpen) return
    const facts = { free_bytes: freeBytes, needed_bytes: Math.round(neededBytes) }
    if (isOpen) o.log.info(facts, 'intake.opened')
    else o.log.error(facts, 'intake.closed_disk_nearly_full')
  }

  /** A disk that cannot be looked at is taken for what it was. */
  function check(): Promise<void> {
    return runOnce().catch((error: unknown) => o.log.warn({ err: error }, 'disk_check.failed'))
  }

  return {
    name: 'disk guard',
    isOpen: () => isOpen,
    runOnce,
    async admit(bytes, work) {
      if (bytes > LARGE_BYTES) await check()
      const cost = COPIES * bytes
      const spokenFor = reservedBytes + endedBytes - seenBytes
      if (!isOpen || freeBytes - spokenFor - cost < neededBytes)
        throw new ApiError('unavailable', {
          retryAfterS: isOpen ? RETRY_CROWDED_S : RETRY_CLOSED_S,
        })
      reservedBytes += cost
      try {
        return await work()
      } finally {
        reservedBytes -= cost
        endedBytes += cost
      }
    },
    async start() {
      await runOnce()
      timer ??= setInterval(check, CHECK_MS).unref()
    },
    async stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

/** Where the database is elsewhere, it guards its own disk. */
export const noDiskGuard: DiskGuard = {
  name: 'no disk guard',
  isOpen: () => true,
  admit: (_bytes, work) => work(),
  runOnce: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
}
