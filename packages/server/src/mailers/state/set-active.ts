/**
 * setMailerActive and setOAuthActive (docs/reference/statuses.md#mailers): `false` disables a
 * mailer of any kind, `true` makes it active again. Neither is told by an event.
 *
 * One that is not active becomes so only when its login is not rejected: its grant was revoked, or its
 * password is wrong, also if it was disabled in between. Otherwise the next mail would be lost to finding
 * out anew. A server or provider that cannot be asked now does not stand in the way.
 */

import type { Db } from '../../platform/db/index.ts'
import { ApiError, refusalOf } from '../../platform/errors.ts'
import { countedCheck } from '../../platform/limits/counted-check.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { checkMailbox } from '../imap/configure/check-mailbox.ts'
import { asServerMailer, canSend, type Mailer, type ServerMailer } from '../mailer.ts'
import type { AccessTokens } from '../oauth/tokens/access-tokens.ts'
import { refusalOfToken } from '../oauth/tokens/refuse-token.ts'
import type { SaveMailerDeps } from '../save-mailer.ts'
import { type LoginCheckDeps, tryLogin } from '../smtp/check-login.ts'
import { getMailer } from '../store.ts'
import { changeState } from './change-state.ts'
import { reopenPassword } from './reopen-password.ts'

export interface SetActiveDeps extends SaveMailerDeps, LoginCheckDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly accessTokens: Pick<AccessTokens, 'get'>
}

const TIMEOUT_MS = 12_000

export async function setActive(
  deps: SetActiveDeps,
  key: { readonly tenantId: string; readonly mailerId: string },
  active: boolean,
): Promise<Mailer> {
  const { tenantId, mailerId } = key
  const mailer = await getMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined) throw new ApiError('not_found')
  if (active && mailer.state !== 'active' && mailer.connectionType !== 'relay')
    await countedCheck(deps, tenantId, () => refuseRejected(deps, mailer))
  const to = active ? 'active' : 'disabled'
  const changed = await deps.db.transaction((tx) =>
    changeState(tx, deps.clock, key, { kind: 'switched', to }),
  )
  if (changed === undefined) throw new ApiError('not_found')
  deps.wakeMail(changed.mailer)
  return changed.mailer
}

/** Of an OAuth mailer alone; any other is like one that does not exist. */
export async function setOAuthActive(
  deps: SetActiveDeps,
  key: { readonly tenantId: string; readonly mailerId: string },
  active: boolean,
): Promise<ServerMailer> {
  const found = await getMailer(deps.db, key.tenantId, key.mailerId)
  if (found?.connectionType !== 'oauth') throw new ApiError('not_found')
  return asServerMailer(await setActive(deps, key, active)) ?? found
}

async function refuseRejected(deps: SetActiveDeps, mailer: ServerMailer): Promise<void> {
  if (mailer.connectionType === 'oauth') return refuseRevoked(deps, mailer)
  try {
    await logIn(deps, mailer)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined || refusal.code === 'mailer_auth_failed') throw error
  }
}

async function refuseRevoked(deps: SetActiveDeps, mailer: ServerMailer): Promise<void> {
  const deadlineAt = performance.now() + TIMEOUT_MS
  const result = await deps.accessTokens.get(mailer, { deadlineAt, isCheck: true })
  if (result.kind === 'failed' && result.failure.verdict === 'revoked')
    throw refusalOfToken(result.failure)
}

async function logIn(deps: SetActiveDeps, mailer: ServerMailer): Promise<void> {
  const { username, ...server } = mailer.config
  if (username === undefined) return
  const login = { ...server, username, password: reopenPassword(deps, mailer) }
  if (canSend(mailer)) await tryLogin(deps, login)
  else await checkMailbox(deps, login, [])
}
