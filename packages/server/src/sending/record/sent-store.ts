/** SQL of recipients by the ids that relay providers gave their mail. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { RecipientKey } from './recipient-store.ts'

// One probe of the index by address for each, which has the newest first.
const FIND = statement(
  'sending.find_by_message_id',
  `select w.i::int as i, r.ref_id as "refId", r.n
     from unnest($2::text[], $3::text[], $4::text[], $5::int[]) as w (address_key, message_id, hashed, i)
    cross join lateral (
      select ref_id, n from (
        select ref_id, n, tenant_id, address_key, message_id from sending_recipient
         where hashtextextended(tenant_id || ' ' || address_key, 0) = hashtextextended(w.hashed, 0)
         order by ref_id desc, n desc limit $6) newest
       where tenant_id = $1 and address_key = w.address_key and message_id = w.message_id
       limit 1) r`,
)
/** Of one address the emails that are looked at. */
const NEWEST_MAX = 100

export interface SentMail {
  /** As `domainFirst` makes it. */
  readonly addressKey: string
  readonly messageId: string
}

/** Among the newest of each address; in the order of the given. */
export async function findByMessageId(
  q: Queryable,
  tenantId: string,
  given: readonly (SentMail | undefined)[],
): Promise<readonly (RecipientKey | undefined)[]> {
  const wanted = given.flatMap((one, i) => (one === undefined ? [] : [{ ...one, i }]))
  if (wanted.length === 0) return []
  const { rows } = await q.query<RecipientKey & { readonly i: number }>(FIND, [
    tenantId,
    wanted.map((one) => one.addressKey),
    wanted.map((one) => one.messageId),
    wanted.map((one) => `${tenantId} ${one.addressKey}`),
    wanted.map((one) => one.i),
    NEWEST_MAX,
  ])
  const found: (RecipientKey | undefined)[] = given.map(() => undefined)
  for (const { i, refId, n } of rows) found[i] = { refId, n }
  return found
}

// One probe of the index by address for each, which has the newest first.
const FIND_TO = statement(
  'sending.find_sent_to',
  `select w.i::int as i, r.ref_id as "refId", r.n, r.day
     from unnest($2::text[], $3::text[], $4::text[])
            with ordinality as w (address_key, hashed, before, i)
    cross join lateral (
      select ref_id, n, day from (
        select ref_id, n, day, tenant_id, address_key from sending_recipient
         where hashtextextended(tenant_id || ' ' || address_key, 0) = hashtextextended(w.hashed, 0)
           and ref_id < w.before
         order by ref_id desc, n desc limit $5) newest
       where tenant_id = $1 and address_key = w.address_key) r`,
)

export interface SentTo {
  /** As `domainFirst` makes it. */
  readonly addressKey: string
  /** Above the reference ids that are meant. */
  readonly before: string
}

/** The newest emails to each address, as many as are looked at; in the order of the given. */
export async function findSentTo(
  q: Queryable,
  tenantId: string,
  given: readonly SentTo[],
): Promise<readonly (readonly (RecipientKey & { readonly day: string })[])[]> {
  const found: (RecipientKey & { readonly day: string })[][] = given.map(() => [])
  if (given.length === 0) return found
  const { rows } = await q.query<RecipientKey & { readonly day: string; readonly i: number }>(
    FIND_TO,
    [
      tenantId,
      given.map(({ addressKey }) => addressKey),
      given.map(({ addressKey }) => `${tenantId} ${addressKey}`),
      given.map(({ before }) => before),
      NEWEST_MAX,
    ],
  )
  for (const { i, ...key } of rows) found[i - 1]?.push(key)
  return found
}
