/**
 * The socket around the machine: bytes in, bytes out, one deadline, and one way in which the
 * connection ends. It decides nothing.
 *
 * Whatever ends the connection (an error, the peer's FIN, a deadline, nonsense, a caller who does
 * not want the dot written) is told to the dialogue under way, once, and the socket is destroyed. A
 * peer that speaks while no dialogue is under way has lost count, and so has a client that reads on.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Dialogue, DONE, type Step } from './dialogue.ts'
import { type Lost, lostBy } from './failure.ts'
import { createMachine, type Machine } from './machine.ts'
import type { MessageSource } from './message-source.ts'
import type { SecureSocket } from './session.ts'

export interface Wire {
  readonly isAlive: boolean
  /** One dialogue at a time; resolves with its result, also when the connection is gone. */
  run<Result>(dialogue: Dialogue<Result>, o: RunOptions): Promise<Result>
  /** Lets go of the socket at once; a dialogue under way is told so. */
  destroy(): void
}

export interface RunOptions {
  /** Of the whole dialogue, in the time of `performance.now()`. */
  readonly deadlineAt: number
  readonly timeoutMessage: string
  /** For the steps `body-sent` and `agreed`. */
  readonly message?: MessageSource
  /** For the step `secured`. */
  readonly tls?: {
    readonly host: string
    readonly rejectUnauthorized: boolean
    readonly secure: SecureSocket
    readonly onSecured?: ((socket: TLSSocket) => void) | undefined
  }
}

interface Run {
  readonly o: RunOptions
  readonly resolve: (result: unknown) => void
}

/** What is told of a socket. */
interface Ears {
  readonly onData: (chunk: Buffer) => void
  readonly onEnd: () => void
  readonly onError: (error: Error) => void
}

export function createWire(first: Socket): Wire {
  const machine = createMachine()
  const stopper = new AbortController()
  let socket = first
  let run: Run | undefined
  let lost: Lost | undefined

  const lose = (reason: Lost) => {
    if (lost === undefined) {
      lost = reason
      machine.tell(reason)
      pump()
    }
    deadline.dispose()
    stopper.abort()
    socket.destroy()
  }
  const deadline = createDeadline(() =>
    lose({ systemCode: 'ETIMEDOUT', message: run?.o.timeoutMessage ?? 'Timeout' }),
  )
  const ears: Ears = {
    onData(chunk) {
      machine.push(chunk)
      if (run === undefined) lose(SPOKE_UNASKED)
      else pump()
    },
    onEnd: () => lose(CLOSED),
    onError: (error) => lose(lostBy(error)),
  }

  const end = (result: unknown) => {
    const ended = run
    run = undefined
    deadline.clear()
    ended?.resolve(result)
    if (!machine.isQuiet) lose(SPOKE_UNASKED)
  }

  const perform = (step: Step) => {
    if (run === undefined || lost !== undefined) return
    const { o } = run
    deadline.set(Math.min(o.deadlineAt, performance.now() + step.timeoutMs))
    if (step.write !== undefined) socket.write(step.write, afterWrite(o, step))
    if (step.until === 'secured') secure(run)
    else if (step.until !== 'reply') serveMessage(run, step.until)
  }
  const pump = createPump(machine, perform, end)

  const tell = (asked: Run, input: Lost | typeof DONE) => {
    if (run !== asked || lost !== undefined) return
    if (input !== DONE) return lose(input)
    machine.tell(DONE)
    pump()
  }

  const serveMessage = (asked: Run, until: 'body-sent' | 'agreed') => {
    const { message } = asked.o
    if (message === undefined) throw new Error('a transaction has a message')
    if (until === 'body-sent') message.send(socket, (input) => tell(asked, input))
    else message.agree((input) => tell(asked, input))
  }

  const secure = (asked: Run) => {
    startTls(socket, ears, asked.o.tls, stopper.signal).then(
      (secured) => {
        if (lost !== undefined) return secured.destroy()
        socket = secured
        listen(secured, ears)
        asked.o.tls?.onSecured?.(secured)
        tell(asked, DONE)
      },
      (error: unknown) => tell(asked, lostBy(error)),
    )
  }

  listen(first, ears)
  // Nothing tells of an end that has been told before anybody listened.
  if (first.destroyed || first.readableEnded) lose(CLOSED)
  return {
    get isAlive() {
      return lost === undefined && socket.writable
    },
    run: <Result>(dialogue: Dialogue<Result>, o: RunOptions) =>
      new Promise<Result>((resolve) => {
        // The machine plays any dialogue; what it ends with is what this one returns.
        run = { o, resolve: resolve as Run['resolve'] }
        if (lost !== undefined) machine.tell(lost)
        machine.begin(dialogue)
        pump()
      }),
    destroy: () => lose(CLOSED),
  }
}

const CLOSED: Lost = { systemCode: 'ECONNECTION', message: 'Connection closed unexpectedly' }
const SPOKE_UNASKED: Lost = { systemCode: 'EPROTOCOL', message: 'The server spoke unasked' }

function listen(socket: Socket, { onData, onEnd, onError }: Ears): void {
  socket.on('data', onData)
  socket.on('end', onEnd)
  socket.on('close', onEnd)
  // For good: nothing that a peer does after it was let go becomes an unhandled error.
  socket.on('error', onError)
}

/** Nobody listens to the bare socket any more but for its errors. */
function startTls(
  bare: Socket,
  { onData, onEnd }: Ears,
  tls: RunOptions['tls'],
  signal: AbortSignal,
): Promise<TLSSocket> {
  if (tls === undefined) throw new Error('only an opening conversation starts TLS')
  bare.off('data', onData)
  bare.off('end', onEnd)
  bare.off('close', onEnd)
  const { host, rejectUnauthorized, secure } = tls
  return secure(bare, host, { rejectUnauthorized }, signal)
}

/** Takes turns until the machine has none. What a turn leads to is taken by the same round. */
function createPump(
  machine: Machine,
  perform: (step: Step) => void,
  end: (result: unknown) => void,
): () => void {
  let isPumping = false
  return () => {
    if (isPumping) return
    isPumping = true
    try {
      for (let turn = machine.next(); turn !== undefined; turn = machine.next()) {
        if (turn.kind === 'step') perform(turn.step)
        else end(turn.result)
      }
    } finally {
      isPumping = false
    }
  }
}

/** Runs once the kernel has the dot, which is before an answer to it can be read. */
function afterWrite({ message }: RunOptions, step: Step) {
  if (step.isEndOfData !== true || message?.afterFinalDot === undefined) return undefined
  const { afterFinalDot } = message
  return (error: Error | null | undefined) => {
    if (error === null || error === undefined) afterFinalDot()
  }
}

/**
 * One timer for all waiting on a connection. Moving the due time costs no timer, as long as it
 * moves into the future: what fires too early looks again.
 */
interface Deadline {
  /** In the time of `performance.now()`. */
  set(dueAt: number): void
  clear(): void
  /** For good. */
  dispose(): void
}

function createDeadline(onPassed: () => void): Deadline {
  let dueAt = Number.POSITIVE_INFINITY
  let firesAt = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const schedule = () => {
    clearTimeout(timer)
    firesAt = dueAt
    timer = setTimeout(fire, Math.max(1, Math.ceil(dueAt - performance.now()))).unref()
  }
  const fire = () => {
    timer = undefined
    firesAt = Number.POSITIVE_INFINITY
    if (dueAt === Number.POSITIVE_INFINITY) return
    if (performance.now() < dueAt) return schedule()
    dueAt = Number.POSITIVE_INFINITY
    onPassed()
  }

  return {
    set(next) {
      dueAt = next
      if (dueAt < firesAt) schedule()
    },
    clear() {
      dueAt = Number.POSITIVE_INFINITY
    },
    dispose() {
      dueAt = Number.POSITIVE_INFINITY
      clearTimeout(timer)
    },
  }
}
