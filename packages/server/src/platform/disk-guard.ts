/**
 * Closes the intake before the disk is full, so that what was accepted has room to be finished
 * (contract §2: 503 with `Retry-After`). A look at the disk every few seconds; between two looks
 * the margin must hold.
 */
import { statfs } from 'node:fs/promises'
import type { Logger } from './log.ts'
import type { Service } from './service.ts'

export interface DiskGuard extends Service {
  isOpen(): boolean
  runOnce(): Promise<void>
}

export type FreeSpaceMin = { readonly bytes: number } | { readonly percent: number }

const CHECK_MS = 2_000

export function createDiskGuard(o: {
  readonly dir: string
  readonly freeMin: FreeSpaceMin
  readonly log: Logger
  readonly readSpace?: (dir: string) => Promise<{ bavail: number; blocks: number; bsize: number }>
}): DiskGuard {
  const readSpace = o.readSpace ?? statfs
  let isOpen = true
  let timer: NodeJS.Timeout | undefined

  async function runOnce(): Promise<void> {
    const { bavail, blocks, bsize } = await readSpace(o.dir)
    const freeBytes = bavail * bsize
    const neededBytes =
      'bytes' in o.freeMin ? o.freeMin.bytes : (blocks * bsize * o.freeMin.percent) / 100
    const wasOpen = isOpen
    isOpen = freeBytes >= neededBytes
    if (isOpen === wasOpen) return
    const facts = { free_bytes: freeBytes, needed_bytes: Math.round(neededBytes) }
    if (isOpen) o.log.info(facts, 'intake.opened')
    else o.log.error(facts, 'intake.closed_disk_nearly_full')
  }

  function check(): void {
    runOnce().catch((error: unknown) => o.log.warn({ err: error }, 'disk_check.failed'))
  }

  return {
    name: 'disk guard',
    isOpen: () => isOpen,
    runOnce,
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
