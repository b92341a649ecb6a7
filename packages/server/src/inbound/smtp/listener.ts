/**
 * The SMTP listener of inbound routing (docs/reference/inbound.md#smtp): takes mail for routes, from anyone,
 * and relays none. Offers STARTTLS, SIZE, 8BITMIME, SMTPUTF8 and PIPELINING; no login.
 *
 * It stops in order: no new connections and no new messages; those that are coming in are finished within
 * the grace, and answered.
 */
import { constants } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import type { Service } from '@postrider/runtime/service'
import {
  type CertificateFiles,
  type KeyPair,
  readCertificate,
} from '../../platform/certificates/server-certificate.ts'
import { createPeriodicTask, type PeriodicTask } from '../../platform/work/periodic-task.ts'
import {
  acceptRecipient,
  acceptSender,
  type Reply,
  type TransactionDeps,
} from './accept-envelope.ts'
import { acceptMessage } from './accept-message.ts'
import { createGuard } from './guard.ts'
import { type ListenerLimits, listenerLimits } from './limits.ts'
import { createReceiveThrottle } from './receive-throttle.ts'
import { type Connection, Listener } from './smtp-session.ts'

export interface InboundListener extends Service {
  isListening(): boolean
  /** Reads the operator's files; a minute's rounds do, too. Throws what is wrong with them. */
  reloadCertificate(): Promise<unknown>
  /** Where it listens, with the port that was really taken. */
  address(): { readonly host: string; readonly port: number }
}

export interface ListenerOptions extends Omit<TransactionDeps, 'limits' | 'budget' | 'turns'> {
  readonly host: string
  readonly port: number
  readonly recipientsMax: number
  readonly certificate: KeyPair
  /** Where the certificate is from, to be read again. */
  readonly certificateFiles?: CertificateFiles | undefined
  readonly limits?: Partial<ListenerLimits>
}

export function createInboundListener(o: ListenerOptions): InboundListener {
  const limits = { ...listenerLimits, ...o.limits }
  // An address has half of it at most: messages that drip keep nobody else from sending.
  const budget = createByteLimiter({
    bytesMax: limits.bytesInTransitMax,
    bytesOfCallerMax: limits.bytesInTransitMax / 2,
    letsLargeInAlone: false,
  })
  const deps: TransactionDeps = { ...o, limits, budget, turns: createReceiveThrottle() }
  const guard = createGuard({ ...o, limits })
  o.observe.watch(() => ({
    connections: guard.open().size,
    bytesInTransit: budget.takenBytes,
  }))
  let state: 'new' | 'listening' | 'stopping' = 'new'
  let sweeping: NodeJS.Timeout | undefined

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
    if (state === 'stopping') connection.send(421, SHUTTING_DOWN)
  }

  const server = new Listener(
    {
      ...o.certificate,
      ...OFFERED,
      minVersion: 'TLSv1.2',
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      name: o.name,
      size: o.bytesMax,
      maxRecipients: o.recipientsMax,
      socketTimeout: limits.commandMsMax,
      closeTimeout: limits.graceMs,
      onMailFrom(address, session, done) {
        done(toError(acceptSender(deps, server.connectionOf(session), address)))
      },
      onRcptTo({ address }, session, done) {
        acceptRecipient(deps, server.connectionOf(session), address).then(
          (reply) => done(toError(reply)),
          done,
        )
      },
      onData(stream, session, done) {
        const connection = server.connectionOf(session)
        acceptMessage(deps, connection, stream).then(
          (reply) => answer(connection, reply, done),
          done,
        )
      },
    },
    guard,
  )
  server.server.maxConnections = limits.connectionsMax + REFUSED_AT_ONCE_MAX
  // Connections that fail: their own affair.
  server.on('error', (error: Error) => o.log.debug({ err: error }, 'inbound_connection.failed'))
  const reloading = createReloading(o, (pair) => server.updateSecureContext(pair))

  return {
    name: 'inbound listener',
    // The socket may have been closed by something else than `stop`.
    isListening: () => state === 'listening' && server.server.listening,
    reloadCertificate: () => reloading.runOnce(),
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.server.once('error', reject)
        server.listen(o.port, o.host, () => {
          server.server.off('error', reject)
          resolve()
        })
      })
      state = 'listening'
      sweeping = setInterval(() => guard.sweep(guard.open()), limits.sweepMs)
      await reloading.start()
    },
    async stop() {
      if (state !== 'listening') return
      state = 'stopping'
      await reloading.stop()
      const closed = new Promise<void>((resolve) => server.close(resolve))
      for (const connection of guard.open())
        if (!connection.isBusy) connection.send(421, SHUTTING_DOWN)
      await closed
      for (const connection of guard.open()) connection.destroy()
      clearInterval(sweeping)
      state = 'new'
    },
    address() {
      const { address, port } = server.server.address() as AddressInfo
      return { host: address, port }
    },
  }
}

type DataDone = (error?: Error | null, text?: string) => void

const SHUTTING_DOWN = '4.3.2 Shutting down, try again later'
/** Far longer than any command without a login. */
const COMMAND_BYTES_MAX = 4_096
const RELOAD_MS = 60_000
/** Beyond those that are served: to be told that they are too many. */
const REFUSED_AT_ONCE_MAX = 500

const OFFERED = {
  authOptional: true,
  disabledCommands: ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL', 'HELP'],
  disableReverseLookup: true,
  heloResponse: '%s',
  hideENHANCEDSTATUSCODES: false,
  // Senders of odd addresses are many, and reach nobody by them.
  lenientAddressParsing: true,
  logger: false,
  maxCommandLength: COMMAND_BYTES_MAX,
  rejectOversized: true,
}

function toError({ code, text }: Reply): Error | null {
  return code === 250 ? null : Object.assign(new Error(text), { responseCode: code })
}

/** A certificate is renewed while the service runs. */
function createReloading(o: ListenerOptions, use: (pair: KeyPair) => void): PeriodicTask {
  let { cert, key } = o.certificate
  return createPeriodicTask({
    name: 'inbound certificate',
    log: o.log,
    intervalMs: RELOAD_MS,
    async round() {
      if (o.certificateFiles === undefined) return 0
      const read = readCertificate(o.certificateFiles)
      if (read.cert === cert && read.key === key) return 0
      use(read)
      cert = read.cert
      key = read.key
      o.log.info('inbound_certificate.reloaded')
      return 1
    },
    failed: 'inbound_certificate.not_reloaded',
  })
}
