/** SQL of received messages, raw and as they go to one webhook each. Every statement names the tenant. */
import { formatMicros } from '../platform/clock.ts'
import { insertRows, type Tx } from '../platform/db/index.ts'
import { dayOfUlid } from '../platform/ids.ts'
import type { Envelope } from './received-mail.ts'

export interface NewRaw {
  readonly tenantId: string
  readonly rawId: string
  readonly raw: Buffer
}

export interface NewMessage {
  readonly tenantId: string
  readonly inboundId: string
  /** Made in the same millisecond: their days are one. */
  readonly rawId: string
  readonly bytes: number
  readonly owner: string
  readonly receivedAtMicros: bigint
  readonly from:
    | {
        readonly source: 'smtp'
        readonly domain: string
        readonly username: string
        readonly envelope: Envelope
      }
    | {
        readonly source: 'imap'
        readonly mailerId: string
        readonly folder: string
        readonly serverThread: string | undefined
      }
}

export async function insertRaws(tx: Tx, rows: readonly NewRaw[]): Promise<void> {
  await insertRows(tx, {
    name: 'inbound.insert_raw',
    into: 'inbound_raw',
    columns: ['tenant_id', 'raw_id', 'day', 'raw'],
    rows: rows.map(({ tenantId, rawId, raw }) => [tenantId, rawId, dayOfUlid(rawId), raw]),
  })
}

/** And their places in the queue. */
export async function insertMessages(tx: Tx, rows: readonly NewMessage[]): Promise<void> {
  await Promise.all([
    insertRows(tx, {
      name: 'inbound.insert_message',
      into: 'inbound_message',
      columns: [
        'tenant_id',
        'inbound_id',
        'day',
        'raw_id',
        'source',
        'owner',
        'domain',
        'username',
        'mailer_id',
        'folder',
        'server_thread',
        'envelope',
        'received_at',
        'bytes',
      ],
      rows: rows.map(toRow),
    }),
    insertRows(tx, {
      name: 'inbound.enqueue',
      into: 'inbound_queue',
      columns: ['tenant_id', 'inbound_id', 'bytes'],
      rows: rows.map(({ tenantId, inboundId, bytes }) => [tenantId, inboundId, bytes]),
    }),
  ])
}

function toRow(row: NewMessage): unknown[] {
  const { tenantId, inboundId, rawId, bytes, owner, receivedAtMicros, from } = row
  const key = [tenantId, inboundId, dayOfUlid(inboundId), rawId, from.source, owner]
  const door =
    from.source === 'smtp'
      ? [from.domain, from.username, null, null, null, envelopeJson(from.envelope)]
      : [null, null, from.mailerId, from.folder, from.serverThread ?? null, null]
  return [...key, ...door, formatMicros(receivedAtMicros), bytes]
}

/** What a client says may hold anything; a column of JSON does not. */
function envelopeJson({ from, to, remoteIp, helo, isTls }: Envelope): string {
  const clean = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd')
  const envelope = {
    from: clean(from),
    to: to.map(clean),
    remote_ip: remoteIp,
    helo: clean(helo),
    tls: isTls,
  }
  return JSON.stringify(envelope)
}
