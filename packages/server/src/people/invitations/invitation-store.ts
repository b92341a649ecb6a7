/** SQL of invitations. A link names its user, or is the set-up link; it belongs to no tenant. */
import type { Queryable, Tx } from '../../platform/db/index.ts'

export interface Invitation {
  /** null: the set-up link. */
  readonly userId: string | null
}

/** Earlier links of the user open nothing any more. */
export async function insertInvitation(
  tx: Tx,
  o: { readonly tokenHash: Buffer; readonly userId: string; readonly ttlMs: number },
): Promise<void> {
  await deleteInvitationsOf(tx, o.userId)
  await tx.query(
    `insert into people_invitation (token_hash, user_id, expires_at)
     values ($1, $2, now() + $3::float8 * interval '1 ms')`,
    [o.tokenHash, o.userId, o.ttlMs],
  )
}

export async function deleteInvitationsOf(tx: Tx, userId: string): Promise<void> {
  await tx.query('delete from people_invitation where user_id = $1', [userId])
}

/** False when there is a user already. */
export async function insertSetupLink(
  tx: Tx,
  o: { readonly tokenHash: Buffer; readonly ttlMs: number },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into people_invitation (token_hash, expires_at)
     select $1, now() + $2::float8 * interval '1 ms'
      where not exists (select from people_user)`,
    [o.tokenHash, o.ttlMs],
  )
  return rowCount === 1
}

export async function findInvitation(
  q: Queryable,
  tokenHash: Buffer,
): Promise<Invitation | undefined> {
  const { rows } = await q.query<Invitation>(
    `select user_id as "userId" from people_invitation where token_hash = $1 and expires_at > now()`,
    [tokenHash],
  )
  return rows[0]
}

/** Undefined when it was used meanwhile: of two at once, one gets it. */
export async function takeInvitation(tx: Tx, tokenHash: Buffer): Promise<Invitation | undefined> {
  const { rows } = await tx.query<Invitation>(
    `delete from people_invitation where token_hash = $1 and expires_at > now()
     returning user_id as "userId"`,
    [tokenHash],
  )
  return rows[0]
}

export async function deleteSetupLinks(tx: Tx): Promise<void> {
  await tx.query('delete from people_invitation where user_id is null')
}

export async function deleteExpiredInvitations(q: Queryable, limit: number): Promise<number> {
  const { rowCount } = await q.query(
    `delete from people_invitation where ctid = any(array(
       select ctid from people_invitation where expires_at < now() limit $1))`,
    [limit],
  )
  return rowCount
}
