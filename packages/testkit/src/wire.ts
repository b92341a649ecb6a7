/**
 * The two directions of one connection of a scripted server: bytes in, answers out.
 *
 * Answers leave strictly in order: while one is held back (a delay, a drip, a promise), what has been
 * pipelined behind it waits. All answers to one chunk of input leave in one write.
 */
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

/** How an answer leaves, and what follows it. */
export interface WireAction {
  /** Written as it is instead of, or after, the reply. After a `220` to STARTTLS it is in clear. */
  readonly raw?: string | Buffer
  /** Holds the reply back until this settles: a promise of the test. */
  readonly after?: Promise<unknown>
  readonly delayMs?: number
  /** One byte every so many milliseconds. */
  readonly dripMs?: number
  /** Again and again, without end. */
  readonly endless?: boolean
  /** What follows the reply. A FIN or a hang without a reply needs only this. */
  readonly ending?: 'continue' | 'fin' | 'rst' | 'hang'
}

export interface WireOptions {
  readonly socket: Socket
  /** TLS from the first byte. */
  readonly implicitTls: SecureContext | undefined
  /** Takes from the input what it can; answers how many bytes that were, 0 when it needs more. */
  readonly onInput: (input: Buffer) => number
  readonly onSecure: () => void
  readonly onClose: () => void
}

export interface Answer extends WireAction {
  readonly lines: readonly string[]
  /** Just before it is given, which may be a good while from now. */
  readonly onGiving: () => void
  readonly onGiven: () => void
  /** When it has been handed to the kernel. */
  readonly onFlushed?: (() => void) | undefined
}

export interface Wire {
  /** An answer is still under way: nothing further is read. */
  readonly isHeld: boolean
  isSecure(): boolean
  answer(answer: Answer): void
  startTls(context: SecureContext): void
}

const FLOOD_PIECES = 500

/** The socket of now, and what ends with it. */
interface Line {
  socket: Socket
  isClosed: boolean
  readonly timers: Set<NodeJS.Timeout>
}

/** What is told of a socket. */
interface Ears {
  readonly onData: (chunk: Buffer) => void
  readonly onEnd: () => void
  readonly onClose: () => void
}

export function openWire(o: WireOptions): Wire {
  const line: Line = { socket: o.socket, isClosed: false, timers: new Set() }
  const output = createOutput(line)
  let input: Buffer = Buffer.alloc(0)
  let isHeld = false
  // Set once nothing will be answered any more: input is read and thrown away.
  let isDeaf = false

  const ears: Ears = {
    onData(chunk) {
      if (isDeaf) return
      input = input.length === 0 ? chunk : Buffer.concat([input, chunk])
      work()
    },
    onEnd: () => void line.socket.end(),
    onClose() {
      line.isClosed = true
      for (const timer of line.timers) clearInterval(timer)
      o.onClose()
    },
  }
  if (o.implicitTls === undefined) listen(line.socket, ears)
  else secure(line, ears, o.implicitTls, o.onSecure)

  function work(): void {
    while (!isHeld && !line.isClosed && input.length > 0) {
      const used = o.onInput(input)
      if (used === 0) break
      input = input.subarray(used)
    }
    output.flush()
  }

  function answer(what: Answer): void {
    isHeld = true
    if (what.after === undefined && what.delayMs === undefined) {
      give(what)
      return
    }
    output.flush()
    const giveAndGoOn = (): void => {
      if (line.isClosed) return
      give(what)
      work()
    }
    if (what.delayMs !== undefined) line.timers.add(setTimeout(giveAndGoOn, what.delayMs))
    else void what.after?.then(giveAndGoOn, giveAndGoOn)
  }

  function give(what: Answer): void {
    what.onGiving()
    const goOn = (): void => {
      isHeld = false
      what.onGiven()
      end(what.ending ?? 'continue')
    }
    const goOnLater = (): void => {
      goOn()
      work()
    }
    writeAnswer(output, what, { goOn, goOnLater })
  }

  function end(how: 'continue' | 'fin' | 'rst' | 'hang'): void {
    if (how === 'continue') return
    isHeld = true
    isDeaf = true
    input = Buffer.alloc(0)
    output.flush()
    if (how === 'fin') line.socket.end()
    // What is written must have left this process, or the reset would throw it away.
    if (how === 'rst') line.socket.write('', () => o.socket.resetAndDestroy())
  }

  return {
    get isHeld() {
      return isHeld
    },
    isSecure: () => line.socket instanceof TLSSocket,
    answer(what) {
      answer(what)
      // Outside of `work`, as the greeting is.
      if (input.length === 0) output.flush()
    },
    startTls(context) {
      output.flush()
      // What came in clear behind STARTTLS is thrown away, as it must be (RFC 3207 §4.2).
      input = Buffer.alloc(0)
      secure(line, ears, context, o.onSecure)
    },
  }
}

function listen(socket: Socket, { onData, onEnd, onClose }: Ears): void {
  socket.on('data', onData)
  socket.on('close', onClose)
  socket.on('end', onEnd)
  socket.on('error', () => socket.destroy())
}

function secure(line: Line, ears: Ears, secureContext: SecureContext, onSecure: () => void): void {
  const bare = line.socket
  bare.off('data', ears.onData)
  bare.off('close', ears.onClose)
  bare.off('end', ears.onEnd)
  bare.on('error', () => bare.destroy())
  line.socket = new TLSSocket(bare, { isServer: true, secureContext })
  line.socket.once('secure', onSecure)
  listen(line.socket, ears)
}

/** Goes on at once, or later once all has dripped; never after what is endless. */
function writeAnswer(
  output: Output,
  { dripMs, endless, lines, onFlushed, raw }: Answer,
  o: { readonly goOn: () => void; readonly goOnLater: () => void },
): void {
  const text = lines.map((one) => `${one}\r\n`).join('')
  if (endless === true) {
    output.flood(Buffer.from(raw ?? text))
  } else if (dripMs !== undefined) {
    output.drip(Buffer.concat([Buffer.from(text), Buffer.from(raw ?? '')]), dripMs, () => {
      onFlushed?.()
      o.goOnLater()
    })
  } else {
    output.add(text, onFlushed)
    if (raw !== undefined) output.writeWith(raw)
    o.goOn()
  }
}

type Output = ReturnType<typeof createOutput>

/** How bytes leave: what is added waits for the next flush, and leaves in one write. */
function createOutput(line: Line) {
  const { timers } = line
  let waiting = ''
  let onFlushed: (() => void)[] = []

  function flush(): void {
    if (waiting === '') return
    const text = waiting
    const done = onFlushed
    waiting = ''
    onFlushed = []
    if (line.isClosed || !line.socket.writable) return
    if (done.length === 0) {
      line.socket.write(text)
      return
    }
    line.socket.write(text, (error) => {
      if (error == null) for (const tell of done) tell()
    })
  }

  return {
    flush,
    add(text: string, tell: (() => void) | undefined): void {
      waiting += text
      if (tell !== undefined) onFlushed.push(tell)
    },
    /** Sends what is waiting and these bytes in one piece. */
    writeWith(bytes: string | Buffer): void {
      const { socket } = line
      socket.cork()
      flush()
      if (socket.writable) socket.write(bytes)
      socket.uncork()
    },
    drip(bytes: Buffer, everyMs: number, onDone: () => void): void {
      flush()
      let at = 0
      const timer = setInterval(() => {
        line.socket.write(bytes.subarray(at, at + 1))
        at += 1
        if (at < bytes.length) return
        clearInterval(timer)
        timers.delete(timer)
        onDone()
      }, everyMs)
      timers.add(timer)
    },
    flood(piece: Buffer): void {
      const pieces = Buffer.concat(Array.from({ length: FLOOD_PIECES }, () => piece))
      const pour = (): void => {
        const { socket } = line
        while (!line.isClosed && socket.writable && socket.write(pieces));
        if (!line.isClosed && socket.writable) socket.once('drain', pour)
      }
      flush()
      pour()
    },
  }
}
