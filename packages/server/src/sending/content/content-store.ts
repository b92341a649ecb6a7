/** SQL of the content of a sent email. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { EmailContent } from '../record/email.ts'
import {
  type ContentWithoutFiles,
  readStored,
  readWithoutFiles,
  type StoredContent,
} from '../record/stored-content.ts'

interface EmailId {
  readonly tenantId: string
  readonly refId: string
}

const keyOf = ({ tenantId, refId }: EmailId) => [tenantId, refId, dayOfUlid(refId)]

const SHOW = statement(
  'sending.show_content',
  `select created_at as "createdAt", content from sending_email
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

export type ShownContent = ContentWithoutFiles & { readonly createdAt: Date }

/** Attachments stay in the database. Undefined when it has left with its day. */
export async function showContent(q: Queryable, id: EmailId): Promise<ShownContent | undefined> {
  const { rows } = await q.query<{ createdAt: Date; content: Buffer }>(SHOW, keyOf(id))
  if (rows[0] === undefined) return undefined
  return { ...(await readWithoutFiles(rows[0].content)), createdAt: rows[0].createdAt }
}

const LOAD = statement(
  'sending.load_whole_email',
  `select created_at as "createdAt", campaign_id as "campaignId", message_id as "messageId", content, attachments
     from sending_email
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

export interface StoredEmail {
  readonly createdAt: Date
  readonly campaignId: string | null
  /** That it came with. */
  readonly messageId: string | null
  readonly content: EmailContent
}

export async function loadStored(q: Queryable, id: EmailId): Promise<StoredEmail | undefined> {
  const { rows } = await q.query<StoredContent & Omit<StoredEmail, 'content'>>(LOAD, keyOf(id))
  if (rows[0] === undefined) return undefined
  const { createdAt, campaignId, messageId } = rows[0]
  return { createdAt, campaignId, messageId, content: await readStored(rows[0]) }
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
