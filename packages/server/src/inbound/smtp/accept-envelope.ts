/**
 * What the listener says to a sender and to each recipient (docs/reference/inbound.md#smtp): mail is taken
 * for routes only, for every client.
 */

import { parseAddress } from '@postrider/mail'
import type { ByteLimiter } from '@postrider/runtime/byte-limiter'
import { withTimeout } from '@postrider/runtime/timeout'
import type { SMTPServerAddress } from 'smtp-server'
import type { Logger } from '../../platform/log.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import { WORTH } from '../../platform/smtp-server/limited-parser.ts'
import type { ListenerLimits } from '../../platform/smtp-server/limits.ts'
import type { ReceiveThrottle } from '../../platform/smtp-server/receive-throttle.ts'
import type { Connection } from '../../platform/smtp-server/smtp-connection.ts'
import type { Reply } from '../../platform/smtp-server/smtp-listener.ts'
import type { FoundRoute } from '../domains/find-routes.ts'
import type { InboundRoute, SmtpMail } from '../ingest/received-mail.ts'
import type { ListenerObserver } from './observe-listener.ts'

export interface TransactionDeps {
  /** This service, as it greets. */
  readonly name: string
  readonly bytesMax: number
  readonly limits: ListenerLimits
  readonly budget: ByteLimiter
  readonly turns: ReceiveThrottle
  readonly disk: Pick<DiskGuard, 'isOpen' | 'admit'>
  readonly findRoute: (address: string) => Promise<FoundRoute>
  /** Resolves when it is durable. */
  readonly store: (mail: SmtpMail) => Promise<{ readonly inboundIds: readonly string[] }>
  readonly nowMicros: () => bigint
  readonly monotonicMs: () => number
  readonly observe: ListenerObserver
  readonly log: Logger
}

export interface AcceptedRecipient {
  /** In wire form. */
  readonly address: string
  readonly route: InboundRoute
}

/** Of the transaction that a connection is in. */
interface Transaction {
  /** Those accepted, by their spelling in the envelope. */
  readonly recipients: Map<string, AcceptedRecipient>
}

const transactions = new WeakMap<Connection, Transaction>()
/** Refused recipients of a connection that are in the log, one by one. */
const told = new WeakMap<Connection, number>()

export function recipientsOf(connection: Connection): Transaction['recipients'] {
  const known = transactions.get(connection)
  if (known !== undefined) return known.recipients
  const recipients = new Map<string, AcceptedRecipient>()
  transactions.set(connection, { recipients })
  return recipients
}

const unknownUser: Reply = { code: 550, text: '5.1.1 No such user' }
const relayingDenied: Reply = { code: 550, text: '5.7.1 Relaying denied' }
const unproven: Reply = { code: 550, text: '5.7.1 This domain is not verified here' }
const OK: Reply = { code: 250, text: '2.1.0 OK' }
export const noRoom: Reply = { code: 452, text: '4.3.1 No room at the moment, try again later' }
export const notNow: Reply = {
  code: 451,
  text: '4.3.0 Not possible at the moment, try again later',
}
const ADDRESS_CHARS_MAX = 320

export function acceptSender(
  { bytesMax, budget, disk }: TransactionDeps,
  connection: Connection,
  { address, args }: SMTPServerAddress,
): Reply {
  const { facts } = connection
  transactions.delete(connection)
  if (address.length > ADDRESS_CHARS_MAX) return { code: 501, text: '5.1.7 Address too long' }
  const declared = args === false ? 0 : Number(args.SIZE ?? 0)
  const hasRoom = budget.hasRoom(facts.address, Math.min(declared, bytesMax))
  return disk.isOpen() && hasRoom ? OK : noRoom
}

export async function acceptRecipient(
  deps: TransactionDeps,
  connection: Connection,
  given: string,
): Promise<Reply> {
  const { facts, id } = connection
  facts.workLimiter.spend(WORTH.lookUp)
  try {
    const found = await withTimeout(deps.findRoute(given), deps.limits.findRouteMsMax)
    deps.observe.recipient(found.kind)
    if (found.kind !== 'route') tellRefused(deps, connection, given, found.kind)
    if (found.kind === 'unknown_domain') return relayingDenied
    if (found.kind === 'unproven_domain') return unproven
    if (found.kind === 'unsure_domain') return notNow
    if (found.kind !== 'route') return unknownUser
    recipientsOf(connection).set(given, { address: wireFormOf(given), route: found.route })
    return { code: 250, text: '2.1.5 OK' }
  } catch (error) {
    deps.observe.recipient('not_looked_up')
    deps.log.warn({ err: error, connection_id: id }, 'inbound_route.not_looked_up')
    return notNow
  }
}

/** For an operator who is asked why mail was refused. As many of a connection as it may have refused for good. */
function tellRefused(
  { log, limits }: TransactionDeps,
  connection: Connection,
  given: string,
  why: Exclude<FoundRoute['kind'], 'route'>,
): void {
  const { id, session } = connection
  const before = told.get(connection) ?? 0
  if (before >= limits.refusedRecipientsMax) return
  told.set(connection, before + 1)
  const { mailFrom } = session.envelope
  log.info(
    {
      connection_id: id,
      remote_ip: session.remoteAddress,
      from: mailFrom === false ? '' : wireFormOf(mailFrom.address),
      recipient: wireFormOf(given).slice(0, ADDRESS_CHARS_MAX),
      why,
    },
    'inbound_recipient.refused',
  )
}

/** What is no address to us is left as it was given. */
export function wireFormOf(given: string): string {
  const parsed = parseAddress(given)
  return parsed.ok ? parsed.address.address : given
}
