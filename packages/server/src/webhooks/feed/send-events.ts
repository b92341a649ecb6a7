/** Sends the events between two marks to the open streams that may have them, a piece at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Db } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import {
  type FeedKey,
  type FeedPlace,
  fromTheFirst,
  type MadeMark,
  type Mark,
  readFeedKeys,
} from './feed-store.ts'
import { type FrameMemory, isLarge, type Loan } from './frame-memory.ts'
import { mayFit } from './frames.ts'
import { inPieces, readFrames } from './read-frames.ts'
import type { Subscriber } from './subscriber.ts'
import type { Subscribers } from './subscribers.ts'

const PAGE = 500
/** Of bodies that are read together. */
const PIECE_OCTETS = 2 * 1024 * 1024
const TURN_OCTETS = 128 * 1024
export const backMs = 24 * 3_600_000

/** A mark whose events are being sent. */
export interface OpenMark {
  readonly mark: MadeMark
  /** Sent up to here. A pass that failed goes on from it. */
  after: FeedPlace
}

export interface EventSenderDeps {
  readonly db: Db
  readonly memory: FrameMemory
  readonly subscribers: Subscribers
}

export interface EventSender {
  /** Answers with the mark once all before it is sent. */
  sendUpTo(from: Mark, next: OpenMark): Promise<Mark>
  /** Whether there is an event between the two for any open stream. */
  hasEvents(from: Mark, later: MadeMark['snapshot']): Promise<boolean>
}

export function createEventSender({ db, memory, subscribers }: EventSenderDeps): EventSender {
  async function sendPiece(keys: readonly FeedKey[], seq: number): Promise<void> {
    const takersOf = (key: FeedKey): Subscriber[] =>
      [...subscribers.ofTenant(key.tenantId)].filter(
        ({ sinceSeq, filters }) => sinceSeq < seq && mayFit(key, filters),
      )
    const wanted = keys.filter((key) => takersOf(key).length > 0)
    let octets = 0
    for (const frame of await readFrames(db, wanted)) {
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
      for (const subscriber of subscribers.ofTenant(tenantId)) subscriber.giveBackTaken()
    return memory.lend(tenantId, octets)
  }

  function readKeys(from: Mark, later: MadeMark['snapshot'], after: FeedPlace, limit: number) {
    return readFeedKeys(db, {
      tenantIds: subscribers.tenantIds(),
      earlier: from.snapshot,
      later,
      after,
      idMin: oldestId(),
      limit,
    })
  }

  return {
    async sendUpTo(from, next) {
      for (;;) {
        const keys = await readKeys(from, next.mark.snapshot, next.after, PAGE)
        for (const piece of inPieces(keys, PIECE_OCTETS)) {
          await sendPiece(piece, next.mark.seq)
          next.after = piece.at(-1) ?? next.after
        }
        if (keys.length < PAGE) return next.mark
      }
    },
    async hasEvents(from, later) {
      return (await readKeys(from, later, fromTheFirst, 1)).length > 0
    },
  }
}

/** An hour more than streams go back. */
export function oldestId(nowMs = Date.now()): string {
  return `evt_${ulidAtTime(nowMs - backMs - 3_600_000)}`
}
