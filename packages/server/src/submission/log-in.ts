/**
 * A login at the submission listener (docs/submission.md#login): any user name, and an API key as the
 * password. The key is asked about again before each answer that accepts a message, so that a revoked one
 * sends no more.
 */
import { withTimeout } from '@postrider/runtime/timeout'
import type { AuthenticateKey, TenantIdentity } from '../platform/http/bounds/admission.ts'
import type { FailureBudget } from '../platform/limits/failure-budget.ts'
import type { Logger } from '../platform/log.ts'
import type { Connection } from '../platform/smtp-server/smtp-connection.ts'
import type { Reply } from '../platform/smtp-server/smtp-listener.ts'
import type { SubmissionLimits } from './limits.ts'
import type { SubmissionObserver } from './observe-submission.ts'

export interface Logins {
  logIn(connection: Connection, password: string): Promise<Reply>
  /** Whose connection it is. */
  tenantOf(connection: Connection): string
  /** Whether its key is of test mode. */
  isTest(connection: Connection): boolean
  /** A refusal: its key is no longer right. */
  checkAgain(connection: Connection): Promise<Reply | undefined>
  closed(connection: Connection): void
}

export interface LoginDeps {
  readonly authenticateKey: AuthenticateKey
  readonly wrongKeys: FailureBudget
  readonly limits: SubmissionLimits
  readonly observe: Pick<SubmissionObserver, 'login'>
  readonly log: Logger
}

interface Login {
  readonly identity: TenantIdentity
  readonly key: string
}

const RIGHT: Reply = { code: 235, text: '2.7.0 Logged in' }
const UNKNOWN: Reply = {
  code: 535,
  text: '5.7.8 The password is no API key of this service, or it was revoked or has expired',
}
const NOT_NOW: Reply = { code: 454, text: '4.7.0 The key cannot be checked at the moment' }
const TOO_MANY_WRONG: Reply = { code: 421, text: '4.7.0 Too many wrong keys, try again later' }
const TOO_MANY: Reply = { code: 421, text: '4.7.0 Too many connections of this tenant' }

export function createLogins(deps: LoginDeps): Logins {
  const { authenticateKey, limits, log, observe, wrongKeys } = deps
  const logins = new Map<Connection, Login>()
  const counts = new Map<string, number>()

  function count(tenantId: string, change: 1 | -1): void {
    const open = (counts.get(tenantId) ?? 0) + change
    if (open > 0) counts.set(tenantId, open)
    else counts.delete(tenantId)
  }

  /** A refusal, or whose key it is. */
  async function examine(
    { remoteAddress }: Connection,
    key: string,
  ): Promise<Reply | TenantIdentity> {
    const asked = Promise.resolve(authenticateKey(key, () => remoteAddress))
    const identity = await withTimeout(asked, limits.logInMsMax)
    if (identity === undefined) return UNKNOWN
    const { networks, scopes } = identity
    if (networks?.has(remoteAddress) === false)
      return { code: 535, text: `5.7.8 This API key may not be used from ${remoteAddress}` }
    if (scopes.length > 0 && !scopes.includes('send'))
      return { code: 535, text: '5.7.8 This API key does not have the scope "send"' }
    return identity
  }

  async function examined(connection: Connection, key: string): Promise<Reply | TenantIdentity> {
    try {
      return await examine(connection, key)
    } catch (error) {
      log.warn({ err: error, connection_id: connection.id }, 'submission_login.not_checked')
      return NOT_NOW
    }
  }

  function forget(connection: Connection): void {
    const login = logins.get(connection)
    if (login === undefined) return
    logins.delete(connection)
    count(login.identity.tenantId, -1)
  }

  return {
    async logIn(connection, password) {
      // STARTTLS ends a login from before it: the next one takes its place.
      forget(connection)
      const found = await examined(connection, password)
      if ('code' in found) {
        observe.login(found === UNKNOWN ? 'wrong' : 'refused')
        const isOver = found === UNKNOWN && wrongKeys.note(connection.remoteAddress) !== undefined
        return isOver ? TOO_MANY_WRONG : found
      }
      const { tenantId } = found
      if ((counts.get(tenantId) ?? 0) >= limits.connectionsPerTenantMax) {
        observe.login('refused')
        return TOO_MANY
      }
      observe.login('right')
      if (connection.hasEnded) return NOT_NOW
      logins.set(connection, { identity: found, key: password })
      count(tenantId, 1)
      return RIGHT
    },
    tenantOf(connection) {
      const login = logins.get(connection)
      if (login === undefined) throw new Error('a transaction without a login')
      return login.identity.tenantId
    },
    isTest: (connection) => logins.get(connection)?.identity.mode === 'test',
    async checkAgain(connection) {
      const found = await examined(connection, logins.get(connection)?.key ?? '')
      return 'code' in found ? found : undefined
    },
    closed: forget,
  }
}
