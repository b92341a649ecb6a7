/**
 * The one reader of a process for all its open streams (docs/adr/0024-stream-events-between-two-snapshots.md).
 *
 * A pass follows the marks of other processes, then looks for events that were committed since the last mark.
 * Where there are some, it writes the next mark, and only then sends them: a reader that comes back with
 * the id of an event finds the same order. A pass that failed goes on where it was: no stream gets an event twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Service } from '@postrider/runtime/service'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import { createLoop } from '../../platform/work/loop.ts'
import {
  addMark,
  type FeedKey,
  type FeedPlace,
  fromTheFirst,
  type MadeMark,
  type Mark,
  readFeedKeys,
  readLastMark,
  readMarksAfter,
} from './feed-store.ts'
import { type FrameMemory, isLarge, type Loan } from './frame-memory.ts'
import { mayFit } from './frames.ts'
import { inPieces, readFrames } from './read-frames.ts'
import type { Subscriber } from './subscriber.ts'

export interface FeedHub extends Service {
  /** From now on; answers when each event that is committed from then on will be sent. */
  joinNow(subscriber: Subscriber): Promise<void>
  /** With everything up to a mark; false: there are later ones already. */
  joinAt(subscriber: Subscriber, seq: number): Promise<boolean>
  /** Answers when there is a mark that sees all that is committed now. */
  mark(): Promise<void>
  /** Of those that are open. */
  endAll(): void
  readonly subscribers: ReadonlySet<Subscriber>
}

const PASS_MS = 200
const PAGE = 500
/** Of bodies that are read together. */
const PIECE_OCTETS = 2 * 1024 * 1024
const TURN_OCTETS = 128 * 1024
const MARKS_AT_ONCE = 100
const ROUNDS_MAX = 100
export const backMs = 24 * 3_600_000

interface Joiner {
  /** Undefined: now. */
  readonly subscriber: Subscriber | undefined
  readonly seq: number | undefined
  readonly resolve: (isJoined: boolean) => void
  readonly reject: (error: unknown) => void
}

interface Open {
  readonly mark: MadeMark
  /** Sent up to here. */
  after: FeedPlace
}

export interface FeedHubDeps {
  readonly db: Db
  readonly log: Logger
  readonly memory: FrameMemory
}

export function createFeedHub(o: FeedHubDeps): FeedHub {
  const subscribers = new Set<Subscriber>()
  const byTenant = new Map<string, Set<Subscriber>>()
  let joiners: Joiner[] = []
  let position: Mark | undefined
  /** The mark after the position, while its events are being sent. */
  let open: Open | undefined

  function leave(subscriber: Subscriber): void {
    subscribers.delete(subscriber)
    const own = byTenant.get(subscriber.tenantId)
    own?.delete(subscriber)
    if (own?.size === 0) byTenant.delete(subscriber.tenantId)
  }

  function admit(subscriber: Subscriber, seq: number): void {
    if (subscriber.isClosed()) return
    subscriber.sinceSeq = seq
    subscribers.add(subscriber)
    const own = byTenant.get(subscriber.tenantId) ?? new Set()
    byTenant.set(subscriber.tenantId, own.add(subscriber))
    subscriber.stream.once('close', () => leave(subscriber))
  }

  function endAll(): void {
    for (const subscriber of subscribers) {
      subscriber.end()
      leave(subscriber)
    }
    for (const joiner of joiners) joiner.reject(new ApiError('unavailable', { retryAfterS: 1 }))
    joiners = []
  }

  /** Those that have what the others have join them; those of an older mark read on by themselves. */
  function admitCaughtUp(here: Mark): void {
    const latest = open?.mark.seq ?? here.seq
    const waiting = joiners
    joiners = waiting.filter(({ seq }) => seq === undefined)
    for (const { subscriber, seq, resolve } of waiting) {
      if (seq === undefined) continue
      const isCaughtUp = seq >= latest
      if (isCaughtUp && subscriber !== undefined) admit(subscriber, seq)
      resolve(isCaughtUp)
    }
  }

  async function sendUpTo(from: Mark, next: Open): Promise<Mark> {
    for (;;) {
      const tenantIds = [...byTenant.keys()]
      const keys = await readFeedKeys(o.db, {
        tenantIds,
        earlier: from.snapshot,
        later: next.mark.snapshot,
        after: next.after,
        idMin: oldestId(),
        limit: PAGE,
      })
      for (const piece of inPieces(keys, PIECE_OCTETS)) {
        await sendPiece(piece, next.mark.seq)
        next.after = piece.at(-1) ?? next.after
      }
      if (keys.length < PAGE) return next.mark
    }
  }

  async function sendPiece(keys: readonly FeedKey[], seq: number): Promise<void> {
    const takersOf = (key: FeedKey) =>
      [...(byTenant.get(key.tenantId) ?? [])].filter(
        ({ sinceSeq, filters }) => sinceSeq < seq && mayFit(key, filters),
      )
    const wanted = keys.filter((key) => takersOf(key).length > 0)
    let octets = 0
    for (const frame of await readFrames(o.db, wanted)) {
      const loan = lend(frame.key)
      for (const subscriber of takersOf(frame.key)) subscriber.send(frame, loan)
      loan?.leave()
      octets += frame.key.octets
      if (octets < TURN_OCTETS) continue
      octets = 0
      // A turn of the event loop, in which what was sent goes out to those who read.
      await nextTurn()
    }
  }

  function lend({ tenantId, octets }: FeedKey): Loan | undefined {
    if (isLarge(octets))
      for (const subscriber of byTenant.get(tenantId) ?? []) subscriber.giveBackTaken()
    return o.memory.lend(tenantId, octets)
  }

  async function follow(here: Mark): Promise<Mark> {
    let at = here
    for (;;) {
      const marks = await readMarksAfter(o.db, at.seq, MARKS_AT_ONCE)
      for (const mark of marks) {
        open ??= { mark, after: fromTheFirst }
        at = position = await sendUpTo(at, open)
        open = undefined
      }
      if (marks.length < MARKS_AT_ONCE) return at
    }
  }

  /** True: there is nothing more to do now. */
  async function goOn(from: Mark): Promise<boolean> {
    const here = await follow(from)
    // Before the snapshot is taken, which then sees all that was committed when they came.
    const fresh = joiners.filter(({ seq }) => seq === undefined)
    const { current, last, own } = await readLastMark(o.db, here.seq)
    if (here.snapshot !== undefined && own !== here.snapshot.text) {
      // A restored database, say. Those who come back find their place by themselves.
      o.log.warn({ seq: here.seq }, 'event_stream.order_lost')
      position = undefined
      endAll()
      return true
    }
    if (last.seq !== here.seq) return false
    const hasNew = fresh.length > 0 || (await hasEvents(here, current))
    if (!hasNew) return true
    const mark = { seq: here.seq + 1, snapshot: current }
    if (!(await addMark(o.db, mark.seq, current))) return false
    open = { mark, after: fromTheFirst }
    position = await sendUpTo(here, open)
    open = undefined
    joiners = joiners.filter((joiner) => !fresh.includes(joiner))
    for (const { subscriber, resolve } of fresh) {
      if (subscriber !== undefined) admit(subscriber, mark.seq)
      resolve(true)
    }
    return true
  }

  async function hasEvents({ snapshot }: Mark, current: MadeMark['snapshot']): Promise<boolean> {
    const tenantIds = [...byTenant.keys()]
    const look = { tenantIds, earlier: snapshot, later: current, after: fromTheFirst, limit: 1 }
    return (await readFeedKeys(o.db, { ...look, idMin: oldestId() })).length > 0
  }

  async function pass(): Promise<void> {
    if (subscribers.size === 0 && joiners.length === 0) {
      position = open = undefined
      return
    }
    try {
      position ??= (await readLastMark(o.db, 0)).last
      admitCaughtUp(position)
      for (let round = 0; round < ROUNDS_MAX; round++) if (await goOn(position)) return
    } catch (error) {
      const waiting = joiners
      joiners = []
      for (const joiner of waiting) joiner.reject(error)
      throw error
    }
  }

  const loop = createLoop({
    name: 'event streams',
    log: o.log,
    failed: 'event_streams.failed',
    sweepMs: PASS_MS,
    restFactor: 2,
    backOffMsMax: 2_000,
    pass,
  })

  function join(subscriber: Subscriber | undefined, seq: number | undefined): Promise<boolean> {
    return new Promise((resolve, reject) => {
      joiners.push({ subscriber, seq, resolve, reject })
      loop.wake()
    })
  }

  return {
    ...loop,
    subscribers,
    endAll,
    async joinNow(subscriber) {
      await join(subscriber, undefined)
    },
    joinAt: (subscriber, seq) => join(subscriber, seq),
    async mark() {
      await join(undefined, undefined)
    },
    async stop() {
      endAll()
      await loop.stop()
    },
  }
}

/** An hour more than streams go back. */
export function oldestId(nowMs = Date.now()): string {
  return `evt_${ulidAtTime(nowMs - backMs - 3_600_000)}`
}
