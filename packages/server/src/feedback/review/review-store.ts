/** SQL that finds what was reported of suppressed addresses. Every statement names the tenant. */
import type { RelayKind } from '@postrider/contract'
import { type Queryable, statement } from '../../platform/db/index.ts'
import { domainFirst, findSentTo } from '../../sending/index.ts'

export interface KeptBounce {
  readonly relay: RelayKind | null
  readonly reason: string
  readonly errorCode: string | null
  readonly status: string | null
}

export interface AskedSuppression {
  readonly emailKey: string
  /** A ULID: what it rests on was sent before. */
  readonly id: string
}

/** Of a ULID. Within a millisecond nothing tells which came first. */
const TIME_CHARS = 10
/** Of one email. */
const BOUNCES_MAX = 20

const FIND = statement(
  'feedback.find_bounces_of',
  `select w.i, f.relay, f.reason, f.error_code as "errorCode", f.status
     from unnest($2::int[], $3::text[], $4::int[], $5::date[]) as w (i, ref_id, n, day)
    cross join lateral (
      select relay, reason, error_code, status, received_at from feedback_fact
       where tenant_id = $1 and ref_id = w.ref_id and n = w.n and day = w.day
         and kind = 'bounced' and is_hard
       order by received_at desc limit $6) f
    order by w.i, f.received_at desc`,
)

/** What was reported as permanent of emails to each, newest first; in the order of the given. */
export async function findBouncesOf(
  q: Queryable,
  tenantId: string,
  asked: readonly AskedSuppression[],
): Promise<readonly (readonly KeptBounce[])[]> {
  const given = asked.map(({ emailKey, id }) => ({
    addressKey: domainFirst(emailKey),
    before: `${id.slice(0, TIME_CHARS)}Z`,
  }))
  const sent = await findSentTo(q, tenantId, given)
  const keys = sent.flatMap((all, i) => all.map((key) => ({ ...key, i })))
  const found: KeptBounce[][] = asked.map(() => [])
  if (keys.length === 0) return found
  const { rows } = await q.query<KeptBounce & { readonly i: number }>(FIND, [
    tenantId,
    keys.map(({ i }) => i),
    keys.map(({ refId }) => refId),
    keys.map(({ n }) => n),
    keys.map(({ day }) => day),
    BOUNCES_MAX,
  ])
  for (const { i, ...bounce } of rows) found[i]?.push(bounce)
  return found
}
