/**
 * The one reader of a process for all its open streams (docs/adr/0024-stream-events-between-two-snapshots.md).
 *
 * A pass follows the marks of other processes, then looks for events that were committed since the last mark.
 * Where there are some, it writes the next mark, and only then sends them: a reader that comes back with
 * the id of an event finds the same order. A pass that failed goes on where it was: no stream gets an event twice.
 */
import type { Service } from '@postrider/runtime/service'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import { createLoop } from '../../platform/work/loop.ts'
import { addMark, fromTheFirst, type Mark, readLastMark, readMarksAfter } from './feed-store.ts'
import type { FrameMemory } from './frame-memory.ts'
import { createJoiners } from './joiners.ts'
import { createEventSender, type OpenMark } from './send-events.ts'
import type { Subscriber } from './subscriber.ts'
import { createSubscribers } from './subscribers.ts'

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
const MARKS_AT_ONCE = 100
const ROUNDS_MAX = 100

export interface FeedHubDeps {
  readonly db: Db
  readonly log: Logger
  readonly memory: FrameMemory
}

export function createFeedHub(o: FeedHubDeps): FeedHub {
  const subscribers = createSubscribers()
  const sender = createEventSender({ db: o.db, memory: o.memory, subscribers })
  const joiners = createJoiners(subscribers)
  let position: Mark | undefined
  /** The mark after the position, while its events are being sent. */
  let open: OpenMark | undefined

  function endAll(): void {
    subscribers.endAll()
    joiners.rejectAll(new ApiError('unavailable', { retryAfterS: 1 }))
  }

  async function follow(here: Mark): Promise<Mark> {
    let at = here
    for (;;) {
      const marks = await readMarksAfter(o.db, at.seq, MARKS_AT_ONCE)
      for (const mark of marks) {
        open ??= { mark, after: fromTheFirst }
        at = position = await sender.sendUpTo(at, open)
        open = undefined
      }
      if (marks.length < MARKS_AT_ONCE) return at
    }
  }

  /** True: there is nothing more to do now. */
  async function goOn(from: Mark): Promise<boolean> {
    const here = await follow(from)
    // Before the snapshot is taken, which then sees all that was committed when they came.
    const fresh = joiners.freshOnes()
    const { current, last, own } = await readLastMark(o.db, here.seq)
    if (here.snapshot !== undefined && own !== here.snapshot.text) {
      // A restored database, say. Those who come back find their place by themselves.
      o.log.warn({ seq: here.seq }, 'event_stream.order_lost')
      position = undefined
      endAll()
      return true
    }
    if (last.seq !== here.seq) return false
    const hasNew = fresh.length > 0 || (await sender.hasEvents(here, current))
    if (!hasNew) return true
    const mark = { seq: here.seq + 1, snapshot: current }
    if (!(await addMark(o.db, mark.seq, current))) return false
    open = { mark, after: fromTheFirst }
    position = await sender.sendUpTo(here, open)
    open = undefined
    joiners.admit(fresh, mark.seq)
    return true
  }

  async function pass(): Promise<void> {
    if (subscribers.all.size === 0 && joiners.isEmpty()) {
      position = open = undefined
      return
    }
    try {
      position ??= (await readLastMark(o.db, 0)).last
      joiners.admitCaughtUp(open?.mark.seq ?? position.seq)
      for (let round = 0; round < ROUNDS_MAX; round++) if (await goOn(position)) return
    } catch (error) {
      joiners.rejectAll(error)
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
      joiners.add({ subscriber, seq, resolve, reject })
      loop.wake()
    })
  }

  return {
    ...loop,
    subscribers: subscribers.all,
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
