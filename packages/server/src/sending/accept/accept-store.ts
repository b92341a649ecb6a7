/**
 * SQL of accepting emails. Keys are in `key-store.ts`, the queue in `queue-store.ts`, attempts in
 * `attempt-store.ts`. Every statement names the tenant of each row that it touches.
 */
import { addressKeyOf } from '@postrider/mail'
import { isDomainMailer } from '../../mailers/index.ts'
import {
  arrayText,
  bucketOf,
  bytesArray,
  nullableArrayText,
  type Queryable,
  type Statement,
  statement,
  textArray,
} from '../../platform/db/index.ts'
import { dayOfUlid, isTestId } from '../../platform/ids.ts'
import { insertOwnData } from '../own-data/own-data-store.ts'
import { domainFirst, isBulk, isScheduled, messageIdOf, type NewEmail } from '../record/email.ts'
import { insertStopped, type StoppedRecipient } from '../record/stopped-store.ts'
import type { ReadyContent } from '../record/stored-content.ts'
import {
  type EmailLinks,
  type EmailUnsubscribable,
  insertLinks,
  insertUnsubscribable,
} from '../tracking/store.ts'
import { type ContentRow, type PackedContents, packContents } from './pack-contents.ts'

/** An email on its way into the tables. */
export interface AcceptedEmail {
  readonly tenantId: string
  readonly refId: string
  readonly mailerId: string
  readonly email: NewEmail
  /** The places of its recipients who are not sent to. */
  readonly suppressed: readonly number[]
  readonly ready: ReadyContent
  /** About how much memory its content takes. */
  readonly contentBytes: number
  readonly traceparent: string
  readonly createdAt: Date
}

const TIME = statement('sending.time', 'select now() as now')

/** The database's time: what the queue's times are compared with, whatever this machine's clock. */
export async function readTime(q: Queryable): Promise<Date> {
  const { rows } = await q.query<{ now: Date }>(TIME)
  if (rows[0] === undefined) throw new Error('the database told no time')
  return rows[0].now
}

/** The email, its recipients, and the places of those who are sent to: in the queue or, until their time, beside it. */
export async function insertEmails(tx: Queryable, emails: readonly AcceptedEmail[]): Promise<void> {
  if (emails.length === 0) return
  const scheduled = emails.filter(isForLater)
  const queued = scheduled.length === 0 ? emails : emails.filter((e) => !isForLater(e))
  const own = emails.flatMap(toOwnData)
  const packed = packContents(emails)
  await Promise.all([
    insertEmailRows(tx, emails, packed),
    insertContents(tx, packed.rows),
    insertRecipients(tx, emails.flatMap(toRecipientRows)),
    insertStopped(tx, emails.flatMap(toSuppressed)),
    insertPlaces(tx, INSERT_QUEUED, queued.flatMap(toPlaces)),
    insertPlaces(tx, INSERT_SCHEDULED, scheduled.flatMap(toPlaces)),
    insertLinks(tx, emails.flatMap(toLinks)),
    insertOwnData(tx, own),
    insertUnsubscribable(tx, emails.flatMap(toUnsubscribable)),
  ])
}

const INSERT_EMAILS = statement(
  'sending.insert_emails',
  `insert into sending_email
     (tenant_id, ref_id, day, mailer_id, from_email, subject, content_bytes, max_attempts, expires_at,
      traceparent, created_at, campaign_id, custom_args, message_id, template_id, template_version,
      queued_at, has_own, content_of)
   select e.tenant_id, e.ref_id, e.day, e.mailer_id, e.from_email, e.subject, e.content_bytes,
          e.max_attempts, e.expires_at, e.traceparent, e.created_at, e.campaign_id, e.custom_args::json,
          e.message_id, e.template_id, e.template_version, e.queued_at, e.has_own,
          e.content_of
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::text[], $6::text[], $7::integer[],
            $8::smallint[], $9::timestamptz[], $10::text[], $11::timestamptz[], $12::text[], $13::text[],
            $14::text[], $15::text[], $16::integer[], $17::timestamptz[], $18::boolean[],
            $19::text[])
       as e (tenant_id, ref_id, day, mailer_id, from_email, subject, content_bytes, max_attempts,
             expires_at, traceparent, created_at, campaign_id, custom_args, message_id, template_id,
             template_version, queued_at, has_own, content_of)`,
)

async function insertEmailRows(
  tx: Queryable,
  emails: readonly AcceptedEmail[],
  { packOf }: Pick<PackedContents, 'packOf'>,
): Promise<void> {
  const { column, rare } = columnsOf(emails)
  await tx.query(INSERT_EMAILS, [
    column((e) => e.tenantId),
    column((e) => e.refId),
    column((e) => dayOfUlid(e.refId)),
    column((e) => e.mailerId),
    textArray(emails.map((e) => e.email.content.from.address)),
    textArray(emails.map((e) => e.email.content.subject)),
    column((e) => e.contentBytes),
    column((e) => e.email.maxAttempts),
    // What a rescue gives anew: as long as it was to be tried, without what it waited for its time.
    column((e) => later(e.createdAt, e.email.expiresInMs).toISOString()),
    textArray(emails.map((e) => e.traceparent)),
    column((e) => e.createdAt.toISOString()),
    rare((e) => e.email.campaignId ?? null, textArray),
    rare(({ email: { customArgs: args } }) => args && JSON.stringify(args), textArray),
    rare((e) => e.email.raw?.messageId ?? null, textArray),
    rare((e) => e.email.template?.templateId ?? null, textArray),
    rare((e) => e.email.template?.version ?? null, nullableArrayText),
    rare((e) => (isForLater(e) ? dueAtOf(e).toISOString() : null), nullableArrayText),
    rare((e) => (e.email.own === undefined ? null : true), nullableArrayText),
    rare(({ refId }) => otherThan(refId, packOf.get(refId)), nullableArrayText),
  ])
}

function otherThan(refId: string, contentOf: string | undefined): string | null {
  return contentOf === undefined || contentOf === refId ? null : contentOf
}

const INSERT_CONTENTS = statement(
  'sending.insert_contents',
  `insert into sending_content (tenant_id, ref_id, day, content, attachments)
   select c.tenant_id, c.ref_id, c.day, c.content, c.attachments
     from unnest($1::text[], $2::text[], $3::date[], $4::bytea[], $5::bytea[])
       as c (tenant_id, ref_id, day, content, attachments)`,
)

async function insertContents(tx: Queryable, rows: readonly ContentRow[]): Promise<void> {
  const { column, rare } = columnsOf(rows)
  await tx.query(INSERT_CONTENTS, [
    column((row) => row.tenantId),
    column((row) => row.refId),
    column((row) => row.day),
    bytesArray(rows.map((row) => row.content)),
    rare((row) => row.attachments, bytesArray),
  ])
}

/** `rare`: null where no row has a value, which the server fills in for as many rows as there are. */
function columnsOf<Row>(rows: readonly Row[]) {
  return {
    column: (of: (row: Row) => string | number | boolean) => arrayText(rows.map(of)),
    rare<Value>(of: (row: Row) => Value | null, toArray: (values: (Value | null)[]) => unknown) {
      const values = rows.map(of)
      return values.every((value) => value === null) ? null : toArray(values)
    },
  }
}

function toOwnData({ tenantId, refId, email: { own } }: AcceptedEmail) {
  return own === undefined ? [] : [{ tenantId, refId, own }]
}

const INSERT_RECIPIENTS = statement(
  'sending.insert_recipients',
  `insert into sending_recipient
     (tenant_id, ref_id, n, day, email, address_key, type, status, message_id, created_at)
   select * from unnest($1::text[], $2::text[], $3::smallint[], $4::date[], $5::text[], $6::text[],
     $7::text[], $8::text[], $9::text[], $10::timestamptz[])`,
)

async function insertRecipients(tx: Queryable, rows: readonly RecipientRow[]): Promise<void> {
  const { column } = columnsOf(rows)
  await tx.query(INSERT_RECIPIENTS, [
    column((r) => r.tenantId),
    column((r) => r.refId),
    column((r) => r.n),
    column((r) => r.day),
    textArray(rows.map((r) => r.email)),
    textArray(rows.map((r) => r.addressKey)),
    column((r) => r.type),
    column((r) => r.status),
    textArray(rows.map((r) => r.messageId)),
    column((r) => r.createdAt),
  ])
}

const insertingPlaces = (into: 'sending_queue' | 'sending_scheduled') =>
  statement(
    into.replace('_', '.insert_'),
    `insert into ${into}
       (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts, expires_at, content_bytes, is_bulk)
     select * from unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::smallint[],
       $6::timestamptz[], $7::smallint[], $8::timestamptz[], $9::integer[], $10::boolean[])`,
  )
const INSERT_QUEUED = insertingPlaces('sending_queue')
const INSERT_SCHEDULED = insertingPlaces('sending_scheduled')

async function insertPlaces(
  tx: Queryable,
  inserting: Statement,
  rows: readonly Place[],
): Promise<void> {
  if (rows.length === 0) return
  const { column } = columnsOf(rows)
  await tx.query(inserting, [
    column((r) => r.tenantId),
    column((r) => r.refId),
    column((r) => r.n),
    column((r) => r.mailerId),
    column((r) => r.bucket),
    column((r) => r.dueAt),
    column((r) => r.maxAttempts),
    column((r) => r.expiresAt),
    column((r) => r.contentBytes),
    column((r) => r.isBulk),
  ])
}

function toLinks({ tenantId, refId, email: { links } }: AcceptedEmail): EmailLinks[] {
  return links === undefined ? [] : [{ tenantId, refId, urls: links }]
}

function toUnsubscribable(e: AcceptedEmail): EmailUnsubscribable[] {
  const { tenantId, refId, email, mailerId } = e
  // A link in test mail suppresses nobody, however long it is kept somewhere.
  if (email.content.tracking?.unsubscribes !== true || isTestId(mailerId)) return []
  return [{ tenantId, refId, emails: email.recipients.map((recipient) => recipient.email) }]
}

function isForLater({ refId, email }: AcceptedEmail): boolean {
  return isScheduled(refId, email)
}

type RecipientRow = ReturnType<typeof toRecipientRows>[number]

function toRecipientRows(e: AcceptedEmail) {
  const { tenantId, refId, email } = e
  const day = dayOfUlid(refId)
  const createdAt = e.createdAt.toISOString()
  const suppressed = new Set(e.suppressed)
  const status = isScheduled(refId, email) ? 'scheduled' : 'queued'
  return email.recipients.map((recipient, n) => ({
    ...{ tenantId, refId, n, day, createdAt },
    email: recipient.email,
    addressKey: domainFirst(addressKeyOf(recipient.address)),
    type: recipient.type,
    status: suppressed.has(n) ? 'suppressed' : status,
    // Of what is not sent there is none.
    messageId: suppressed.has(n) ? '' : storedMessageIdOf(e, n),
  }))
}

/** In the row of a recipient who is sent to. A sending domain's provider has an id of its own. */
export function storedMessageIdOf(
  { refId, mailerId, email }: Pick<AcceptedEmail, 'refId' | 'mailerId' | 'email'>,
  n: number,
): string {
  if (isDomainMailer(mailerId)) return ''
  return email.raw?.messageId ?? messageIdOf(refId, n, email.content.from.address)
}

function toSuppressed({ tenantId, refId, suppressed }: AcceptedEmail): StoppedRecipient[] {
  const day = dayOfUlid(refId)
  return suppressed.map((n) => ({ tenantId, refId, n, day, status: 'suppressed' }))
}

type Place = ReturnType<typeof toPlaces>[number]

function toPlaces(e: AcceptedEmail) {
  const { tenantId, refId, mailerId, contentBytes } = e
  const { maxAttempts, expiresInMs, recipients } = e.email
  const dueAt = dueAtOf(e)
  const shared = {
    ...{ tenantId, refId, mailerId, contentBytes, maxAttempts },
    bucket: bucketOf(mailerId),
    dueAt: dueAt.toISOString(),
    expiresAt: later(dueAt, expiresInMs).toISOString(),
    isBulk: isBulk(e.email),
  }
  const suppressed = new Set(e.suppressed)
  return recipients.flatMap((_, n) => (suppressed.has(n) ? [] : [{ ...shared, n }]))
}

function dueAtOf({ createdAt, email: { sendAt } }: AcceptedEmail): Date {
  return sendAt !== undefined && sendAt > createdAt ? sendAt : createdAt
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}
