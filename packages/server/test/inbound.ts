/** Mail as it is received, and what is stored of it. */

import type { InboundRoute, MailboxMail, SmtpMail } from '../src/inbound/ingest/received-mail.ts'
import type { Db } from '../src/platform/db/index.ts'
import { emptyTables } from './empty-tables.ts'

export function routeOf(o: Partial<InboundRoute> = {}): InboundRoute {
  const { tenantId = 'tn_a', domain = 'in.example.com', username = '' } = o
  return { tenantId, domain, username, owner: o.owner ?? `${domain}/${username}` }
}

export function rawMail(o: { messageId?: string; header?: string; body?: string } = {}): Buffer {
  const { messageId = '<one@sender.example>', header = '', body = 'Hello.\r\n' } = o
  const id = messageId === '' ? '' : `Message-ID: ${messageId}\r\n`
  return Buffer.from(
    `From: A <a@sender.example>\r\nTo: b@in.example.com\r\nSubject: Hello\r\n${id}${header}\r\n${body}`,
  )
}

let received = BigInt(Date.now()) * 1000n

export function smtpMail(
  o: Partial<Omit<SmtpMail, 'routes'>> & {
    readonly routes?: readonly (readonly [InboundRoute, ...string[]])[]
  } = {},
): SmtpMail {
  const routes = (o.routes ?? [[routeOf(), 'b@in.example.com']]).map(([route, ...to]) => ({
    route,
    to,
  }))
  received += 1n
  return {
    raw: o.raw ?? rawMail(),
    envelope: o.envelope ?? {
      from: 'a@sender.example',
      to: routes.flatMap(({ to }) => to),
      remoteIp: '192.0.2.1',
      helo: 'mail.sender.example',
      isTls: true,
    },
    routes,
    receivedAtMicros: o.receivedAtMicros ?? received,
  }
}

export function mailboxMail(o: Partial<MailboxMail> = {}): MailboxMail {
  received += 1n
  return {
    raw: rawMail(),
    tenantId: 'tn_a',
    mailerId: 'imap_1',
    folder: 'INBOX',
    receivedAtMicros: received,
    ...o,
  }
}

export interface StoredMessage {
  readonly tenant_id: string
  readonly inbound_id: string
  readonly raw_id: string
  readonly owner: string
  readonly username: string | null
  readonly mailer_id: string | null
  readonly envelope: { readonly to: readonly string[] } | null
  readonly bytes: number
  readonly problem: string | null
  readonly is_reported: boolean
}

export async function storedMessages(db: Db): Promise<StoredMessage[]> {
  const { rows } = await db.query<StoredMessage>(
    `select tenant_id, inbound_id, raw_id, owner, username, mailer_id, envelope, bytes, problem,
            reported_at is not null as is_reported
       from inbound_message order by tenant_id, inbound_id`,
  )
  return rows
}

export async function countOf(db: Db, table: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(`select count(*)::int as n from ${table}`)
  return rows[0]?.n ?? 0
}

export async function clearInbound(db: Db): Promise<void> {
  await emptyTables(db, 'inbound_raw', 'inbound_message', 'inbound_queue', 'inbound_seen')
}
