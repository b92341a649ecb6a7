/**
 * One open stream. What its reader does not take is kept up to a bound; beyond it events are left out, and
 * counted, until the reader has taken what was kept. Then it is told how many they were.
 */
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type FeedFilters, type Frame, gapFrame, openingFrame, silenceFrame } from './frames.ts'

export interface Subscriber {
  readonly tenantId: string
  readonly filters: FeedFilters
  readonly stream: Readable
  /** It has had everything up to this mark. Set when it joins the others. */
  sinceSeq: number
  isClosed(): boolean
  /** Leaves the event out when the reader is too slow. */
  send(frame: Frame): void
  /** Waits for a slow reader. */
  sendAll(frames: readonly Frame[]): Promise<void>
  sendGap(gap: { readonly reason: string; readonly count: number | null }): void
  /** Tells gaps and silence, when it is time to. */
  tick(nowMs: number): void
  /** At once, also while the reader is slow. */
  end(): void
}

/** Of events that wait for one reader. Streams share the bytes: many slow readers of a tenant take no more. */
const WAITING_OCTETS_MAX = 1024 * 1024
const ROOM_OCTETS = 64 * 1024
const ROOM_CHECK_MS = 100
const SILENCE_MS = 15_000

export function createSubscriber(o: {
  readonly tenantId: string
  readonly filters: FeedFilters
  readonly mayReadContent: boolean
  readonly monotonicMs: () => number
  readonly onGap: () => void
}): Subscriber {
  const stream = new Readable({ read: () => undefined, highWaterMark: ROOM_OCTETS })
  let missed = 0
  let lastMs = o.monotonicMs()
  const isClosed = () => stream.destroyed || stream.readableEnded

  function write(bytes: Buffer): void {
    if (isClosed()) return
    stream.push(bytes)
    lastMs = o.monotonicMs()
  }

  function tellGap(): void {
    if (missed === 0) return
    write(gapFrame({ reason: 'slow_reader', count: missed }))
    missed = 0
    o.onGap()
  }

  const subscriber: Subscriber = {
    tenantId: o.tenantId,
    filters: o.filters,
    stream,
    sinceSeq: 0,
    isClosed,
    send(frame) {
      if (!frame.fits(o.filters)) return
      const waiting = stream.readableLength
      // Once something was left out, the rest is too until there is room again: few gaps, not many.
      if (waiting > (missed > 0 ? ROOM_OCTETS : WAITING_OCTETS_MAX)) {
        missed += 1
        return
      }
      tellGap()
      write(frame.bytes(o.mayReadContent))
    },
    async sendAll(frames) {
      for (const frame of frames) {
        while (stream.readableLength > ROOM_OCTETS && !isClosed()) await pause(ROOM_CHECK_MS)
        if (frame.fits(o.filters)) write(frame.bytes(o.mayReadContent))
      }
    },
    sendGap: (gap) => write(gapFrame(gap)),
    tick(nowMs) {
      if (stream.readableLength > 0) return
      if (missed > 0) tellGap()
      else if (nowMs - lastMs >= SILENCE_MS) write(silenceFrame)
    },
    end() {
      if (isClosed()) return
      if (stream.readableLength > 0) stream.destroy()
      else stream.push(null)
    },
  }
  write(openingFrame)
  return subscriber
}
