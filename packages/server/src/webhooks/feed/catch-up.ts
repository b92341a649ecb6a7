/**
 * What a reader that comes back has missed: it is read mark by mark, in the order in which it was sent to
 * others, until the stream can join them. A slow reader is waited for; what it waits with is one page.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db } from '../../platform/db/index.ts'
import { isId, timeOfUlid } from '../../platform/ids.ts'
import type { FeedHub } from './feed-hub.ts'
import {
  type FeedKey,
  type FeedPlace,
  fromTheFirst,
  locateEvent,
  type MadeMark,
  type Mark,
  readFeedKeys,
  readMarkAt,
  readMarkBefore,
  readMarksAfter,
} from './feed-store.ts'
import type { FrameMemory, Loan } from './frame-memory.ts'
import { mayFit } from './frames.ts'
import { inPieces, readFrames } from './read-frames.ts'
import { backMs, oldestId } from './send-events.ts'
import { sees } from './snapshot.ts'
import type { Subscriber } from './subscriber.ts'

export interface CatchUpDeps {
  readonly db: Db
  readonly hub: Pick<FeedHub, 'mark' | 'joinAt'>
  /** Of reads for streams that come back. */
  readonly limiter: ConcurrencyLimiter
  readonly memory: FrameMemory
}

/** Where a stream goes on: behind a place among the events that follow a mark. */
interface Cursor {
  mark: Mark
  after: FeedPlace
}

const PAGE = 200
const PIECE_OCTETS = 64 * 1024
const MARKS_AT_ONCE = 1_000
const MEMORY_CHECK_MS = 100
/** By how much clocks may differ. */
const CLOCKS_MS = 10 * 60_000

/** Sends what follows the event, and joins. Ends early when the stream is closed. */
export async function catchUp(
  deps: CatchUpDeps,
  subscriber: Subscriber,
  lastEventId: string,
): Promise<void> {
  const cursor = await findPlace(deps, subscriber, lastEventId)
  let marksMax = MARKS_AT_ONCE
  while (!subscriber.isClosed()) {
    const marks = await limited(deps, subscriber, () =>
      readMarksAfter(deps.db, cursor.mark.seq, marksMax),
    )
    if (marks.length > 0) marksMax = await sendBetween(deps, subscriber, cursor, marks)
    else if (await deps.hub.joinAt(subscriber, cursor.mark.seq)) return
  }
}

function limited<T>(
  { limiter }: CatchUpDeps,
  { tenantId }: Subscriber,
  work: () => Promise<T>,
): Promise<T> {
  return limiter.run(tenantId, work)
}

async function findPlace(
  deps: CatchUpDeps,
  subscriber: Subscriber,
  lastEventId: string,
): Promise<Cursor> {
  const { db } = deps
  const oldest = new Date(Date.now() - backMs)
  const place = await limited(deps, subscriber, async () => {
    if (!isId('evt', lastEventId) || timeOfUlid(lastEventId) < oldest) return undefined
    return await locateEvent(db, subscriber.tenantId, lastEventId)
  })
  // A mark that sees it is there from now on.
  await deps.hub.mark()
  if (place !== undefined) {
    const since = new Date(timeOfUlid(lastEventId).getTime() - CLOCKS_MS)
    return { mark: await readMarkBefore(db, place.xact, since), after: place }
  }
  subscriber.sendGap({ reason: 'unknown_event', count: null })
  return { mark: await readMarkAt(db, oldest), after: fromTheFirst }
}

/**
 * Sends the events up to one of the marks: of many marks together where they have few, else of the next one
 * in pages. Answers how many marks to look at next.
 */
async function sendBetween(
  deps: CatchUpDeps,
  subscriber: Subscriber,
  cursor: Cursor,
  marks: readonly MadeMark[],
): Promise<number> {
  const isWithin = cursor.after !== fromTheFirst
  const until = marks[isWithin ? 0 : marks.length - 1]
  if (until === undefined) return MARKS_AT_ONCE
  const keys = await limited(deps, subscriber, () =>
    readFeedKeys(deps.db, {
      tenantIds: [subscriber.tenantId],
      earlier: cursor.mark.snapshot,
      later: until.snapshot,
      after: cursor.after,
      idMin: oldestId(),
      limit: PAGE,
    }),
  )
  const isAll = keys.length < PAGE
  const isOne = until === marks[0]
  if (!isAll && !isOne) return Math.max(1, Math.floor(marks.length / 4))
  await sendKeys(deps, subscriber, isOne ? keys : inOrder(keys, marks))
  cursor.after = isAll ? fromTheFirst : (keys.at(-1) ?? fromTheFirst)
  if (isAll) cursor.mark = until
  return Math.min(MARKS_AT_ONCE, marks.length * 4)
}

/** Each behind those of the marks before its own. */
function inOrder(keys: readonly FeedKey[], marks: readonly MadeMark[]): FeedKey[] {
  const places = new Map(
    keys.map((key) => [key, marks.findIndex(({ snapshot }) => sees(snapshot, key.xact))]),
  )
  // Within a mark the order stays.
  return keys.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
}

async function sendKeys(
  deps: CatchUpDeps,
  subscriber: Subscriber,
  keys: readonly FeedKey[],
): Promise<void> {
  const wanted = keys.filter((key) => mayFit(key, subscriber.filters))
  for (const piece of inPieces(wanted, PIECE_OCTETS)) {
    const loan = await borrow(deps, subscriber, piece)
    if (loan === undefined) return
    try {
      const frames = await limited(deps, subscriber, () => readFrames(deps.db, piece))
      await subscriber.sendAll(frames, loan)
    } finally {
      loan.leave()
    }
  }
}

/** Waits for the reader first, so that nothing is read that would wait for it. Undefined: the stream is closed. */
async function borrow(
  { memory }: CatchUpDeps,
  subscriber: Subscriber,
  piece: readonly FeedKey[],
): Promise<Loan | undefined> {
  const octets = piece.reduce((sum, key) => sum + key.octets, 0)
  for (;;) {
    await subscriber.untilRoom()
    if (subscriber.isClosed()) return undefined
    subscriber.giveBackTaken()
    const loan = memory.lend(subscriber.tenantId, octets)
    if (loan !== undefined) return loan
    await pause(MEMORY_CHECK_MS)
  }
}
