/**
 * Takes one message in: from DATA to the answer to its final dot.
 *
 * Nothing that was not stored is answered with 250. What was stored and could not be answered comes
 * again, and is recognised by ingest.
 */

import { withTimeout } from '@postrider/runtime/timeout'
import type { SMTPServerDataStream } from 'smtp-server'
import { WORTH } from '../../platform/smtp-server/limited-parser.ts'
import { createMessageBuffer } from '../../platform/smtp-server/message-buffer.ts'
import { receiveMessage } from '../../platform/smtp-server/receive-message.ts'
import type { Connection } from '../../platform/smtp-server/smtp-connection.ts'
import type { Reply } from '../../platform/smtp-server/smtp-listener.ts'
import type { SmtpMail } from '../ingest/received-mail.ts'
import {
  type AcceptedRecipient,
  noRoom,
  notNow,
  recipientsOf,
  type TransactionDeps,
  wireFormOf,
} from './accept-envelope.ts'
import type { TransactionOutcome } from './observe-listener.ts'
import { isLooping, type TraceFacts, traceHeader } from './trace-header.ts'

interface Ended {
  readonly outcome: TransactionOutcome
  /** Undefined: nobody is there. */
  readonly reply?: Reply
  readonly inboundIds?: readonly string[]
}

const TOO_LARGE: Reply = { code: 552, text: '5.3.4 Message too large' }
const REFUSED = {
  too_large: { outcome: 'too_large', reply: TOO_LARGE },
  endless: { outcome: 'too_large', reply: { ...TOO_LARGE, isLast: true } },
  shredded: {
    outcome: 'malformed',
    reply: { code: 554, text: '5.6.0 Too many lines begin with a dot', isLast: true },
  },
  no_room: { outcome: 'no_room', reply: noRoom },
  cut: { outcome: 'cut' },
} as const satisfies Record<string, Ended>
/** All its recipients have it. */
const REPEATED: Ended = {
  outcome: 'repeated',
  reply: { code: 250, text: '2.0.0 queued before' },
}
const LOOPS: Ended = {
  outcome: 'looping',
  reply: { code: 554, text: '5.4.6 The message goes in circles' },
}

export async function acceptMessage(
  deps: TransactionDeps,
  connection: Connection,
  stream: SMTPServerDataStream,
): Promise<Reply | undefined> {
  const { facts } = connection
  const startedMs = deps.monotonicMs()
  const { envelope } = connection.session
  const recipients = recipientsOf(connection)
  const accepted = envelope.rcptTo.flatMap(({ address }) => recipients.get(address) ?? [])
  const trace = traceOf(deps, connection, accepted)
  const before = traceHeader(trace)
  const { address } = facts
  const buffer = createMessageBuffer({
    ...deps,
    before,
    address,
    madeWhole: (lineEnds) => facts.workLimiter.spend(lineEnds * WORTH.madeLineEnd),
  })
  facts.data = { sinceMs: startedMs, bytes: () => stream.byteLength }
  try {
    const received = await receiveMessage(stream, { ...deps, buffer, address })
    facts.data = undefined
    facts.isStoring = true
    const ended: Ended =
      received.kind === 'whole'
        ? await takeWhole(deps, trace, accepted, received.raw, before.length)
        : REFUSED[received.kind]
    tell(deps, trace, ended, stream.byteLength, deps.monotonicMs() - startedMs)
    return ended.reply
  } finally {
    facts.data = undefined
    facts.isStoring = false
    facts.idleCommands = 0
    buffer.release()
  }
}

function traceOf(
  { name, nowMicros }: TransactionDeps,
  { session }: Connection,
  accepted: readonly AcceptedRecipient[],
): TraceFacts {
  const { transmissionType } = session
  const { mailFrom, smtpUtf8: isUtf8 = false } = session.envelope
  return {
    envelope: {
      from: mailFrom === false ? '' : wireFormOf(mailFrom.address),
      to: accepted.map(({ address }) => address),
      remoteIp: session.remoteAddress,
      helo: session.hostNameAppearsAs,
      isTls: session.secure,
    },
    name,
    id: `${session.id}.${session.transaction}`,
    protocol: isUtf8 ? transmissionType.replace(/^E?/, 'UTF8') : transmissionType,
    atMicros: nowMicros(),
  }
}

async function takeWhole(
  deps: TransactionDeps,
  trace: TraceFacts,
  accepted: readonly AcceptedRecipient[],
  raw: Buffer,
  ownLength: number,
): Promise<Ended> {
  if (isLooping(raw.subarray(ownLength), trace)) return LOOPS
  const mail: SmtpMail = {
    raw,
    envelope: trace.envelope,
    routes: routesOf(accepted),
    receivedAtMicros: deps.nowMicros(),
  }
  let isAdmitted = false
  try {
    const stored = deps.disk.admit(raw.length, () => {
      isAdmitted = true
      return deps.store(mail)
    })
    const { inboundIds } = await withTimeout(stored, deps.limits.storeMsMax)
    const [id] = inboundIds
    if (id === undefined) return REPEATED
    return { outcome: 'stored', reply: { code: 250, text: `2.0.0 queued as ${id}` }, inboundIds }
  } catch (error) {
    if (!isAdmitted) return REFUSED.no_room
    deps.log.warn({ err: error, transaction_id: trace.id }, 'inbound_message.not_stored')
    return { outcome: 'not_stored', reply: notNow }
  }
}

/** By webhook: one message goes to each once. */
function routesOf(accepted: readonly AcceptedRecipient[]): SmtpMail['routes'] {
  const byOwner = new Map<string, { route: AcceptedRecipient['route']; to: string[] }>()
  for (const { address, route } of accepted) {
    const key = JSON.stringify([route.tenantId, route.owner, route.domain, route.username])
    const known = byOwner.get(key)
    if (known === undefined) byOwner.set(key, { route, to: [address] })
    else known.to.push(address)
  }
  return [...byOwner.values()]
}

function tell(
  { observe, log }: TransactionDeps,
  trace: TraceFacts,
  { outcome, inboundIds }: Ended,
  bytes: number,
  durationMs: number,
): void {
  observe.transaction({ outcome, bytes, durationMs })
  const { envelope } = trace
  log.info(
    {
      transaction_id: trace.id,
      remote_ip: envelope.remoteIp,
      helo: envelope.helo,
      is_tls: envelope.isTls,
      from: envelope.from,
      recipients: envelope.to.length,
      bytes,
      outcome,
      ...(inboundIds === undefined ? {} : { inbound_ids: inboundIds }),
      duration_ms: Math.round(durationMs),
    },
    'inbound_transaction.finished',
  )
}
