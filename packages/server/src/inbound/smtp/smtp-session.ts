/**
 * The two classes of smtp-server, with what it leaves to its users: who is let in, how each command is
 * counted, and reply texts that begin with an enhanced code of their own (RFC 3463).
 *
 * Sockets are counted from here to their end, also those that it has closed and its peer has not. A peer
 * that goes on talking after that is cut off.
 */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { WorkLimiter } from '../../platform/limits/work-limiter.ts'
import type { InboundRoute } from '../ingest/received-mail.ts'
import { LimitedParser, WORTH } from './limited-parser.ts'

/** What is known of a connection, and of the transaction that it is in. */
export interface SessionFacts {
  /** Whom it counts for: an IPv4 address, or an IPv6 network of 64 bits. */
  readonly address: string
  readonly openedMs: number
  /** Of all that it sends. */
  readonly workLimiter: WorkLimiter
  /** Of its address. */
  readonly handshakes: WorkLimiter
  hasWaited: boolean
  /** Since when the peer is to say something. */
  idleSinceMs: number
  commands: number
  idleCommands: number
  badCommands: number
  refusedRecipients: number
  /** In the log, one by one. */
  toldRecipients: number
  transactions: number
  /** Those accepted in this transaction, by their spelling in the envelope. */
  recipients: Map<string, AcceptedRecipient>
  /** While a message comes in. */
  data: { readonly sinceMs: number; readonly bytes: () => number } | undefined
  /** It has come in, and is not answered yet. */
  isStoring: boolean
}

export interface AcceptedRecipient {
  /** In wire form. */
  readonly address: string
  readonly route: InboundRoute
}

export interface SessionHooks {
  factsOf(remoteAddress: string): SessionFacts
  /** An answer: the connection is refused with it. */
  opening(connection: Connection): string | undefined
  /** An answer: the connection ends with it. */
  commanded(connection: Connection, verb: string): string | undefined
  /** It waits, for the first time, because of the work that it makes. */
  slowed(connection: Connection): void
  replied(connection: Connection, code: number): void
  /** Once for each that `opening` let in. */
  closed(connection: Connection): void
}

const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3} /
const REFUSED_MS = 5_000
const CHUNKS_AFTER_END_MAX = 1_000

export class Connection extends SMTPConnection {
  readonly facts: SessionFacts
  private readonly hooks: SessionHooks
  private hasClosed = false
  private isAwaitingHandshake = false

  constructor(
    server: SMTPServer,
    socket: Socket,
    options: SMTPConnectionOptions | null | undefined,
    hooks: SessionHooks,
  ) {
    super(server, socket, options)
    this.hooks = hooks
    this.facts = hooks.factsOf(this.remoteAddress)
  }

  /** For a message that comes in, or is being stored. */
  get isBusy(): boolean {
    return this.facts.data !== undefined || this.facts.isStoring
  }

  /** It was told so, and its socket is not closed yet. */
  get isEnding(): boolean {
    return this._closing
  }

  destroy(): void {
    this._socket.destroy()
  }

  /** Has begun TLS, and not come to its end. */
  get isInHandshake(): boolean {
    return this._upgrading
  }

  override send(code: number, text?: string | string[] | null, context?: string | false): void {
    const hasOwnCode = typeof text === 'string' && ENHANCED.test(text)
    super.send(code, text, hasOwnCode ? false : context)
    this.hooks.replied(this, code)
  }

  /** Without a callback it is a line that the peer has begun and not ended. */
  override _onCommand(command: Buffer, callback?: () => void): void {
    if (callback === undefined) return
    // What was sent before the handshake is dropped, uncounted (RFC 3207 §4.2).
    const [verb = ''] = command.toString('latin1', 0, 16).split(' ')
    const end = this._upgrading ? undefined : this.hooks.commanded(this, verb.toUpperCase())
    if (end === undefined) super._onCommand(command, callback)
    else this.send(421, end)
  }

  override _createParser(): LimitedParser {
    const { maxCommandLength } = this._server.options
    const parser = new LimitedParser({
      maxCommandLength,
      doLimited: (micros, work) => this.doAfter(this.facts.workLimiter.spend(micros), work),
    })
    parser.oncommand = (command, callback) => this.onLimitedCommand(command, callback)
    parser.on('error', (error) => this.send(421, `Error: ${error.message}`))
    return parser
  }

  override close(): void {
    const isFirst = !this._closing
    super.close()
    if (isFirst) cutOffTalkers(this._socket)
  }

  private onLimitedCommand(command: Buffer, callback?: () => void): void {
    if (callback === undefined) return
    const isHandshake = /^STARTTLS\b/i.test(command.toString('latin1', 0, 16))
    const waitMs = Math.max(
      this.facts.workLimiter.spend(WORTH.command),
      isHandshake ? this.facts.handshakes.spend(WORTH.handshake) : 0,
    )
    this.isAwaitingHandshake = isHandshake
    this.doAfter(waitMs, () => {
      this.isAwaitingHandshake = false
      if (this._closing || this._closed) callback()
      else this._onCommand(command, callback)
    })
  }

  private doAfter(waitMs: number, work: () => void): void {
    if (waitMs === 0) {
      work()
      return
    }
    if (!this.facts.hasWaited) {
      this.facts.hasWaited = true
      this.hooks.slowed(this)
    }
    setTimeout(work, waitMs).unref()
  }

  override _onClose(): void {
    if (!this.hasClosed) {
      this.hasClosed = true
      // Its handshake will not be. Others of its address, who may be behind one proxy, wait for no longer.
      if (this.isAwaitingHandshake) this.facts.handshakes.spend(-WORTH.handshake)
      this.isAwaitingHandshake = false
      this.hooks.closed(this)
    }
    super._onClose()
  }
}

export class Listener extends SMTPServer {
  private readonly hooks: SessionHooks
  private readonly bySession = new WeakMap<SMTPServerSession, Connection>()

  constructor(options: SMTPServerOptions, hooks: SessionHooks) {
    super(options)
    this.hooks = hooks
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new Connection(this, socket, options, this.hooks)
    const refusal = this.hooks.opening(connection)
    if (refusal !== undefined) {
      refuse(socket, `421 ${refusal}\r\n`)
      return
    }
    this.connections.add(connection)
    this.bySession.set(connection.session, connection)
    connection.on('error', (error) => this._onError(error))
    connection.init()
  }

  connectionOf(session: SMTPServerSession): Connection {
    const connection = this.bySession.get(session)
    if (connection === undefined) throw new Error('a session without its connection')
    return connection
  }
}

/** What comes after our end is read and forgotten, but not without end. */
function cutOffTalkers(socket: Socket): void {
  let chunks = 0
  socket.on('data', () => {
    chunks += 1
    if (chunks > CHUNKS_AFTER_END_MAX) socket.destroy()
  })
}

/** Whatever the peer does with it. */
function refuse(socket: Socket, reply: string): void {
  cutOffTalkers(socket)
  socket.on('error', () => socket.destroy())
  setTimeout(() => socket.destroy(), REFUSED_MS).unref()
  socket.resume()
  socket.end(reply)
}
