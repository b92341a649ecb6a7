/** SQL of the content of a sent email. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { EmailContent } from '../record/email.ts'

interface EmailId {
  readonly tenantId: string
  readonly refId: string
}

const keyOf = ({ tenantId, refId }: EmailId) => [tenantId, refId, dayOfUlid(refId)]

// Attachments stay in the database; of each the end of its base64 comes along, which tells the padding.
const SHOW = statement(
  'sending.show_content',
  `select e.created_at as "createdAt", c."from", c."to", c.cc, c."replyTo", c.subject, c.text, c.html,
          c.headers, c."templateProblem",
          (select json_agg(json_build_object(
             'filename', a.filename, 'type', a.type, 'disposition', a.disposition,
             'contentId', a."contentId", 'chars', length(a.content), 'end', right(a.content, 2)))
             from json_to_recordset(c.attachments)
               as a (filename json, type json, disposition json, "contentId" json, content text)
          ) as attachments
     from sending_email e
    cross join lateral json_to_record(e.content)
       as c ("from" json, "to" json, cc json, "replyTo" json, subject json, text json, html json,
             headers json, "templateProblem" json, attachments json)
    where e.tenant_id = $1 and e.ref_id = $2 and e.day = $3`,
)

export type ShownContent = Omit<
  EmailContent,
  'attachments' | 'tracking' | 'text' | 'html' | 'replyTo' | 'templateProblem'
> & {
  readonly createdAt: Date
  readonly text: string | null
  readonly html: string | null
  readonly replyTo: EmailContent['replyTo'] | null
  readonly templateProblem: string | null
  readonly attachments:
    | readonly {
        readonly filename: string
        readonly type: string | null
        readonly disposition: 'attachment' | 'inline' | null
        readonly contentId: string | null
        readonly chars: number
        readonly end: string
      }[]
    | null
}

/** Undefined when it has left with its day. */
export async function showContent(q: Queryable, id: EmailId): Promise<ShownContent | undefined> {
  return (await q.query<ShownContent>(SHOW, keyOf(id))).rows[0]
}

const LOAD = statement(
  'sending.load_whole_email',
  `select created_at as "createdAt", campaign_id as "campaignId", content from sending_email
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

export interface StoredEmail {
  readonly createdAt: Date
  readonly campaignId: string | null
  readonly content: EmailContent
}

export async function loadStored(q: Queryable, id: EmailId): Promise<StoredEmail | undefined> {
  return (await q.query<StoredEmail>(LOAD, keyOf(id))).rows[0]
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
