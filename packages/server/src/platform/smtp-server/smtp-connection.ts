/**
 * The two classes of smtp-server, with what it leaves to its users: who is let in, how each command is
 * counted, reply texts that begin with an enhanced code of their own (RFC 3463), messages in chunks
 * (RFC 3030), and logins without a user name.
 *
 * Sockets are counted from here to their end, also those that it has closed and its peer has not. A peer
 * that goes on talking after that is cut off.
 */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import type { WorkLimiter } from '../limits/work-limiter.ts'
import { ChunkedMessage } from './chunked-message.ts'
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
  /** It has to log in first. */
  isLoginDue: boolean
  transactions: number
  /** While a message comes in. */
  data: { readonly sinceMs: number; readonly bytes: () => number } | undefined
  /** It has come in, and is not answered yet. */
  isStoring: boolean
}

export interface SessionHooks {
  readonly offersChunking: boolean
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
  private chunked: ChunkedMessage | undefined

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

  get hasEnded(): boolean {
    return this._closing || this._closed
  }

  destroy(): void {
    this._socket.destroy()
  }

  /** Where it begins with a handshake, this waits like others of its address. */
  begin(): void {
    const waitMs = this.needsUpgrade ? this.facts.handshakes.spend(WORTH.handshake) : 0
    if (waitMs === 0) this.init()
    else this.initAfter(waitMs)
  }

  private initAfter(waitMs: number): void {
    const socket = this._socket
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this._onClose())
    this.doAfter(waitMs, () => {
      if (this._closing || this._closed) return
      socket.removeAllListeners()
      this.init()
    })
  }

  /** Has begun TLS, and not come to its end. */
  get isInHandshake(): boolean {
    return this._upgrading
  }

  override send(code: number, text?: string | string[] | null, context?: string | false): void {
    const hasOwnCode = typeof text === 'string' && ENHANCED.test(text)
    const shown = code === 250 && Array.isArray(text) ? this.offered(text) : text
    super.send(code, shown, hasOwnCode ? false : context)
    this.hooks.replied(this, code)
  }

  /** Of an EHLO. A login is offered where it is possible. */
  private offered(lines: readonly string[]): string[] {
    const possible = lines.filter((line) => this.mayLogIn || !/^AUTH /.test(line))
    return this.hooks.offersChunking ? [...possible, 'CHUNKING'] : possible
  }

  /** Nobody reads what goes over loopback. */
  private get mayLogIn(): boolean {
    return this.secure || isLoopback(this.remoteAddress)
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    const [, method = '', first] = command.toString('latin1').trim().split(/\s+/)
    if (!this.mayLogIn) {
      this.send(538, '5.7.11 Log in over TLS: begin with STARTTLS')
      callback()
    } else if (method.toUpperCase() !== 'LOGIN' || this.session.user)
      super.handler_AUTH(command, callback)
    // smtp-server refuses a user name that is empty, which here says as much as any other.
    else if (first !== undefined) this.askForPassword(callback)
    else {
      this._nextHandler = (line, next) =>
        isGivenUp(line) ? this.giveLoginUp(next) : this.askForPassword(next)
      this.send(334, 'VXNlcm5hbWU6')
      callback()
    }
  }

  private giveLoginUp(callback: () => void): void {
    this.send(501, 'Authentication aborted')
    callback()
  }

  private askForPassword(callback: () => void): void {
    this._nextHandler = (line, next) =>
      isGivenUp(line) ? this.giveLoginUp(next) : this.logIn(line, next)
    this.send(334, 'UGFzc3dvcmQ6')
    callback()
  }

  private logIn(line: Buffer, callback: () => void): void {
    const password = Buffer.from(line.toString('latin1').trim(), 'base64').toString()
    this._server.onAuth(
      { method: 'LOGIN', username: '', password, validatePassword: () => false },
      this.session,
      (error, response) => {
        if (error) this.send(Reflect.get(error, 'responseCode') ?? 535, error.message)
        else if (response?.user) {
          this.session.user = response.user
          this.session.transmissionType = this._transmissionType()
          this.send(235, 'Authentication successful')
        } else this.send(535, 'Authentication credentials invalid')
        callback()
      },
    )
  }

  handler_BDAT(command: Buffer, callback: () => void): void {
    const given = /^BDAT +(\d{1,12})( +LAST)? *$/i.exec(command.toString('latin1'))
    const parser = this._parser
    const bytesMax = 2 * (this._server.options.size ?? 0)
    const bytes = Number(given?.[1])
    if (!(parser instanceof LimitedParser) || !this.hooks.offersChunking) {
      this.send(502, '5.5.1 Error: command not implemented')
      this.close()
    } else if (given === null || bytes > bytesMax) {
      // Where the chunk ends is not known, or too far away to wait for.
      if (given === null) this.send(501, '5.5.4 Syntax: BDAT size [LAST]')
      else this.send(552, '5.3.4 Message too large')
      this.close()
    } else if (bytes === 0) {
      this.chunkOf(given[2] !== undefined).end(callback)
    } else {
      parser.startChunk({ ...this.chunkOf(given[2] !== undefined), bytes })
      callback()
    }
  }

  private chunkOf(isLast: boolean) {
    const { envelope, user } = this.session
    const refuse = (code: number, text: string) => ({
      take: (_: Buffer, next: () => void) => next(),
      end: (next: () => void) => {
        this.send(code, text)
        next()
      },
    })
    if (this.facts.isLoginDue && !user) return refuse(530, '5.7.0 Log in first')
    if (envelope.rcptTo.length === 0) return refuse(503, '5.5.1 Error: need RCPT command')
    this.chunked ??= this.beginChunked()
    const { chunked } = this
    return {
      take: chunked.take,
      end: (next: () => void) => {
        if (isLast) void this.endChunked(chunked, next)
        else {
          this.send(250, `2.0.0 ${chunked.stream.byteLength} bytes so far`)
          next()
        }
      },
    }
  }

  private beginChunked(): ChunkedMessage {
    const chunked = new ChunkedMessage((stream, done) =>
      this._server.onData(stream, this.session, done),
    )
    this._dataStream = chunked.stream
    return chunked
  }

  /** Whatever was decided before its end is told at its end. */
  private async endChunked(chunked: ChunkedMessage, next: () => void): Promise<void> {
    const { error, text } = await chunked.end()
    if (this.chunked !== chunked || this._closed) return
    this.chunked = undefined
    this._dataStream = false
    if (error) this.send(Reflect.get(error, 'responseCode') ?? 450, error.message)
    else this.send(250, text)
    this._transactionCounter++
    this._resetSession()
    next()
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    if (this.chunked === undefined) super.handler_RCPT(command, callback)
    else this.refuseWithin(callback)
  }

  override handler_DATA(command: Buffer, callback: () => void): void {
    if (this.chunked === undefined) super.handler_DATA(command, callback)
    else this.refuseWithin(callback)
  }

  private refuseWithin(callback: () => void): void {
    this.send(503, '5.5.1 A message in chunks has begun: BDAT, or RSET')
    callback()
  }

  /** A transaction that is given up ends its message, too. */
  override _resetSession(): void {
    this.chunked?.stream.destroy()
    if (this.chunked !== undefined) this._dataStream = false
    this.chunked = undefined
    super._resetSession()
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
      // Nothing can be told before a handshake.
      if (this.options.secure === true) socket.destroy()
      else refuse(socket, `421 ${refusal}\r\n`)
      return
    }
    this.connections.add(connection)
    this.bySession.set(connection.session, connection)
    connection.on('error', (error) => this._onError(error))
    connection.begin()
  }

  connectionOf(session: SMTPServerSession): Connection {
    const connection = this.bySession.get(session)
    if (connection === undefined) throw new Error('a session without its connection')
    return connection
  }
}

function isGivenUp(line: Buffer): boolean {
  return line.toString('latin1').trim() === '*'
}

/** smtp-server takes the prefix of IPv4 addresses away. */
function isLoopback(address: string): boolean {
  return address === '::1' || /^127\.(?:\d{1,3}\.){2}\d{1,3}$/.test(address)
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
