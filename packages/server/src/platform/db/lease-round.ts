/** The SQL of the bucket leases: one round of a member, and its leaving. All times are the database's. */
import { type Db, statement, type Tx } from './statement.ts'

export const bucketCount = 64

export interface BucketRound {
  /** Epoch by bucket: all that this member owns now. */
  readonly epochs: ReadonlyMap<number, number>
  /** How many it should own. */
  readonly share: number
}

interface Member {
  readonly db: Db
  readonly role: string
  readonly memberId: string
  readonly ttlMs: number
}

interface OwnedRow {
  readonly bucket: number
  readonly epoch: string
}

const lockRole = statement(
  'lease_lock_role',
  `select pg_advisory_xact_lock(hashtextextended('platform_lease ' || $1, 0))`,
)

const addBuckets = statement(
  'lease_add_buckets',
  `insert into platform_lease (role, bucket)
   select $1, bucket from generate_series(0, $2::int - 1) bucket
   where (select count(*) from platform_lease where role = $1) < $2::int
   on conflict do nothing`,
)

const beat = statement(
  'lease_beat',
  `insert into platform_member (role, member_id, expires_at)
   values ($1, $2, clock_timestamp() + $3::float8 * interval '1 ms')
   on conflict (role, member_id) do update set expires_at = excluded.expires_at`,
)

const forgetMembers = statement(
  'lease_forget_members',
  'delete from platform_member where role = $1 and expires_at <= clock_timestamp()',
)

const selectMembers = statement(
  'lease_select_members',
  'select member_id from platform_member where role = $1 order by member_id',
)

const renewBuckets = statement(
  'lease_renew_buckets',
  `update platform_lease set expires_at = clock_timestamp() + $3::float8 * interval '1 ms'
   where role = $1 and member_id = $2 and expires_at > clock_timestamp()
   returning bucket, epoch`,
)

const giveBuckets = statement(
  'lease_give_buckets',
  `update platform_lease set member_id = null, expires_at = '-infinity'
   where role = $1 and member_id = $2 and bucket = any($3::smallint[])`,
)

const takeBuckets = statement(
  'lease_take_buckets',
  `update platform_lease
   set member_id = $2, epoch = epoch + 1, expires_at = clock_timestamp() + $3::float8 * interval '1 ms'
   where role = $1 and bucket in (
     select bucket from platform_lease
     where role = $1 and (member_id is null or expires_at <= clock_timestamp())
     order by bucket limit $4::int
   )
   returning bucket, epoch`,
)

/**
 * `keep` is called with the buckets that are held, those above the share last, and answers which of them remain. It is
 * called before the commit, so that no one sees a bucket free that is still used.
 */
export function runLeaseRound(
  o: Member,
  keep: (held: readonly number[], share: number) => ReadonlySet<number>,
): Promise<BucketRound> {
  return o.db.transaction(async (tx) => {
    const [, , , , members, renewed] = await Promise.all([
      tx.query(lockRole, [o.role]),
      tx.query(addBuckets, [o.role, bucketCount]),
      tx.query(beat, [o.role, o.memberId, o.ttlMs]),
      tx.query(forgetMembers, [o.role]),
      tx.query<{ member_id: string }>(selectMembers, [o.role]),
      tx.query<OwnedRow>(renewBuckets, [o.role, o.memberId, o.ttlMs]),
    ])
    const rank = members.rows.findIndex((row) => row.member_id === o.memberId)
    const share = shareOf(rank, members.rows.length)
    const held = renewed.rows.sort((a, b) => a.bucket - b.bucket)
    const remaining = keep(
      held.map((row) => row.bucket),
      share,
    )
    const kept = held.filter((row) => remaining.has(row.bucket))
    const given = held.map((row) => row.bucket).filter((bucket) => !remaining.has(bucket))
    if (given.length > 0) await tx.query(giveBuckets, [o.role, o.memberId, given])
    const taken = kept.length < share ? await take(tx, o, share - kept.length) : []
    return {
      share,
      epochs: new Map([...kept, ...taken].map((row) => [row.bucket, Number(row.epoch)])),
    }
  })
}

async function take(tx: Tx, o: Member, count: number): Promise<OwnedRow[]> {
  return (await tx.query<OwnedRow>(takeBuckets, [o.role, o.memberId, o.ttlMs, count])).rows
}

/** Shares differ by one at most and add up to all buckets. */
function shareOf(rank: number, members: number): number {
  return Math.floor(bucketCount / members) + (rank < bucketCount % members ? 1 : 0)
}

export function leaveRole(o: Member): Promise<void> {
  return o.db.transaction(async (tx) => {
    await tx.query(lockRole, [o.role])
    await tx.query(
      `update platform_lease set member_id = null, expires_at = '-infinity'
       where role = $1 and member_id = $2`,
      [o.role, o.memberId],
    )
    await tx.query('delete from platform_member where role = $1 and member_id = $2', [
      o.role,
      o.memberId,
    ])
  })
}
