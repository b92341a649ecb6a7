/**
 * Puts the guard (wire-guard.ts) between the connection of an IMAP client and its parser, behind TLS.
 *
 * A server that breaks a bound is disconnected: nothing of that piece is parsed. Once the login is done
 * each piece is read in a turn of its own, and a connection that has had its share of CPU waits
 * (platform/limits/work-limiter.ts): then its socket is not read either. Until then nothing waits, for what waits beside
 * STARTTLS could pass for having come over TLS. Small pieces of a literal, and after the login of a line,
 * are gathered: a million of them costs a hundred times their size.
 */
import type { ImapFlow } from 'imapflow'
import { createWorkLimiter } from '../../../platform/limits/work-limiter.ts'
import { createWireGuard, IMAP_BOUNDS, type ImapBound } from './wire-guard.ts'

/** The code of the error with which a connection ends that has broken a bound. */
export const BOUND_BROKEN = 'ImapBoundBroken'

export interface GuardedClient {
  /** The login is done: from now on its work is limited. */
  begin(): void
  beginCommand(o: { readonly isForMessages: boolean }): void
  /** With which the connection has ended, where its server broke a bound. */
  readonly broken: Error | undefined
  /** For how long it has waited since the command began. */
  readonly waitedMs: number
}

export interface GuardOptions {
  readonly messageBytesMax: number
  readonly onBroken: (bound: ImapBound) => void
}

/** Of anything but a message: the header of one has as much, of the servers that take most. */
const HEADER_BYTES_MAX = 1024 * 1024
/** Two seconds of CPU in any ten. */
export const READING_LIMITS = { burstMicros: 1_000_000, microsPerSecond: 100_000 } as const
const GATHERED_BYTES = 16 * 1024
const LF = 0x0a

type Next = (error?: Error | null) => void

/** What the client calls its streamer: a Transform that is its parser. */
interface Streamer {
  _transform(chunk: Buffer, encoding: BufferEncoding, next: Next): void
  destroy(error: Error): unknown
  once(event: 'close', listener: () => void): unknown
}

export function guardClient(client: ImapFlow, o: GuardOptions): GuardedClient {
  const streamer = streamerOf(client)
  const parse = streamer._transform.bind(streamer)
  const guard = createWireGuard()
  const limiter = createWorkLimiter({ ...READING_LIMITS, monotonicMs: () => performance.now() })
  const headerBytesMax = Math.min(o.messageBytesMax, HEADER_BYTES_MAX)
  let isLimited = false
  let waitedMs = 0
  let broken: Error | undefined
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  let timer: NodeJS.Timeout | undefined
  let afterWait: Next | undefined

  function rest(next: Next): void {
    const ms = limiter.spend(guard.costUs)
    if (ms === 0) {
      setImmediate(next)
      return
    }
    waitedMs += ms
    afterWait = next
    timer = setTimeout(goOn, ms)
  }

  function goOn(): void {
    clearTimeout(timer)
    const next = afterWait
    afterWait = undefined
    next?.()
  }

  function gather(chunk: Buffer, isWithin: boolean): Buffer | undefined {
    if (isWithin && gatheredBytes + chunk.length < GATHERED_BYTES) {
      // A copy, for a piece may hold on to much more memory than it has bytes.
      gathered.push(Buffer.from(chunk))
      gatheredBytes += chunk.length
      if (gathered.length >= 64) gathered = [Buffer.concat(gathered, gatheredBytes)]
      return undefined
    }
    if (gatheredBytes === 0) return chunk
    const whole = Buffer.concat([...gathered, chunk])
    gathered = []
    gatheredBytes = 0
    return whole
  }

  streamer._transform = (chunk, encoding, next) => {
    const isInLine = isLimited && guard.literalLeft === 0 && !chunk.includes(LF)
    const isWithin = isInLine || guard.literalLeft > chunk.length
    const bound = guard.inspect(chunk)
    if (bound !== undefined) {
      o.onBroken(bound)
      const message = `The mail server broke the bound ${bound}: ${IMAP_BOUNDS[bound]}`
      broken = Object.assign(new Error(message), { code: BOUND_BROKEN })
      streamer.destroy(broken)
      next()
      return
    }
    const done: Next = isLimited ? () => rest(next) : next
    const whole = gather(chunk, isWithin)
    if (whole === undefined) done()
    else parse(whole, encoding, done)
  }
  streamer.once('close', goOn)
  guard.beginCommand({ contentBytesMax: headerBytesMax, isForMessages: false })

  return {
    get broken() {
      return broken
    },
    get waitedMs() {
      return waitedMs
    },
    begin() {
      isLimited = true
      guard.begin()
    },
    beginCommand({ isForMessages }) {
      waitedMs = 0
      const contentBytesMax = isForMessages ? o.messageBytesMax : headerBytesMax
      guard.beginCommand({ contentBytesMax, isForMessages })
    },
  }
}

function streamerOf(client: ImapFlow): Streamer {
  const streamer: unknown = Reflect.get(client, 'streamer')
  if (typeof streamer !== 'object' || streamer === null || !('_transform' in streamer))
    throw new Error('imapflow keeps its parser elsewhere')
  return streamer as Streamer
}
