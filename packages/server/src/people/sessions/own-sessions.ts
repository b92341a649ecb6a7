/** The sessions of a user (docs/reference/people.md#sessions): what one tells of itself, all, and the end of one. */
import type { CreateSessionAnswer, ListedSession } from '@postrider/contract'
import type { Db, Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Person } from '../../platform/http/sessions/session.ts'
import { findTenants } from '../../tenants/index.ts'
import { type CallOrigin, recordAccess } from '../record-access.ts'
import { toWireUser } from '../users/user.ts'
import { findUser } from '../users/user-store.ts'
import {
  daysInAll,
  deleteSessionRow,
  findSession,
  idleHours,
  listSessionRows,
  type StoredSession,
} from './session-store.ts'

const HOUR_MS = 3_600_000

export async function describeSession(
  db: Db,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
): Promise<Omit<CreateSessionAnswer, 'success' | 'message'>> {
  const [found, session] = await Promise.all([findUser(db, userId), findSession(db, sessionId)])
  // It ended since it was let in.
  if (found === undefined || session === undefined) throw new ApiError('unauthorized')
  const user = toWireUser(found)
  const tenants = await findTenants(db, user.tenants)
  return {
    user,
    role: user.role,
    tenants: user.memberships.map((one) => {
      const { name = '', state = 'deleting' } = tenants.get(one.tenant_id) ?? {}
      return { ...one, name, state }
    }),
    session_id: sessionId,
    expires_at: endOf(session).toISOString(),
  }
}

function endOf({ createdAt, lastUsedAt }: StoredSession): Date {
  const idleMs = lastUsedAt.getTime() + idleHours * HOUR_MS
  return new Date(Math.min(idleMs, createdAt.getTime() + daysInAll * 24 * HOUR_MS))
}

export async function listOwnSessions(db: Db, person: Person): Promise<ListedSession[]> {
  const rows = await listSessionRows(db, person.userId)
  return rows.map((row) => ({
    session_id: row.sessionId,
    current: row.sessionId === person.sessionId,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt.toISOString(),
    ip: row.ip,
    user_agent: row.userAgent,
  }))
}

/** Of nobody else: the session of another user is not found. */
export async function endSession(
  q: Queryable,
  { userId }: Pick<Person, 'userId'>,
  sessionId: string,
): Promise<void> {
  if (!(await deleteSessionRow(q, { userId, sessionId }))) throw new ApiError('not_found')
}

/** The same, of a session that may be somewhere else. */
export async function revokeSession(
  db: Db,
  person: Person,
  o: { readonly sessionId: string; readonly from: CallOrigin },
): Promise<void> {
  const { from, sessionId } = o
  await db.transaction(async (tx) => {
    await endSession(tx, person, sessionId)
    const entry = { operation: 'revokeSession', target: sessionId, status: 200 }
    await recordAccess(tx, person, entry, { from })
  })
}
