/**
 * The SMTP listener of inbound routing (docs/reference/inbound.md#smtp): takes mail for routes, from anyone,
 * and relays none. There is no login.
 */
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import type { Service } from '@postrider/runtime/service'
import type { CertificateFiles, KeyPair } from '../../platform/certificates/server-certificate.ts'
import { type ListenerLimits, listenerLimits } from '../../platform/smtp-server/limits.ts'
import { createReceiveThrottle } from '../../platform/smtp-server/receive-throttle.ts'
import { type Address, createSmtpListener } from '../../platform/smtp-server/smtp-listener.ts'
import { acceptRecipient, acceptSender, type TransactionDeps } from './accept-envelope.ts'
import { acceptMessage } from './accept-message.ts'

export interface InboundListener extends Service {
  isListening(): boolean
  /** Reads the operator's files; a minute's rounds do, too. Throws what is wrong with them. */
  reloadCertificate(): Promise<unknown>
  /** Where it listens, with the port that was really taken. */
  address(): Address
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
  // An address has half of it at most, and less where others have much: messages that drip keep nobody
  // else from sending.
  const budget = createByteLimiter({
    bytesMax: limits.bytesInTransitMax,
    bytesOfCallerMax: limits.bytesInTransitMax / 2,
    letsLargeInAlone: false,
    leavesAsMuch: true,
  })
  const deps: TransactionDeps = { ...o, limits, budget, turns: createReceiveThrottle() }
  const listener = createSmtpListener({
    ...o,
    name: 'inbound',
    limitedLine: 'inbound_connection.limited',
    hostName: o.name,
    ports: [{ port: o.port, isTls: false }],
    limits,
    budget,
    refusedText: '4.7.1 Too many unknown recipients',
    offersChunking: false,
    acceptSender: (connection, sender) => acceptSender(deps, connection, sender),
    acceptRecipient: (connection, given) => acceptRecipient(deps, connection, given),
    acceptMessage: (connection, stream) => acceptMessage(deps, connection, stream),
  })
  return {
    ...listener,
    address() {
      const [address] = listener.addresses()
      if (address === undefined) throw new Error('the listener has no port')
      return address
    },
  }
}
