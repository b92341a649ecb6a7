/** SQL of received messages, raw and as they go to one webhook each. Every statement names the tenant. */
import { formatMicros } from '../platform/clock.ts'
import {
  arrayText,
  insertRows,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../platform/db/index.ts'
import { dayOfUlid } from '../platform/ids.ts'
import type { MessageKey } from './queue-store.ts'
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
  /** Why it is not whole. */
  readonly problem?: string | undefined
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
        'problem',
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
  return [...key, ...door, formatMicros(receivedAtMicros), bytes, row.problem ?? null]
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

/** What is known of a message without reading it. */
export interface StoredMessage extends MessageKey {
  readonly rawId: string
  readonly owner: string
  readonly source: 'smtp' | 'imap'
  readonly domain: string | null
  readonly username: string | null
  readonly mailerId: string | null
  readonly folder: string | null
  readonly serverThread: string | null
  readonly envelope: {
    readonly from: string
    readonly to: readonly string[]
    readonly remote_ip: string
    readonly helo: string
    readonly tls: boolean
  } | null
  readonly receivedAtMicros: bigint
  readonly bytes: number
  readonly reportedAt: Date | null
  readonly problem: string | null
}

const COLUMNS = `m.tenant_id as "tenantId", m.inbound_id as "inboundId", m.raw_id as "rawId", m.owner, m.source, m.domain,
  m.username, m.mailer_id as "mailerId", m.folder, m.server_thread as "serverThread", m.envelope,
  (extract(epoch from m.received_at) * 1000000)::bigint as "receivedAtMicros", m.bytes,
  m.reported_at as "reportedAt", m.problem`
const OF_ID = 'm.tenant_id = $1 and m.inbound_id = $2 and m.day = $3'

type Row = Omit<StoredMessage, 'receivedAtMicros'> & { readonly receivedAtMicros: string }

const FIND = statement(
  'inbound.find_message',
  `select ${COLUMNS} from inbound_message m where ${OF_ID}`,
)

export async function findMessage(
  q: Queryable,
  key: MessageKey,
): Promise<StoredMessage | undefined> {
  const { rows } = await q.query<Row>(FIND, valuesOf(key))
  return rows[0] && fromRow(rows[0])
}

const LOAD = statement(
  'inbound.load_message',
  `select ${COLUMNS}, case when m.bytes <= $4 then r.raw end as raw
     from inbound_message m
     join inbound_raw r on r.tenant_id = m.tenant_id and r.raw_id = m.raw_id and r.day = m.day
    where ${OF_ID}`,
)

/** Decoding a large one at a time would hold up the event loop. */
const PIECE_BYTES = 1024 * 1024

/** With all of it. In a transaction. */
export async function loadMessage(
  q: Queryable,
  key: MessageKey,
): Promise<(StoredMessage & { readonly raw: Buffer }) | undefined> {
  const values = [...valuesOf(key), PIECE_BYTES]
  const { rows } = await q.query<Row & { readonly raw: Buffer | null }>(LOAD, values)
  const [row] = rows
  if (row === undefined) return undefined
  return { ...fromRow(row), raw: row.raw ?? (await loadPieces(q, row)) }
}

async function loadPieces(q: Queryable, row: Row): Promise<Buffer> {
  const raw = Buffer.allocUnsafeSlow(row.bytes)
  for (let at = 0; at < raw.length; at += PIECE_BYTES) {
    const piece = await readRaw(q, row, { at, length: PIECE_BYTES })
    if (piece?.copy(raw, at) !== Math.min(PIECE_BYTES, raw.length - at))
      throw new Error(`${row.rawId} is not as long as it was`)
  }
  return raw
}

function valuesOf({ tenantId, inboundId }: MessageKey): string[] {
  return [tenantId, inboundId, dayOfUlid(inboundId)]
}

function fromRow<R extends Row>(row: R) {
  return { ...row, receivedAtMicros: BigInt(row.receivedAtMicros) }
}

const LIST = statement(
  'inbound.list_messages',
  `select ${COLUMNS} from inbound_message m
    where m.tenant_id = $1 and m.inbound_id < $2 and m.day <= $3
    order by m.inbound_id desc limit $4`,
)

/** Newest first, below an id. After `planByIndex`. */
export async function listMessages(
  q: Queryable,
  o: { readonly tenantId: string; readonly before: string; readonly limit: number },
): Promise<StoredMessage[]> {
  const values = [o.tenantId, o.before, dayOfUlid(o.before), o.limit]
  return (await q.query<Row>(LIST, values)).rows.map(fromRow)
}

const READ_RAW = statement(
  'inbound.read_raw',
  `select substring(raw from $4 for $5) as piece from inbound_raw
    where tenant_id = $1 and raw_id = $2 and day = $3`,
)

/** Some of its bytes: no more than these are read. Undefined when it has left meanwhile. */
export async function readRaw(
  q: Queryable,
  { tenantId, rawId }: Pick<StoredMessage, 'tenantId' | 'rawId'>,
  o: { readonly at: number; readonly length: number },
): Promise<Buffer | undefined> {
  const values = [tenantId, rawId, dayOfUlid(rawId), o.at + 1, o.length]
  return (await q.query<{ piece: Buffer }>(READ_RAW, values)).rows[0]?.piece
}

const MARK_REPORTED = statement(
  'inbound.mark_reported',
  `update inbound_message m set reported_at = now(), problem = k.problem
     from unnest($1::text[], $2::text[], $3::date[], $4::text[]) as k (tenant_id, inbound_id, day, problem)
    where m.tenant_id = k.tenant_id and m.inbound_id = k.inbound_id and m.day = k.day
      and m.day = any($3::date[])`,
)

export async function markReported(
  tx: Tx,
  messages: readonly (MessageKey & { readonly problem: string | undefined })[],
): Promise<void> {
  if (messages.length === 0) return
  await tx.query(MARK_REPORTED, [
    arrayText(messages.map(({ tenantId }) => tenantId)),
    arrayText(messages.map(({ inboundId }) => inboundId)),
    arrayText(messages.map(({ inboundId }) => dayOfUlid(inboundId))),
    textArray(messages.map(({ problem }) => problem ?? null)),
  ])
}
