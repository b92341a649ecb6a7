/**
 * Brings what is in the spool into the database: its own files in the order in which they were
 * written, and those that a process which ended has left.
 *
 * One transaction at a time, and while hits come and little waits a pause after each that is as long
 * as it took: who waits for an answer goes first. A file is removed when all of it is recorded, so one that is
 * left half way is recorded again, where each hit meets itself. What waits for a lock of others is put
 * off into files of its own, and tried again some seconds later.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { waitAtMost } from '@postrider/runtime/timeout'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createSummedLog } from '../../platform/summed-log.ts'
import { createLoop } from '../../platform/work/loop.ts'
import type { Hit, HitOutcome } from '../intake/hit.ts'
import type { HitRecorder } from '../record/record-hits.ts'
import type { HitSpool } from './hit-spool.ts'
import { createLockConflicts } from './lock-conflicts.ts'
import { type RecordedFile, recordSpooled } from './record-spooled.ts'
import type { SpooledHits } from './spool-folder.ts'

export interface HitReplay {
  /** Everything, including recently deferred hits; answers how many hits that were. */
  runOnce(): Promise<number>
  /** At once, without waiting for it. */
  look(): void
  /** Now and then, from now on. */
  start(): Promise<void>
  /** @param o.isDraining what is there is recorded before, as far as that is soon done */
  stop(o: { readonly isDraining: boolean }): Promise<void>
}

export interface HitReplayDeps {
  readonly recorder: Pick<HitRecorder, 'record' | 'recordAll'>
  readonly spool: HitSpool
  readonly log: Logger
  /** How soon its own files are looked at; without, only when `runOnce` is called. */
  readonly ownEveryMs?: number | undefined
  readonly isAway: () => boolean
  readonly goAway: (error: unknown) => void
  readonly observe: (hit: Hit, result: HitOutcome['kind'] | 'refused') => void
}

/** Files that others have left. */
const SWEEP_MS = 30_000
/** More is behind: no more pauses. */
const UNHURRIED_BYTES_MAX = 16 * 1024 * 1024
const PAUSE_MS_MAX = 250
const DRAINED_WITHIN_MS = 5_000
/** After a file that could not be read or removed. */
const BACK_OFF_MS = 5_000
const TENANTS_TOLD_MAX = 10
/** The time until deferred hits are tried again. */
const PUT_OFF_MS = 5_000

interface FileInWork extends SpooledHits {
  readonly wasPutOff: boolean
}

export function createHitReplay(deps: HitReplayDeps): HitReplay {
  const { spool, log } = deps
  const order = createFileOrder(deps)
  const pauses = createPauses(spool)
  const conflicts = createLockConflicts(() => performance.now())
  const recording = {
    ...{ recorder: deps.recorder, ...hitOutcomes(deps) },
    ...{ pause: pauses.after, block: conflicts.block, isOver: () => isOver },
  }
  const putOffLines = createSummedLog({ log, level: 'warn', message: 'hits.put_off' })
  /** Taken from the spool, and not all of it recorded. */
  let unfinished: FileInWork | undefined
  let running: Promise<number> | undefined
  let isOver = false

  async function recordAll(): Promise<number> {
    let count = 0
    while (!isOver && !deps.isAway()) {
      unfinished ??= await order.next()
      if (unfinished === undefined) break
      const recorded = await recordFile(unfinished)
      if (recorded === undefined) {
        unfinished = { ...unfinished, isFresh: false }
        break
      }
      const { refused, late } = recorded
      if (late.length > 0) await putOff(late, unfinished)
      const done = unfinished
      await done.done(refused)
      unfinished = undefined
      count += done.hits.length - late.length
      logRecorded(log, done, recorded)
    }
    return count
  }

  /** Undefined when the database went away over it, or when it is to end. */
  async function recordFile(file: FileInWork): Promise<RecordedFile | undefined> {
    try {
      const isBlocked = file.wasPutOff ? conflicts.isRecipientBlocked : conflicts.isTenantBlocked
      return await recordSpooled({ ...recording, isBlocked }, file)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error
      deps.goAway(error)
      return undefined
    }
  }

  /** On the disk before their file goes. */
  async function putOff(late: readonly Hit[], { wasPutOff }: FileInWork): Promise<void> {
    conflicts.renew(late)
    await spool.putOff(late)
    const tenants = [...new Set(late.map(({ tenantId }) => tenantId))]
    putOffLines.note({ tenant_ids: tenants.slice(0, TENANTS_TOLD_MAX) }, late.length)
    order.notePutOff({ isAgain: wasPutOff })
    loop.wake(PUT_OFF_MS)
  }

  function begin(): Promise<number> {
    running ??= recordAll().finally(() => {
      running = undefined
    })
    return running
  }

  const loop = createLoop({
    ...{ name: 'hit replay', log, failed: 'spool.failed', backOffMs: BACK_OFF_MS },
    sweepMs: deps.ownEveryMs ?? SWEEP_MS,
    pass: begin,
  })

  return {
    look: () => loop.wake(),
    async runOnce() {
      // One that is under way may have looked for files of others already.
      const before = (await running?.catch(() => 0)) ?? 0
      order.lookForLeft()
      order.endPutOff()
      conflicts.forget()
      return before + (await begin())
    },
    async start() {
      isOver = false
      pauses.allow(true)
      order.lookForLeft()
      await loop.start()
    },
    async stop({ isDraining }) {
      pauses.allow(false)
      isOver = !isDraining
      const ended = loop.stop().then(() => (isDraining ? begin() : 0))
      await waitAtMost(ended, DRAINED_WITHIN_MS).catch(() => undefined)
      isOver = true
    },
  }
}

/**
 * Which file is next: one that another process has left, when these are to be looked for; one that was
 * put off, when its time has come; one of its own.
 */
function createFileOrder({ spool, log }: Pick<HitReplayDeps, 'spool' | 'log'>) {
  /** From when on files of others are looked for. */
  let leftFrom = Number.NEGATIVE_INFINITY
  /** What a process before this one took is left. */
  let isBeginning = true
  /** Undefined: no hits are known to be deferred. */
  let putOffUntil: number | undefined

  async function next(): Promise<FileInWork | undefined> {
    const nowMs = performance.now()
    if (nowMs >= leftFrom) {
      const left = await nextLeft()
      if (left !== undefined) return { ...left, wasPutOff: false }
      leftFrom = nowMs + SWEEP_MS
    }
    const putOff = await nextPutOff()
    const file = putOff ?? (await spool.takeOwn())
    return file === undefined ? undefined : { ...file, wasPutOff: file === putOff }
  }

  /** Those that cannot be had now wait for the next sweep, and its own do not wait for them. */
  async function nextLeft(): Promise<SpooledHits | undefined> {
    try {
      const left = await spool.takeLeft({ isBeginning })
      if (left === undefined) isBeginning = false
      return left
    } catch (error) {
      log.warn({ err: error }, 'spool.failed')
      return undefined
    }
  }

  async function nextPutOff(): Promise<SpooledHits | undefined> {
    if (putOffUntil === undefined || performance.now() < putOffUntil) return undefined
    const file = await spool.takePutOff()
    if (file === undefined) putOffUntil = undefined
    return file
  }

  return {
    next,
    lookForLeft(): void {
      leftFrom = Number.NEGATIVE_INFINITY
    },
    /** What comes in meanwhile does not delay what waits. */
    notePutOff({ isAgain }: { readonly isAgain: boolean }): void {
      if (isAgain || putOffUntil === undefined) putOffUntil = performance.now() + PUT_OFF_MS
    },
    /** The time of what was put off has come. */
    endPutOff(): void {
      if (putOffUntil !== undefined) putOffUntil = performance.now()
    },
  }
}

/** Pauses between transactions, while somebody is there and little waits. */
function createPauses(spool: Pick<HitSpool, 'givenCount' | 'bytes'>) {
  let isAllowed = true
  let seenCount = 0
  return {
    allow(isSo: boolean): void {
      isAllowed = isSo
    },
    async after(tookMs: number): Promise<void> {
      const isAnybodyThere = spool.givenCount !== seenCount
      seenCount = spool.givenCount
      if (!isAllowed || !isAnybodyThere || spool.bytes > UNHURRIED_BYTES_MAX) return
      await delay(Math.min(tookMs, PAUSE_MS_MAX))
    },
  }
}

/** Says what came of each hit of a file. */
function hitOutcomes({ log, observe }: HitReplayDeps) {
  return {
    observe: (hit: Hit, { kind }: Pick<HitOutcome, 'kind'>) => observe(hit, kind),
    refuse(hit: Hit, error: unknown) {
      log.error({ err: error, tenant_id: hit.tenantId, ref_id: hit.refId }, 'hit.refused')
      observe(hit, 'refused')
    },
  }
}

function logRecorded(
  log: Logger,
  { hits, unreadable }: FileInWork,
  { refused, late }: RecordedFile,
): void {
  log.info(
    { hits: hits.length, refused: refused.length, put_off: late.length, unreadable },
    'spool_file.recorded',
  )
  if (unreadable > 0) log.error({ lines: unreadable }, 'hits.unreadable')
}
