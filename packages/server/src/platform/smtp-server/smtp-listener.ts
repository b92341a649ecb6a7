/**
 * A listener for SMTP on one port or several, which share its limits. Offers STARTTLS, SIZE, 8BITMIME,
 * SMTPUTF8 and PIPELINING; what it does with mail is handed in.
 *
 * It stops in order: no new connections and no new messages; those that are coming in are finished within
 * the grace, and answered.
 */
import { constants } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { ByteLimiter } from '@postrider/runtime/byte-limiter'
import type { Service } from '@postrider/runtime/service'
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerOptions } from 'smtp-server'
import {
  type CertificateFiles,
  type KeyPair,
  readCertificate,
} from '../certificates/server-certificate.ts'
import type { Logger } from '../log.ts'
import { createPeriodicTask, type PeriodicTask } from '../work/periodic-task.ts'
import { createGuard } from './guard.ts'
import type { ListenerLimits } from './limits.ts'
import type { ConnectionObserver } from './observe-connections.ts'
import { type Connection, Listener } from './smtp-connection.ts'

export interface Reply {
  readonly code: number
  /** Begins with an enhanced code. */
  readonly text: string
  /** The connection ends with it. */
  readonly isLast?: boolean
}

export interface ListenerPort {
  readonly port: number
  /** TLS from the first byte on; else STARTTLS is offered. */
  readonly isTls: boolean
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface SmtpListener extends Service {
  isListening(): boolean
  /** Reads the operator's files; a minute's rounds do, too. Throws what is wrong with them. */
  reloadCertificate(): Promise<unknown>
  /** Where it listens, with the ports that were really taken, in the order of the given. */
  addresses(): readonly Address[]
}

export interface SmtpListenerOptions {
  /** In the log. */
  readonly name: string
  /** The log line of a limit that was reached. */
  readonly limitedLine: string
  readonly host: string
  readonly ports: readonly ListenerPort[]
  /** By which it greets. */
  readonly hostName: string
  readonly bytesMax: number
  readonly recipientsMax: number
  readonly certificate: KeyPair
  /** Where the certificate is from, to be read again. */
  readonly certificateFiles?: CertificateFiles | undefined
  readonly limits: ListenerLimits
  /** Of messages on their way in. */
  readonly budget: Pick<ByteLimiter, 'takenBytes'>
  /** What ends a connection that had too much refused by a 550. */
  readonly refusedText: string
  readonly offersChunking: boolean
  /** Of a password, whatever the user name: all mail needs one then. A 235 says that it is right. */
  readonly logIn?: (connection: Connection, password: string) => Promise<Reply>
  readonly acceptSender: (connection: Connection, sender: SMTPServerAddress) => Reply
  readonly acceptRecipient: (connection: Connection, given: string) => Promise<Reply>
  /** Undefined: nobody is there to be answered. */
  readonly acceptMessage: (
    connection: Connection,
    stream: SMTPServerDataStream,
  ) => Promise<Reply | undefined>
  /** A connection that was let in has come to its end. */
  readonly closed?: (connection: Connection) => void
  readonly monotonicMs: () => number
  readonly observe: ConnectionObserver
  readonly log: Logger
}

type State = 'new' | 'listening' | 'stopping'

export function createSmtpListener(o: SmtpListenerOptions): SmtpListener {
  const { limits } = o
  const bounds = createGuard({ ...o, needsLogin: o.logIn !== undefined })
  const guard: typeof bounds = {
    ...bounds,
    closed(connection) {
      bounds.closed(connection)
      o.closed?.(connection)
    },
  }
  o.observe.watch(() => ({
    connections: guard.open().size,
    bytesInTransit: o.budget.takenBytes,
  }))
  let state: State = 'new'
  let sweeping: NodeJS.Timeout | undefined
  const servers = o.ports.map(({ isTls }) => createServer(o, { isTls, guard, state: () => state }))
  const reloading = createReloading(o, (pair) => {
    for (const server of servers) server.updateSecureContext(pair)
  })
  return {
    name: `${o.name} listener`,
    // The socket may have been closed by something else than `stop`.
    isListening: () => state === 'listening' && servers.every(({ server }) => server.listening),
    reloadCertificate: () => reloading.runOnce(),
    async start() {
      try {
        for (const [i, { port }] of o.ports.entries()) await listen(servers[i], port, o.host)
      } catch (error) {
        for (const { server } of servers) if (server.listening) server.close()
        throw error
      }
      state = 'listening'
      sweeping = setInterval(() => guard.sweep(guard.open()), limits.sweepMs)
      await reloading.start()
    },
    async stop() {
      if (state !== 'listening') return
      state = 'stopping'
      await reloading.stop()
      const closed = servers.map((server) => new Promise<void>((done) => server.close(done)))
      for (const connection of guard.open())
        if (!connection.isBusy) connection.send(421, SHUTTING_DOWN)
      await Promise.all(closed)
      for (const connection of guard.open()) connection.destroy()
      clearInterval(sweeping)
      state = 'new'
    },
    addresses: () =>
      servers.map(({ server }) => {
        const { address, port } = server.address() as AddressInfo
        return { host: address, port }
      }),
  }
}

function createServer(
  o: SmtpListenerOptions,
  c: {
    readonly isTls: boolean
    readonly guard: ReturnType<typeof createGuard>
    readonly state: () => State
  },
): Listener {
  const { limits, logIn } = o

  /** Its message is answered, whatever the answer. */
  function answer(connection: Connection, reply: Reply | undefined, done: DataDone): void {
    if (reply?.isLast === true) {
      connection.send(reply.code, reply.text)
      connection.close()
      return
    }
    if (reply === undefined) done()
    else if (reply.code === 250) done(null, reply.text)
    else done(toError(reply))
    if (c.state() === 'stopping') connection.send(421, SHUTTING_DOWN)
  }

  const server = new Listener(
    {
      ...o.certificate,
      ...OFFERED,
      ...(logIn === undefined ? WITHOUT_LOGIN : WITH_LOGIN),
      // The handshake belongs to the connection, and counts for it.
      ...(c.isTls ? { secure: true, needsUpgrade: true } : {}),
      minVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      name: o.hostName,
      size: o.bytesMax,
      maxRecipients: o.recipientsMax,
      socketTimeout: limits.commandMsMax,
      closeTimeout: limits.graceMs,
      onAuth({ password }, session, done) {
        const connection = server.connectionOf(session)
        if (logIn === undefined) return done(new Error('5.7.8 No login here'))
        logIn(connection, password ?? '').then((reply) => {
          connection.facts.isLoginDue = reply.code !== 235
          if (reply.code === 235) done(null, { user: 'key' })
          else done(toError(reply))
        }, done)
      },
      onMailFrom(address, session, done) {
        done(toError(o.acceptSender(server.connectionOf(session), address)))
      },
      onRcptTo({ address }, session, done) {
        o.acceptRecipient(server.connectionOf(session), address).then(
          (reply) => done(toError(reply)),
          done,
        )
      },
      onData(stream, session, done) {
        const connection = server.connectionOf(session)
        o.acceptMessage(connection, stream).then((reply) => answer(connection, reply, done), done)
      },
    },
    c.guard,
  )
  server.server.maxConnections = limits.connectionsMax + REFUSED_AT_ONCE_MAX
  // Connections that fail: their own affair.
  server.on('error', (error: Error) => o.log.debug({ err: error }, `${o.name}_connection.failed`))
  return server
}

type DataDone = (error?: Error | null, text?: string) => void

const SHUTTING_DOWN = '4.3.2 Shutting down, try again later'
/** Far longer than any command, and than any login by a key. */
const COMMAND_BYTES_MAX = 4_096
const RELOAD_MS = 60_000
/** Beyond those that are served: to be told that they are too many. */
const REFUSED_AT_ONCE_MAX = 500
const DISABLED = ['XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP']

const OFFERED: SMTPServerOptions = {
  disableReverseLookup: true,
  heloResponse: '%s',
  hideENHANCEDSTATUSCODES: false,
  // Senders of odd addresses are many, and reach nobody by them.
  lenientAddressParsing: true,
  logger: false,
  maxCommandLength: COMMAND_BYTES_MAX,
  rejectOversized: true,
}
const WITHOUT_LOGIN: SMTPServerOptions = {
  authOptional: true,
  disabledCommands: ['AUTH', ...DISABLED],
}
const WITH_LOGIN: SMTPServerOptions = {
  // The connection decides where a login without TLS is none.
  allowInsecureAuth: true,
  authMethods: ['PLAIN', 'LOGIN'],
  authRequiredMessage: '5.7.0 Log in first: any user name, and an API key as the password',
  disabledCommands: ['VRFY', ...DISABLED],
  // What becomes of each recipient is told by events.
  hideDSN: true,
  hideREQUIRETLS: true,
}

function listen(server: Listener | undefined, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server?.server.once('error', reject)
    server?.listen(port, host, () => {
      server.server.off('error', reject)
      resolve()
    })
  })
}

function toError({ code, text }: Reply): Error | null {
  return code === 250 ? null : Object.assign(new Error(text), { responseCode: code })
}

/** A certificate is renewed while the service runs. */
function createReloading(o: SmtpListenerOptions, use: (pair: KeyPair) => void): PeriodicTask {
  let { cert, key } = o.certificate
  return createPeriodicTask({
    name: `${o.name} certificate`,
    log: o.log,
    intervalMs: RELOAD_MS,
    async round() {
      if (o.certificateFiles === undefined) return 0
      const read = readCertificate(o.certificateFiles)
      if (read.cert === cert && read.key === key) return 0
      use(read)
      cert = read.cert
      key = read.key
      o.log.info(`${o.name}_certificate.reloaded`)
      return 1
    },
    failed: `${o.name}_certificate.not_reloaded`,
  })
}
