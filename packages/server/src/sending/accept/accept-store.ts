/**
 * SQL of accepting emails. Keys are in `key-store.ts`, the queue in `queue-store.ts`, attempts in
 * `attempt-store.ts`. Every statement names the tenant of each row that it touches.
 */
import { addressKeyOf } from '@postrider/mail'
import { isDomainMailer } from '../../mailers/index.ts'
import { bucketOf, insertRows, type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid, isTestId } from '../../platform/ids.ts'
import { insertOwnData } from '../own-data/own-data-store.ts'
import { domainFirst, isBulk, isScheduled, messageIdOf, type NewEmail } from '../record/email.ts'
import type { StoredContent } from '../record/stored-content.ts'
import {
  type EmailLinks,
  type EmailUnsubscribable,
  insertLinks,
  insertUnsubscribable,
} from '../tracking/store.ts'
import { insertStopped, type StoppedRecipient } from './stopped-store.ts'

/** An email on its way into the tables. */
export interface AcceptedEmail {
  readonly tenantId: string
  readonly refId: string
  readonly mailerId: string
  readonly email: NewEmail
  /** The places of its recipients who are not sent to. */
  readonly suppressed: readonly number[]
  readonly stored: StoredContent
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
  await Promise.all([
    ...insertEmailRows(tx, emails),
    insertRows(tx, {
      name: 'sending.insert_recipient',
      into: 'sending_recipient',
      columns: [
        'tenant_id',
        'ref_id',
        'n',
        'day',
        'email',
        'address_key',
        'type',
        'status',
        'message_id',
        'created_at',
      ],
      rows: emails.flatMap(toRecipientRows),
    }),
    insertStopped(tx, emails.flatMap(toSuppressed)),
    insertQueueRows(tx, 'sending_queue', queued),
    insertQueueRows(tx, 'sending_scheduled', scheduled),
    insertLinks(tx, emails.flatMap(toLinks)),
    insertOwnData(tx, own),
    insertUnsubscribable(tx, emails.flatMap(toUnsubscribable)),
  ])
}

const EMAIL_COLUMNS = [
  'tenant_id',
  'ref_id',
  'day',
  'mailer_id',
  'from_email',
  'subject',
  'campaign_id',
  'custom_args',
  'content',
  'attachments',
  'max_attempts',
  'expires_at',
  'traceparent',
  'created_at',
  'content_bytes',
  'queued_at',
  'template_id',
  'template_version',
  'message_id',
]

/** Those with data of recipients' own by themselves, so that all others do not pay for the column. */
function insertEmailRows(tx: Queryable, emails: readonly AcceptedEmail[]): Promise<unknown>[] {
  const [plain, own] = [emails.filter((e) => !hasOwn(e)), emails.filter(hasOwn)]
  const into = 'sending_email'
  const columns = EMAIL_COLUMNS
  const inserts = []
  if (plain.length > 0) {
    const rows = plain.map(toEmailRow)
    inserts.push(insertRows(tx, { name: 'sending.insert_email', into, columns, rows }))
  }
  if (own.length > 0)
    inserts.push(
      insertRows(tx, {
        ...{ name: 'sending.insert_own_email', into },
        columns: [...columns, 'has_own'],
        rows: own.map((e) => [...toEmailRow(e), true]),
      }),
    )
  return inserts
}

function hasOwn({ email }: AcceptedEmail): boolean {
  return email.own !== undefined
}

function toOwnData({ tenantId, refId, email: { own } }: AcceptedEmail) {
  return own === undefined ? [] : [{ tenantId, refId, own }]
}

async function insertQueueRows(
  tx: Queryable,
  into: 'sending_queue' | 'sending_scheduled',
  emails: readonly AcceptedEmail[],
): Promise<void> {
  if (emails.length === 0) return
  await insertRows(tx, {
    name: into.replace('_', '.insert_'),
    into,
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'mailer_id',
      'bucket',
      'due_at',
      'max_attempts',
      'expires_at',
      'content_bytes',
      'is_bulk',
    ],
    rows: emails.flatMap(toQueueRows),
  })
}

function toEmailRow(e: AcceptedEmail): unknown[] {
  const { content, campaignId, customArgs, maxAttempts, template } = e.email
  return [
    e.tenantId,
    e.refId,
    dayOfUlid(e.refId),
    e.mailerId,
    content.from.address,
    content.subject,
    campaignId ?? null,
    customArgs === null ? null : JSON.stringify(customArgs),
    e.stored.content,
    e.stored.attachments,
    maxAttempts,
    // What a rescue gives anew: as long as it was to be tried, without what it waited for its time.
    new Date(e.createdAt.getTime() + e.email.expiresInMs),
    e.traceparent,
    e.createdAt,
    e.contentBytes,
    isForLater(e) ? dueAtOf(e) : null,
    template?.templateId ?? null,
    template?.version ?? null,
    e.email.raw?.messageId ?? null,
  ]
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

function toRecipientRows(e: AcceptedEmail): unknown[][] {
  const { tenantId, refId, email, createdAt } = e
  const day = dayOfUlid(refId)
  const suppressed = new Set(e.suppressed)
  const status = isScheduled(refId, email) ? 'scheduled' : 'queued'
  return email.recipients.map((recipient, n) => [
    tenantId,
    refId,
    n,
    day,
    recipient.email,
    domainFirst(addressKeyOf(recipient.address)),
    recipient.type,
    suppressed.has(n) ? 'suppressed' : status,
    // A sending domain's provider has an id of its own, and of what is not sent there is none.
    suppressed.has(n) || isDomainMailer(e.mailerId)
      ? ''
      : (email.raw?.messageId ?? messageIdOf(refId, n, email.content.from.address)),
    createdAt,
  ])
}

function toSuppressed({ tenantId, refId, suppressed }: AcceptedEmail): StoppedRecipient[] {
  const day = dayOfUlid(refId)
  return suppressed.map((n) => ({ tenantId, refId, n, day, status: 'suppressed' }))
}

function toQueueRows(e: AcceptedEmail): unknown[][] {
  const bucket = bucketOf(e.mailerId)
  const dueAt = dueAtOf(e)
  const expiresAt = expiryOf(e)
  const suppressed = new Set(e.suppressed)
  const row = (n: number) => [
    e.tenantId,
    e.refId,
    n,
    e.mailerId,
    bucket,
    dueAt,
    e.email.maxAttempts,
    expiresAt,
    e.contentBytes,
    isBulk(e.email),
  ]
  return e.email.recipients.flatMap((_, n) => (suppressed.has(n) ? [] : [row(n)]))
}

function dueAtOf({ createdAt, email: { sendAt } }: AcceptedEmail): Date {
  return sendAt !== undefined && sendAt > createdAt ? sendAt : createdAt
}

function expiryOf(e: AcceptedEmail): Date {
  return new Date(dueAtOf(e).getTime() + e.email.expiresInMs)
}
