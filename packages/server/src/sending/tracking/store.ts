/**
 * SQL of tracking: where tracked links lead to, and whose copy of an email a hit is about. Every
 * statement names the tenant.
 */
import { arrayText, insertRows, type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { layOver, withRendering } from '../own-data/own-data.ts'
import { findRendering, readOwn } from '../own-data/own-data-store.ts'
import { CONTENT_OF_EMAIL, readWithoutFiles } from '../record/stored-content.ts'
import type { TrackedRecipient } from './tracking-urls.ts'

export interface EmailLinks {
  readonly tenantId: string
  readonly refId: string
  /** Each once, by the link's number. */
  readonly urls: readonly string[]
}

export async function insertLinks(tx: Queryable, emails: readonly EmailLinks[]): Promise<void> {
  await insertRows(tx, {
    name: 'sending.insert_link',
    into: 'sending_link',
    columns: ['tenant_id', 'ref_id', 'day', 'urls'],
    rows: emails.map(({ tenantId, refId, urls }) => [tenantId, refId, dayOfUlid(refId), urls]),
  })
}

const FIND_LINK = statement(
  'sending.find_link',
  'select urls[$4] as url from sending_link where tenant_id = $1 and ref_id = $2 and day = $3',
)

/**
 * Where a tracked link leads to: as written in the email's HTML, entities decoded, without the white
 * space that browsers leave out. Never changes. Undefined when the email has no such link, or is no
 * longer kept.
 *
 * @param link its number, from 0
 */
export async function findLink(
  q: Queryable,
  { tenantId, refId }: Pick<TrackedRecipient, 'tenantId' | 'refId'>,
  link: number,
): Promise<string | undefined> {
  const values = [tenantId, refId, dayOfUlid(refId), link + 1]
  const { rows } = await q.query<{ url: string | null }>(FIND_LINK, values)
  return rows[0]?.url ?? undefined
}

const FIND_LINKS = statement(
  'sending.find_links',
  `select k.link, urls[k.link + 1] as url
     from sending_link cross join unnest($4::integer[]) as k (link)
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

/** The same for several links of one email: each that it has, by its number. */
export async function findLinks(
  q: Queryable,
  { tenantId, refId }: Pick<TrackedRecipient, 'tenantId' | 'refId'>,
  links: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (links.length === 0) return new Map()
  const values = [tenantId, refId, dayOfUlid(refId), links]
  const { rows } = await q.query<{ link: number; url: string | null }>(FIND_LINKS, values)
  return new Map(rows.flatMap(({ link, url }) => (url === null ? [] : [[link, url]])))
}

export interface EmailTracks {
  readonly isOpenTracked: boolean
  /** Its tracked links in the order of the HTML, with their numbers. */
  readonly links: readonly { readonly link: number; readonly url: string }[]
}

const FIND_TRACKS = statement(
  'sending.find_tracks',
  `select c.content, e.has_own as "hasOwn", coalesce((select urls from sending_link
                     where tenant_id = $1 and ref_id = $2 and day = $3), '{}') as urls
     from sending_email e
    cross join ${CONTENT_OF_EMAIL}
    where e.tenant_id = $1 and e.ref_id = $2 and e.day = $3`,
)

/** What can be noticed of a recipient's copy; undefined when its content is no longer kept. */
export async function findTracks(
  q: Queryable,
  who: TrackedRecipient,
): Promise<EmailTracks | undefined> {
  const values = [who.tenantId, who.refId, dayOfUlid(who.refId)]
  const { rows } = await q.query<{ content: Buffer; hasOwn: true | null; urls: string[] }>(
    FIND_TRACKS,
    values,
  )
  if (rows[0] === undefined) return undefined
  const { content, hasOwn, urls } = rows[0]
  const own = hasOwn === null ? undefined : await findRendering(q, who)
  if (own === 'content removed') return undefined
  const { tracking } = withRendering(await readWithoutFiles(content, who.refId), own)
  const count = (tracking?.links ?? []).reduce((most, [, , link]) => Math.max(most, link + 1), 0)
  const links = Array.from({ length: count }, (_, i) => {
    const link = tracking?.linkNumbers?.[i] ?? i
    return { link, url: urls[link] ?? '' }
  })
  return { isOpenTracked: tracking?.pixelAt !== undefined, links }
}

export interface EmailUnsubscribable {
  readonly tenantId: string
  readonly refId: string
  /** Of all recipients, as the caller wrote them. */
  readonly emails: readonly string[]
}

/** For longer than the email is kept: a link in a mailbox has to work when it is long gone here. */
export async function insertUnsubscribable(
  tx: Queryable,
  emails: readonly EmailUnsubscribable[],
): Promise<void> {
  await insertRows(tx, {
    name: 'sending.insert_unsubscribable',
    into: 'sending_unsubscribable',
    columns: ['tenant_id', 'ref_id', 'day', 'emails'],
    rows: emails.map(({ tenantId, refId, emails }) => [tenantId, refId, dayOfUlid(refId), emails]),
  })
}

const FIND_UNSUBSCRIBABLE = statement(
  'sending.find_unsubscribable',
  `select emails[$4] as email from sending_unsubscribable
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

/** Whom an unsubscribe link is about, as the caller wrote the address. Undefined when that is forgotten, too. */
export async function findUnsubscribable(
  q: Queryable,
  { tenantId, refId, n }: Pick<TrackedRecipient, 'tenantId' | 'refId' | 'n'>,
): Promise<string | undefined> {
  const values = [tenantId, refId, dayOfUlid(refId), n + 1]
  const { rows } = await q.query<{ email: string | null }>(FIND_UNSUBSCRIBABLE, values)
  return rows[0]?.email ?? undefined
}

/** What an event about one recipient's copy needs (docs/reference/events.md#fields). */
export interface TrackedCopy {
  /** As the caller wrote it. */
  readonly email: string
  /** Of its latest attempt: a rescue may have changed it. */
  readonly mailerId: string
  readonly campaignId: string | null
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  readonly messageId: string
  readonly deliveredAt: Date | null
  /** How many have ended. */
  readonly attempts: number
}

// One probe of each index for each of the given, whatever the statistics say of the tables.
const FIND_COPIES = statement(
  'sending.find_copies',
  `select w.i::int as i, r.email, e.campaign_id as "campaignId", e.custom_args as "customArgs",
          e.has_own as "hasOwn", e.traceparent,
          r.message_id as "messageId", r.delivered_at as "deliveredAt", r.attempts,
          coalesce(a.mailer_id, e.mailer_id) as "mailerId"
     from unnest($1::text[], $2::text[], $3::int[], $4::date[]) with ordinality
       as w (tenant_id, ref_id, n, day, i)
    cross join lateral (
      select * from sending_recipient r
       where r.tenant_id = w.tenant_id and r.ref_id = w.ref_id and r.n = w.n and r.day = w.day
       limit 1) r
    cross join lateral (
      select * from sending_email e
       where e.tenant_id = w.tenant_id and e.ref_id = w.ref_id and e.day = w.day limit 1) e
     -- Without first attempts that were accepted, which the mailer of the email made.
     left join lateral (
      select a.mailer_id from sending_attempt a
       where a.tenant_id = w.tenant_id and a.ref_id = w.ref_id and a.n = w.n and a.day = w.day
       order by a.attempt desc limit 1) a on true`,
)

/**
 * By primary keys, in the order of the given. `mailerId`, `deliveredAt` and `attempts` may change
 * while an attempt is under way, and by a rescue of what was not delivered; the rest never does.
 * Undefined where there is no such recipient, or the email is no longer kept.
 */
export async function findTrackedCopies(
  q: Queryable,
  who: readonly TrackedRecipient[],
): Promise<readonly (TrackedCopy | undefined)[]> {
  if (who.length === 0) return []
  type Row = TrackedCopy & { readonly i: number; readonly hasOwn: true | null }
  const { rows } = await q.query<Row>(FIND_COPIES, [
    arrayText(who.map(({ tenantId }) => tenantId)),
    arrayText(who.map(({ refId }) => refId)),
    arrayText(who.map(({ n }) => n)),
    arrayText(who.map(({ refId }) => dayOfUlid(refId))),
  ])
  const found = new Map(
    rows.map(({ i, hasOwn: _, ...copy }): [number, TrackedCopy] => [i - 1, copy]),
  )
  const having = rows.flatMap(({ i, hasOwn }) => {
    const one = who[i - 1]
    return hasOwn === null || one === undefined ? [] : [{ i: i - 1, one }]
  })
  const own = await readOwn(
    q,
    having.map(({ one }) => one),
  )
  for (const [at, { i }] of having.entries()) {
    const copy = found.get(i)
    if (copy !== undefined)
      found.set(i, { ...copy, customArgs: layOver(copy.customArgs, own[at]?.customArgs ?? null) })
  }
  return who.map((_, i) => found.get(i))
}
