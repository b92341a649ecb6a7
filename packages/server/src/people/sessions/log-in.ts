/**
 * A login by password (docs/reference/people.md#sessions). An unknown address, a user without a password and a
 * wrong password are answered alike, after the same work.
 */
import type { CreateSessionBody } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { readCookie } from '../../platform/http/sessions/session.ts'
import { newId } from '../../platform/ids.ts'
import { networkOf } from '../../platform/limits/address-network.ts'
import type { Logger } from '../../platform/log.ts'
import { type Access, type CallOrigin, recordAccess, recordFailure } from '../record-access.ts'
import { keyOf } from '../users/read-email.ts'
import type { StoredUser } from '../users/user.ts'
import { findUserByEmail, noteLoginNetwork } from '../users/user-store.ts'
import type { LoginLimits } from './login-limits.ts'
import { isPassword } from './password.ts'
import { deleteSessionByHash, deleteSurplusSessions, insertSession } from './session-store.ts'
import { hashToken, newToken } from './token.ts'

/** Of one user; the oldest ends when there are more. */
const SESSIONS_MAX = 50
const USER_AGENT_CHARS_MAX = 300

export interface Caller extends CallOrigin {
  readonly userAgent: string | undefined
  /** The cookie that came with the login: that session ends. */
  readonly cookie: string | undefined
}

interface Request {
  readonly id: string
  readonly clientAddress: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>> & {
    readonly cookie?: string | undefined
    readonly 'user-agent'?: string | undefined
  }
}

export function callerOf({ clientAddress, headers, id }: Request, cookieName: string): Caller {
  const cookie = readCookie(headers.cookie, cookieName)
  return {
    ...{ address: clientAddress, requestId: id, userAgent: headers['user-agent'], cookie },
  }
}

export interface OpenedSession {
  readonly sessionId: string
  readonly userId: string
  /** For the cookie. */
  readonly token: string
}

export async function logIn(
  deps: {
    readonly db: Db
    readonly log: Logger
    readonly hashing: ConcurrencyLimiter
    readonly limits: LoginLimits
  },
  body: CreateSessionBody,
  caller: Caller,
): Promise<OpenedSession> {
  const account = keyOf(body.email)
  const network = networkOf(caller.address)
  return await deps.hashing.run(network, async () => {
    const user = await findUserByEmail(deps.db, account)
    const isUsual = user?.loginNetworks.includes(network) === true
    return await deps.limits.attempt({ account, address: caller.address, isUsual }, async () => {
      const passwordHash = user?.passwordHash ?? null
      const isRight = await isPassword(body.password, passwordHash)
      if (user === undefined || passwordHash === null || !isRight) {
        recordFailure(deps, account, { operation: 'createSession', status: 401 }, caller)
        throw wrongLogin()
      }
      const entry = { operation: 'createSession', status: 201 }
      return await openSession(deps.db, user, { caller, entry, passwordHash })
    })
  })
}

function wrongLogin(): ApiError {
  return new ApiError('unauthorized', { message: 'The address or the password is wrong' })
}

/** Always under a new token: one that somebody else put into the browser is worth nothing. */
export async function openSession(
  db: Db,
  user: Pick<StoredUser, 'userId' | 'memberships'>,
  o: {
    readonly caller: Caller
    /** Of the audit log. */
    readonly entry: Pick<Access, 'operation' | 'status'>
    /** Of the password that was given: it may have been replaced meanwhile. */
    readonly passwordHash?: string
  },
): Promise<OpenedSession> {
  const { caller, passwordHash } = o
  const { userId } = user
  const { token, tokenHash } = newToken()
  const sessionId = newId('ses')
  const { address, cookie, userAgent = '' } = caller
  if (cookie !== undefined) await deleteSessionByHash(db, hashToken(cookie))
  await db.transaction(async (tx) => {
    const isOpen = await insertSession(tx, {
      ...{ sessionId, userId, tokenHash, ip: address, passwordHash },
      userAgent: userAgent.slice(0, USER_AGENT_CHARS_MAX),
    })
    if (!isOpen) throw wrongLogin()
    await recordAccess(tx, user, { ...o.entry, target: sessionId }, { from: caller })
  })
  await deleteSurplusSessions(db, userId, SESSIONS_MAX)
  await noteLoginNetwork(db, userId, networkOf(address))
  return { sessionId, userId, token }
}
