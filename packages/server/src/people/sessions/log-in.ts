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
import { keyOf } from '../users/read-email.ts'
import { findUserByEmail, noteLoginNetwork } from '../users/user-store.ts'
import type { LoginLimits } from './login-limits.ts'
import { isPassword } from './password.ts'
import { deleteSessionByHash, deleteSurplusSessions, insertSession } from './session-store.ts'
import { hashToken, newToken } from './token.ts'

/** Of one user; the oldest ends when there are more. */
const SESSIONS_MAX = 50
const USER_AGENT_CHARS_MAX = 300

export interface Caller {
  readonly address: string
  readonly userAgent: string | undefined
  /** The cookie that came with the login: that session ends. */
  readonly cookie: string | undefined
}

interface Request {
  readonly clientAddress: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>> & {
    readonly cookie?: string | undefined
    readonly 'user-agent'?: string | undefined
  }
}

export function callerOf({ clientAddress, headers }: Request, cookieName: string): Caller {
  const cookie = readCookie(headers.cookie, cookieName)
  return { address: clientAddress, userAgent: headers['user-agent'], cookie }
}

export interface OpenedSession {
  readonly sessionId: string
  readonly userId: string
  /** For the cookie. */
  readonly token: string
}

export async function logIn(
  deps: { readonly db: Db; readonly hashing: ConcurrencyLimiter; readonly limits: LoginLimits },
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
      if (user === undefined || passwordHash === null || !isRight) throw wrongLogin()
      return await openSession(deps.db, user.userId, caller, passwordHash)
    })
  })
}

function wrongLogin(): ApiError {
  return new ApiError('unauthorized', { message: 'The address or the password is wrong' })
}

/**
 * Always under a new token: one that somebody else put into the browser is worth nothing.
 *
 * @param passwordHash of the password that was given: it may have been replaced meanwhile
 */
export async function openSession(
  db: Db,
  userId: string,
  caller: Caller,
  passwordHash?: string,
): Promise<OpenedSession> {
  const { token, tokenHash } = newToken()
  const sessionId = newId('ses')
  const { address, cookie, userAgent = '' } = caller
  if (cookie !== undefined) await deleteSessionByHash(db, hashToken(cookie))
  const isOpen = await insertSession(db, {
    ...{ sessionId, userId, tokenHash, ip: address, passwordHash },
    userAgent: userAgent.slice(0, USER_AGENT_CHARS_MAX),
  })
  if (!isOpen) throw wrongLogin()
  await deleteSurplusSessions(db, userId, SESSIONS_MAX)
  await noteLoginNetwork(db, userId, networkOf(address))
  return { sessionId, userId, token }
}
