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

export function openWire(o: WireOptions): Wire {
  let socket = o.socket
  let input: Buffer = Buffer.alloc(0)
  let output = ''
  let onFlushed: (() => void)[] = []
  let isHeld = false
  // Set once nothing will be answered any more: input is read and thrown away.
  let isDeaf = false
  let isClosed = false
  const timers = new Set<NodeJS.Timeout>()

  if (o.implicitTls === undefined) listen()
  else secure(o.implicitTls)

  function listen(): void {
    const current = socket
    current.on('data', onData)
    current.on('close', onClose)
    current.on('end', onEnd)
    current.on('error', () => current.destroy())
  }

  function secure(secureContext: SecureContext): void {
    const bare = socket
    bare.off('data', onData)
    bare.off('close', onClose)
    bare.off('end', onEnd)
    bare.on('error', () => bare.destroy())
    socket = new TLSSocket(bare, { isServer: true, secureContext })
    socket.once('secure', o.onSecure)
    listen()
  }

  function onData(chunk: Buffer): void {
    if (isDeaf) return
    input = input.length === 0 ? chunk : Buffer.concat([input, chunk])
    work()
  }

  function onEnd(): void {
    socket.end()
  }

  function onClose(): void {
    isClosed = true
    for (const timer of timers) clearInterval(timer)
    o.onClose()
  }

  function work(): void {
    while (!isHeld && !isClosed && input.length > 0) {
      const used = o.onInput(input)
      if (used === 0) break
      input = input.subarray(used)
    }
    flush()
  }

  function answer(what: Answer): void {
    isHeld = true
    if (what.after === undefined && what.delayMs === undefined) {
      give(what)
      return
    }
    flush()
    const giveAndGoOn = (): void => {
      if (isClosed) return
      give(what)
      work()
    }
    if (what.delayMs !== undefined) timers.add(setTimeout(giveAndGoOn, what.delayMs))
    else void what.after?.then(giveAndGoOn, giveAndGoOn)
  }

  function give(what: Answer): void {
    what.onGiving()
    const goOn = (): void => {
      isHeld = false
      what.onGiven()
      end(what.ending ?? 'continue')
    }
    const text = what.lines.map((line) => `${line}\r\n`).join('')
    if (what.endless === true) {
      flood(Buffer.from(what.raw ?? text))
    } else if (what.dripMs !== undefined) {
      drip(Buffer.concat([Buffer.from(text), Buffer.from(what.raw ?? '')]), what, goOn)
    } else {
      output += text
      if (what.onFlushed !== undefined) onFlushed.push(what.onFlushed)
      if (what.raw !== undefined) writeWith(what.raw)
      goOn()
    }
  }

  function flush(): void {
    if (output === '') return
    const text = output
    const done = onFlushed
    output = ''
    onFlushed = []
    if (isClosed || !socket.writable) return
    if (done.length === 0) {
      socket.write(text)
      return
    }
    socket.write(text, (error) => {
      if (error == null) for (const tell of done) tell()
    })
  }

  /** Sends what is waiting and these bytes in one piece. */
  function writeWith(bytes: string | Buffer): void {
    socket.cork()
    flush()
    if (socket.writable) socket.write(bytes)
    socket.uncork()
  }

  function drip(bytes: Buffer, { dripMs, onFlushed: tell }: Answer, goOn: () => void): void {
    flush()
    let at = 0
    const timer = setInterval(() => {
      socket.write(bytes.subarray(at, at + 1))
      at += 1
      if (at < bytes.length) return
      clearInterval(timer)
      timers.delete(timer)
      tell?.()
      goOn()
      work()
    }, dripMs)
    timers.add(timer)
  }

  function flood(piece: Buffer): void {
    const pieces = Buffer.concat(Array.from({ length: FLOOD_PIECES }, () => piece))
    const pour = (): void => {
      while (!isClosed && socket.writable && socket.write(pieces));
      if (!isClosed && socket.writable) socket.once('drain', pour)
    }
    flush()
    pour()
  }

  function end(how: 'continue' | 'fin' | 'rst' | 'hang'): void {
    if (how === 'continue') return
    isHeld = true
    isDeaf = true
    input = Buffer.alloc(0)
    flush()
    if (how === 'fin') socket.end()
    // What is written must have left this process, or the reset would throw it away.
    if (how === 'rst') socket.write('', () => o.socket.resetAndDestroy())
  }

  return {
    get isHeld() {
      return isHeld
    },
    isSecure: () => socket instanceof TLSSocket,
    answer(what) {
      answer(what)
      // Outside of `work`, as the greeting is.
      if (input.length === 0) flush()
    },
    startTls(context) {
      flush()
      // What came in clear behind STARTTLS is thrown away, as it must be (RFC 3207 §4.2).
      input = Buffer.alloc(0)
      secure(context)
    },
  }
}
