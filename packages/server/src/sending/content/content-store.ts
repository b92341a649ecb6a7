/** SQL of the content of a sent email. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { withRendering } from '../own-data/own-data.ts'
import { findRendering } from '../own-data/own-data-store.ts'
import type { EmailContent } from '../record/email.ts'
import {
  CONTENT_OF_EMAIL,
  type ContentWithoutFiles,
  readStored,
  readWithoutFiles,
} from '../record/stored-content.ts'

interface EmailId {
  readonly tenantId: string
  readonly refId: string
}

const keyOf = ({ tenantId, refId }: EmailId) => [tenantId, refId, dayOfUlid(refId)]

/** The record of an email may be there without its content (docs/reference/running.md#retention). */
const EMAIL_WITH_CONTENT = `sending_email e
     left join ${CONTENT_OF_EMAIL} on true
    where e.tenant_id = $1 and e.ref_id = $2 and e.day = $3`

const SHOW = statement(
  'sending.show_content',
  `select e.created_at as "createdAt", e.has_own as "hasOwn", c.content
     from ${EMAIL_WITH_CONTENT}`,
)

export type ShownContent = ContentWithoutFiles & { readonly createdAt: Date }

/**
 * What the recipient with this number gets; undefined: what those get who have no data of their own. Attachments
 * stay in the database. Undefined when it has left with its day.
 */
export async function showContent(
  q: Queryable,
  id: EmailId,
  n: number | undefined,
): Promise<ShownContent | 'content removed' | undefined> {
  type Row = { createdAt: Date; hasOwn: true | null; content: Buffer | null }
  const { rows } = await q.query<Row>(SHOW, keyOf(id))
  if (rows[0] === undefined) return undefined
  const { createdAt, content, hasOwn } = rows[0]
  if (content === null) return 'content removed'
  const own = hasOwn === null || n === undefined ? undefined : await findRendering(q, { ...id, n })
  if (own === 'content removed') return own
  return { ...withRendering(await readWithoutFiles(content, id.refId), own), createdAt }
}

const LOAD = statement(
  'sending.load_whole_email',
  `select e.created_at as "createdAt", e.campaign_id as "campaignId", e.message_id as "messageId",
          e.has_own as "hasOwn", c.content, c.attachments
     from ${EMAIL_WITH_CONTENT}`,
)

export interface StoredEmail {
  readonly createdAt: Date
  readonly campaignId: string | null
  /** That it came with. */
  readonly messageId: string | null
  readonly content: EmailContent
}

/** With what the recipient with this number gets. */
export async function loadStored(
  q: Queryable,
  id: EmailId,
  n: number,
): Promise<StoredEmail | 'content removed' | undefined> {
  type Row = Omit<StoredEmail, 'content'> & {
    readonly hasOwn: true | null
    readonly content: Buffer | null
    readonly attachments: Buffer | null
  }
  const { rows } = await q.query<Row>(LOAD, keyOf(id))
  if (rows[0] === undefined) return undefined
  const { createdAt, campaignId, messageId, hasOwn, content: stored, attachments } = rows[0]
  if (stored === null) return 'content removed'
  const own = hasOwn === null ? undefined : await findRendering(q, { ...id, n })
  if (own === 'content removed') return own
  const whole = await readStored({ content: stored, attachments }, id.refId)
  const content = withRendering(whole, own)
  return { createdAt, campaignId, messageId, content }
}

const RECIPIENTS = statement(
  'sending.list_addresses',
  `select n, email from sending_recipient where tenant_id = $1 and ref_id = $2 and day = $3 order by n`,
)

/** Of an email, which has a bounded number of them. */
export async function listAddresses(
  q: Queryable,
  id: EmailId,
): Promise<{ readonly n: number; readonly email: string }[]> {
  return (await q.query<{ n: number; email: string }>(RECIPIENTS, keyOf(id))).rows
}
