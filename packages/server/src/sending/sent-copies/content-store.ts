/** SQL of what a copy is built from. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { withRendering } from '../own-data/own-data.ts'
import { findRendering } from '../own-data/own-data-store.ts'
import { type EmailContent, numberOfMessageId } from '../record/email.ts'
import { CONTENT_OF_EMAIL, readStored, type StoredContent } from '../record/stored-content.ts'
import type { SentCopy } from './copy-jobs-store.ts'

const LOAD = statement(
  'sending.load_sent_copy',
  `select e.created_at as "createdAt", e.has_own as "hasOwn", c.content, c.attachments
     from sending_email e
    cross join ${CONTENT_OF_EMAIL}
    where e.tenant_id = $1 and e.ref_id = $2 and e.day = $3`,
)

const LOAD_BLIND = statement(
  'sending.load_blind_recipients',
  `select email from sending_recipient
    where tenant_id = $1 and ref_id = $2 and day = $3 and type = 'bcc' order by n`,
)

export interface StoredEmail {
  readonly createdAt: Date
  readonly content: EmailContent
  /** As the caller wrote them. */
  readonly bcc: readonly string[]
}

/** As the recipient of that Message-ID got it. Undefined when it, or its content, has left with its day. */
export async function loadEmail(
  q: Queryable,
  { tenantId, refId, messageId }: Pick<SentCopy, 'tenantId' | 'refId' | 'messageId'>,
): Promise<StoredEmail | undefined> {
  const key = [tenantId, refId, dayOfUlid(refId)]
  const [emails, blind] = await Promise.all([
    q.query<StoredContent & Pick<StoredEmail, 'createdAt'> & { hasOwn: true | null }>(LOAD, key),
    q.query<{ email: string }>(LOAD_BLIND, key),
  ])
  const [email] = emails.rows
  if (email === undefined) return undefined
  const n = numberOfMessageId(messageId)
  const own =
    email.hasOwn === null || n === undefined
      ? undefined
      : await findRendering(q, { tenantId, refId, n })
  if (own === 'content removed') return undefined
  const content = withRendering(await readStored(email, refId), own)
  return { createdAt: email.createdAt, content, bcc: blind.rows.map((row) => row.email) }
}
