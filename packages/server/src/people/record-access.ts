/**
 * Entries of the audit log about logins and the like (docs/reference/operator.md#audit-log): one in each
 * tenant of the user, and the operator's for a user without a tenant.
 */
import type { Db, Queryable } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { recordAudit } from '../tenants/index.ts'
import type { StoredUser } from './users/user.ts'
import { findUser, noteLoginFailure } from './users/user-store.ts'

/** Where a call comes from. */
export interface CallOrigin {
  readonly address: string
  readonly requestId: string
}

export interface Access {
  readonly operation: string
  /** The user, when left out. */
  readonly target?: string
  readonly status: number
}

export async function recordAccess(
  q: Queryable,
  { userId, memberships }: Pick<StoredUser, 'userId' | 'memberships'>,
  { operation, target = userId, status }: Access,
  o: { readonly from: CallOrigin; readonly actor?: string },
): Promise<void> {
  const { from, actor = userId } = o
  await recordAudit(q, {
    tenantIds: memberships.map(({ tenantId }) => tenantId),
    ...{ actor, operation, target, status },
    ...{ from: from.address, requestId: from.requestId },
  })
}

/**
 * A login that failed, once an hour for each user, so that a flood of logins fills no table. Nobody waits for it, so
 * the time of an answer does not tell whether there is a user.
 */
export function recordFailure(
  { db, log }: { readonly db: Db; readonly log: Logger },
  email: string,
  access: Access,
  from: CallOrigin,
): void {
  const record = db.transaction(async (tx) => {
    const userId = await noteLoginFailure(tx, email)
    const user = userId === undefined ? undefined : await findUser(tx, userId)
    if (user !== undefined) await recordAccess(tx, user, access, { from, actor: 'nobody' })
  })
  record.catch((error: unknown) => log.warn({ err: error }, 'login_failure.not_recorded'))
}
