/**
 * One open stream. What its reader does not take is kept up to a bound; beyond it events are left out, and
 * counted, until the reader has taken what was kept. Then it is told how many they were.
 */
import { Readable } from 'node:stream'
import { isLarge, type Loan } from './frame-memory.ts'
import { type FeedFilters, type Frame, gapFrame, openingFrame, silenceFrame } from './frames.ts'

export interface Subscriber {
  readonly tenantId: string
  readonly filters: FeedFilters
  readonly stream: Readable
  /** It has had everything up to this mark. Set when it joins the others. */
  sinceSeq: number
  isClosed(): boolean
  /** Leaves the event out when the reader is too slow, or where there is no memory for it. */
  send(frame: Frame, loan: Loan | undefined): void
  /** Waits for a slow reader. The loan is of all frames together. */
  sendAll(frames: readonly Frame[], loan: Loan): Promise<void>
  /** Waits until the reader has taken nearly all. */
  untilRoom(): Promise<void>
  /** Gives up the memory of what its reader has taken. */
  giveBackTaken(): void
  sendGap(gap: { readonly reason: string; readonly count: number | null }): void
  /** Tells gaps and silence, when it is time to. */
  tick(nowMs: number): void
  /** At once, also while the reader is slow. */
  end(): void
}

/**
 * Of events that wait for one reader. Streams share the bytes of an event: slow readers that wait with the same
 * events take no more than one. Large events are counted besides (frame-memory.ts).
 */
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
  /** What the connection has not passed on yet. */
  readonly unsentOctets: () => number
}): Subscriber {
  const { stream, untilTaken } = createStream()
  let missed = 0
  let lastMs = o.monotonicMs()
  let written = 0
  /** In the order of the stream, each up to an octet of it. */
  const loans: { readonly end: number; readonly loan: Loan }[] = []
  const isClosed = () => stream.destroyed || stream.readableEnded
  const waitingOctets = () => stream.readableLength + o.unsentOctets()

  function write(bytes: Buffer): void {
    if (isClosed()) return
    stream.push(bytes)
    written += bytes.length
    lastMs = o.monotonicMs()
  }

  function writeFrame(frame: Frame, loan: Loan): void {
    if (isClosed()) return
    write(frame.bytes(o.mayReadContent))
    if (!isLarge(frame.key.octets)) return
    loan.keep()
    loans.push({ end: written, loan })
  }

  function giveBackUpTo(octet: number): void {
    for (let [first] = loans; first !== undefined && first.end <= octet; [first] = loans) {
      loans.shift()
      first.loan.leave()
    }
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
    send(frame, loan) {
      if (!frame.fits(o.filters)) return
      const waiting = waitingOctets()
      // Once something was left out, the rest is too until there is room again: few gaps, not many.
      if (loan === undefined || waiting > (missed > 0 ? ROOM_OCTETS : WAITING_OCTETS_MAX)) {
        missed += 1
        return
      }
      tellGap()
      writeFrame(frame, loan)
    },
    async sendAll(frames, loan) {
      for (const frame of frames) {
        await subscriber.untilRoom()
        if (frame.fits(o.filters)) writeFrame(frame, loan)
      }
    },
    async untilRoom() {
      while (waitingOctets() > ROOM_OCTETS && !isClosed()) await untilTaken()
    },
    giveBackTaken: () => giveBackUpTo(written - waitingOctets()),
    sendGap: (gap) => write(gapFrame(gap)),
    tick(nowMs) {
      subscriber.giveBackTaken()
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
  stream.once('close', () => giveBackUpTo(written))
  write(openingFrame)
  return subscriber
}

function createStream() {
  let onTaken: (() => void) | undefined
  const stream = new Readable({ read: () => onTaken?.(), highWaterMark: ROOM_OCTETS })
  return {
    stream,
    /** Answers when the reader has taken something. What the connection passes on is looked at now and then. */
    untilTaken: (): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ROOM_CHECK_MS)
        onTaken = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
  }
}
