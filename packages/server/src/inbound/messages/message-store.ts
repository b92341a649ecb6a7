/** SQL of received messages, raw and as they go to one webhook each. Every statement names the tenant. */
import { formatMicros } from '../../platform/clock.ts'
import {
  arrayText,
  insertRows,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { compress, decompress } from '../../platform/values/zstd.ts'
import type { Envelope } from '../ingest/received-mail.ts'
import type { MessageKey } from '../process/queue-store.ts'

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

/** Of a row. A large message is written and read in several rows, so that the event loop stays free. */
const PIECE_BYTES = 512 * 1024

export async function insertRaws(tx: Tx, rows: readonly NewRaw[]): Promise<void> {
  const insert = async (pieces: readonly (NewRaw & { readonly piece: number })[]) =>
    await insertRows(tx, {
      name: 'inbound.insert_raw',
      into: 'inbound_raw',
      columns: ['tenant_id', 'raw_id', 'day', 'piece', 'raw'],
      rows: await Promise.all(
        pieces.map(async ({ tenantId, rawId, piece, raw }) => [
          ...[tenantId, rawId, dayOfUlid(rawId), piece],
          await compress(raw.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES)),
        ]),
      ),
    })
  await insert(rows.map((row) => ({ ...row, piece: 0 })))
  for (const row of rows)
    for (let piece = 1; piece * PIECE_BYTES < row.raw.length; piece += 1)
      await insert([{ ...row, piece }])
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
      ? [from.domain, from.username, null, null, null, JSON.stringify(toEnvelope(from.envelope))]
      : [null, null, from.mailerId, from.folder, from.serverThread ?? null, null]
  return [...key, ...door, formatMicros(receivedAtMicros), bytes, row.problem ?? null]
}

/** What a client says may hold anything; a column of JSON does not. */
function toEnvelope({ from, to, remoteIp, helo, isTls }: Envelope) {
  const clean = (text: string) => text.toWellFormed().replaceAll('\u0000', '\ufffd')
  return {
    from: clean(from),
    to: to.map(clean),
    remote_ip: remoteIp,
    helo: clean(helo),
    tls: isTls,
  }
}

/** What a list shows of a message that was read: a stranger's words, of bounded length. */
export interface MessageSummary {
  readonly from: { readonly name: string; readonly email: string } | null
  readonly subject: string
  /** Null: nothing was authenticated. */
  readonly authentication: {
    readonly spf: string
    readonly dkim: string
    readonly dmarc: string
  } | null
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
  /** Null: it was not read yet. */
  readonly summary: MessageSummary | null
}

const COLUMNS = `m.tenant_id as "tenantId", m.inbound_id as "inboundId", m.raw_id as "rawId", m.owner, m.source, m.domain,
  m.username, m.mailer_id as "mailerId", m.folder, m.server_thread as "serverThread", m.envelope,
  (extract(epoch from m.received_at) * 1000000)::bigint as "receivedAtMicros", m.bytes,
  m.reported_at as "reportedAt", m.problem, m.summary`
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

const OF_KEYS = (alias: string, id: string) =>
  `${alias}.tenant_id = k.tenant_id and ${alias}.${id} and ${alias}.day = k.day and ${alias}.day = any($3::date[])`

// One probe of each index for each message, whatever the statistics say of the tables: they know little of a day
// that has just begun, and another order of the joins reads all that the tenant received on it.
const LOAD = statement(
  'inbound.load_messages',
  `select ${COLUMNS}, r.raw
     from unnest($1::text[], $2::text[], $3::date[]) as k (tenant_id, inbound_id, day)
    cross join lateral (
      select * from inbound_message m where ${OF_KEYS('m', 'inbound_id = k.inbound_id')} limit 1) m
    cross join lateral (
      select r.raw from inbound_raw r
       where ${OF_KEYS('r', 'raw_id = m.raw_id')} and r.piece = 0 limit 1) r`,
)

export interface LoadedMessage extends StoredMessage {
  readonly raw: Buffer
}

/** One that was just inserted, as `loadMessages` reads it. */
export function justStored(row: NewMessage): StoredMessage {
  const { from } = row
  const isSmtp = from.source === 'smtp'
  return {
    tenantId: row.tenantId,
    inboundId: row.inboundId,
    rawId: row.rawId,
    owner: row.owner,
    source: from.source,
    domain: isSmtp ? from.domain : null,
    username: isSmtp ? from.username : null,
    mailerId: isSmtp ? null : from.mailerId,
    folder: isSmtp ? null : from.folder,
    serverThread: isSmtp ? null : (from.serverThread ?? null),
    envelope: isSmtp ? toEnvelope(from.envelope) : null,
    receivedAtMicros: row.receivedAtMicros,
    bytes: row.bytes,
    reportedAt: null,
    problem: row.problem ?? null,
    summary: null,
  }
}

/** With all of it; undefined for those that have left. In a transaction, after `planByIndex`. */
export async function loadMessages(
  q: Queryable,
  keys: readonly MessageKey[],
): Promise<(LoadedMessage | undefined)[]> {
  const { rows } = await q.query<Row & { readonly raw: Buffer }>(LOAD, keyColumnsOf(keys))
  const loaded = new Map<string, LoadedMessage>()
  for (const { raw: first, ...row } of rows) {
    const raw = await loadRest(q, row, await decompress(first))
    loaded.set(keyTextOf(row), { ...fromRow(row), raw })
  }
  return keys.map((key) => loaded.get(keyTextOf(key)))
}

export async function loadMessage(
  q: Queryable,
  key: MessageKey,
): Promise<LoadedMessage | undefined> {
  return (await loadMessages(q, [key]))[0]
}

function keyTextOf({ tenantId, inboundId }: MessageKey): string {
  return `${tenantId} ${inboundId}`
}

function keyColumnsOf(keys: readonly MessageKey[]): string[] {
  return [
    arrayText(keys.map(({ tenantId }) => tenantId)),
    arrayText(keys.map(({ inboundId }) => inboundId)),
    arrayText(keys.map(({ inboundId }) => dayOfUlid(inboundId))),
  ]
}

async function loadRest(q: Queryable, row: Row, first: Buffer): Promise<Buffer> {
  if (first.length === row.bytes) return first
  const raw = Buffer.allocUnsafeSlow(row.bytes)
  let length = first.copy(raw)
  for (let piece = 1; length < raw.length; piece += 1) {
    const read = await readPiece(q, row, piece)
    if (read === undefined) throw new Error(`${row.rawId} is not as long as it was`)
    length += read.copy(raw, length)
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

const READ_PIECE = statement(
  'inbound.read_piece',
  `select raw from inbound_raw
    where tenant_id = $1 and raw_id = $2 and day = $3 and piece = $4`,
)

/** Counted from 0. Undefined: there are no more, or all have left meanwhile. */
export async function readPiece(
  q: Queryable,
  { tenantId, rawId }: Pick<StoredMessage, 'tenantId' | 'rawId'>,
  piece: number,
): Promise<Buffer | undefined> {
  const values = [tenantId, rawId, dayOfUlid(rawId), piece]
  const { rows } = await q.query<{ raw: Buffer }>(READ_PIECE, values)
  return rows[0] && (await decompress(rows[0].raw))
}

const MARK_REPORTED = statement(
  'inbound.mark_reported',
  `update inbound_message m set reported_at = now(), problem = k.problem, summary = k.summary::json
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::text[])
       as k (tenant_id, inbound_id, day, problem, summary)
    where m.tenant_id = k.tenant_id and m.inbound_id = k.inbound_id and m.day = k.day
      and m.day = any($3::date[])`,
)

export async function markReported(
  tx: Tx,
  messages: readonly (MessageKey & {
    readonly problem: string | undefined
    readonly summary: MessageSummary | undefined
  })[],
): Promise<void> {
  if (messages.length === 0) return
  await tx.query(MARK_REPORTED, [
    ...keyColumnsOf(messages),
    textArray(messages.map(({ problem }) => problem ?? null)),
    textArray(
      messages.map(({ summary }) => (summary === undefined ? null : JSON.stringify(summary))),
    ),
  ])
}
