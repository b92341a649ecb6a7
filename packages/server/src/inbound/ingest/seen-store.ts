/** SQL of what was received lately. */
import { arrayText, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { dropOld } from '../../platform/work/jobs.ts'

export interface SeenKey {
  readonly tenantId: string
  readonly digest: Buffer
}

/** How long a message is recognised (docs/reference/inbound.md#storing). */
export const SEEN_MS = 24 * 3_600_000

// Concurrent copies of one message wait for each other, in key order, so that there is no deadlock.
const NOTE = statement(
  'inbound.note_seen',
  `insert into inbound_seen as s (tenant_id, digest)
   select tenant_id, decode(digest, 'hex') from unnest($1::text[], $2::text[]) as k (tenant_id, digest)
    order by tenant_id collate "C", digest collate "C"
   on conflict (tenant_id, digest) do update set seen_at = now()
    where s.seen_at < now() - $3 * interval '1 ms'
   returning tenant_id as "tenantId", encode(digest, 'hex') as digest`,
)

export function seenKeyText({ tenantId, digest }: SeenKey): string {
  return `${tenantId} ${digest.toString('hex')}`
}

/** Each at most once. Answers those that were not seen, as `seenKeyText` writes them. */
export async function noteSeen(tx: Tx, keys: readonly SeenKey[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await tx.query<{ tenantId: string; digest: string }>(NOTE, [
    arrayText(keys.map(({ tenantId }) => tenantId)),
    arrayText(keys.map(({ digest }) => digest.toString('hex'))),
    SEEN_MS,
  ])
  return new Set(rows.map(({ tenantId, digest }) => `${tenantId} ${digest}`))
}

// Over all tenants: the janitor's.
const drop = dropOld({
  ...{ name: 'inbound.drop_old_seen', table: 'inbound_seen', since: 'seen_at' },
  key: ['tenant_id', 'digest'],
})

export function dropOldSeen(q: Queryable, limit: number): Promise<number> {
  return drop(q, SEEN_MS, limit)
}
