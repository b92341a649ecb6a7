/**
 * setOAuthActive (interface §3 "Mailer", §4.3): `false` disables the mailer, `true` makes it active
 * again. Neither is told by an event.
 *
 * One whose grant was revoked becomes active only when a token can be had again, also if it was
 * disabled in between: otherwise the next mail would be lost to finding out anew. A provider that
 * cannot be asked now does not stand in the way.
 */

import { type CheckBounds, countedCheck } from '../../platform/counted-check.ts'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { changeState } from '../change-state.ts'
import { asServerMailer, type ServerMailer } from '../mailer.ts'
import type { SaveMailerDeps } from '../save-mailer.ts'
import { getServerMailer } from '../store.ts'
import type { AccessTokens } from './access-tokens.ts'
import { refusalOfToken } from './refuse-token.ts'

export interface SetActiveDeps extends SaveMailerDeps {
  readonly db: Db
  readonly accessTokens: Pick<AccessTokens, 'get'>
  readonly checks: CheckBounds
}

const TIMEOUT_MS = 12_000

export async function setActive(
  deps: SetActiveDeps,
  tenantId: string,
  mailerId: string,
  active: boolean,
): Promise<ServerMailer> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  if (mailer?.connectionType !== 'oauth') throw new ApiError('not_found')
  if (active && mailer.state !== 'active')
    await countedCheck(deps, tenantId, () => refuseRevoked(deps, mailer))
  const to = active ? 'active' : 'disabled'
  const changed = await deps.db.transaction((tx) =>
    changeState(tx, deps.clock, mailer, { kind: 'switched', to }),
  )
  const switched = asServerMailer(changed?.mailer)
  if (switched === undefined) throw new ApiError('not_found')
  deps.wakeMail(switched)
  return switched
}

async function refuseRevoked(deps: SetActiveDeps, mailer: ServerMailer): Promise<void> {
  const deadlineAt = performance.now() + TIMEOUT_MS
  const result = await deps.accessTokens.get(mailer, { deadlineAt, isCheck: true })
  if (result.kind === 'failed' && result.failure.verdict === 'revoked')
    throw refusalOfToken(result.failure)
}
