/** SQL of sessions. A session belongs to a user, who may act in several tenants: no statement has one. */
import type { OperatorRole } from '@postrider/contract'
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'
import { MEMBERSHIPS } from '../users/user-store.ts'

export const idleHours = 12
export const daysInAll = 14

export interface StoredSession {
  readonly sessionId: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly ip: string
  readonly userAgent: string
}

const IS_OPEN = `s.last_used_at > now() - interval '${idleHours} hours'
  and s.created_at > now() - interval '${daysInAll} days'`

const COLUMNS = `s.session_id as "sessionId", s.created_at as "createdAt", s.last_used_at as "lastUsedAt",
  s.ip, s.user_agent as "userAgent"`

/**
 * False when the user is gone, or has another password by now. The lock makes a change of the password wait, and
 * then find the session to end it.
 */
export async function insertSession(
  q: Queryable,
  o: {
    readonly sessionId: string
    readonly userId: string
    readonly tokenHash: Buffer
    readonly ip: string
    readonly userAgent: string
    /** Undefined: the session is not opened by a password. */
    readonly passwordHash: string | undefined
  },
): Promise<boolean> {
  const { rowCount } = await q.query(
    `insert into people_session (session_id, user_id, token_hash, ip, user_agent)
     select $1, user_id, $3, $4, $5 from people_user
      where user_id = $2 and ($6::text is null or password_hash = $6) for share`,
    [o.sessionId, o.userId, o.tokenHash, o.ip, o.userAgent, o.passwordHash ?? null],
  )
  return rowCount === 1
}

export interface FoundSession {
  readonly sessionId: string
  readonly userId: string
  readonly operatorRole: OperatorRole | null
  readonly content: boolean
  readonly memberships: readonly Membership[]
  /** Its last use was not written for a minute. */
  readonly isUseStale: boolean
}

const FIND_BY_HASH = statement(
  'people.find_sessions',
  `select s.session_id as "sessionId", u.user_id as "userId", u.operator_role as "operatorRole", u.content,
          s.last_used_at < now() - interval '1 minute' as "isUseStale", ${MEMBERSHIPS},
          encode(s.token_hash, 'hex') as "hash"
     from people_session s join people_user u using (user_id)
    where s.token_hash = any($1::bytea[]) and ${IS_OPEN}`,
)

/** In the order of the hashes. */
export async function findSessionsByHash(
  q: Queryable,
  hashes: readonly Buffer[],
): Promise<(FoundSession | undefined)[]> {
  const { rows } = await q.query<FoundSession & { readonly hash: string }>(FIND_BY_HASH, [hashes])
  const found = new Map(rows.map(({ hash, ...session }) => [hash, session]))
  return hashes.map((hash) => found.get(hash.toString('hex')))
}

const TOUCH = statement(
  'people.touch_session',
  `update people_session set last_used_at = now()
    where session_id = $1 and last_used_at < now() - interval '1 minute'`,
)

export async function touchSession(q: Queryable, sessionId: string): Promise<void> {
  await q.query(TOUCH, [sessionId])
}

export async function findSession(
  q: Queryable,
  sessionId: string,
): Promise<StoredSession | undefined> {
  const { rows } = await q.query<StoredSession>(
    `select ${COLUMNS} from people_session s where s.session_id = $1 and ${IS_OPEN}`,
    [sessionId],
  )
  return rows[0]
}

/** Newest first. */
export async function listSessionRows(q: Queryable, userId: string): Promise<StoredSession[]> {
  const { rows } = await q.query<StoredSession>(
    `select ${COLUMNS} from people_session s where s.user_id = $1 and ${IS_OPEN}
      order by s.session_id desc`,
    [userId],
  )
  return rows
}

export async function deleteSessionRow(
  q: Queryable,
  o: { readonly sessionId: string; readonly userId: string },
): Promise<boolean> {
  const { rowCount } = await q.query(
    'delete from people_session where session_id = $1 and user_id = $2',
    [o.sessionId, o.userId],
  )
  return rowCount === 1
}

export async function deleteSessionByHash(q: Queryable, tokenHash: Buffer): Promise<void> {
  await q.query('delete from people_session where token_hash = $1', [tokenHash])
}

export async function deleteSessionsOf(q: Queryable, userId: string): Promise<void> {
  await q.query('delete from people_session where user_id = $1', [userId])
}

/** Keeps the newest ones of a user. */
export async function deleteSurplusSessions(q: Queryable, userId: string, kept: number) {
  await q.query(
    `delete from people_session where session_id in (
       select session_id from people_session where user_id = $1
        order by session_id desc offset $2)`,
    [userId, kept],
  )
}

export async function deleteEndedSessions(q: Queryable, limit: number): Promise<number> {
  const { rowCount } = await q.query(
    `delete from people_session where ctid = any(array(
       select s.ctid from people_session s where not (${IS_OPEN}) limit $1))`,
    [limit],
  )
  return rowCount
}
