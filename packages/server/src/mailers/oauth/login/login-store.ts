/** All SQL of logins under way. */
import type { OAuthLoginType } from '@postrider/contract'
import { type Queryable, statement } from '../../../platform/db/index.ts'

export interface PendingLogin {
  readonly tenantId: string
  readonly appId: string
  readonly mailerId?: string
  readonly type: OAuthLoginType
  readonly redirectUri?: string
  /** Sealed. */
  readonly secret: string
}

const INSERT = statement(
  'mailers.insert_login',
  `insert into mailers_oauth_login (state_hash, tenant_id, app_id, mailer_id, type, redirect_uri,
     secret, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 ms')`,
)

export async function insertLogin(
  q: Queryable,
  stateHash: Buffer,
  login: PendingLogin,
  expiresInMs: number,
): Promise<void> {
  await q.query(INSERT, [
    stateHash,
    login.tenantId,
    login.appId,
    login.mailerId ?? null,
    login.type,
    login.redirectUri ?? null,
    login.secret,
    expiresInMs,
  ])
}

/** Of every tenant: nobody comes back for these. */
const DELETE_EXPIRED = statement(
  'mailers.delete_expired_logins',
  `delete from mailers_oauth_login where state_hash in (
     select state_hash from mailers_oauth_login where expires_at < now() limit $1
     for update skip locked)`,
)

export async function deleteExpiredLogins(q: Queryable, limit: number): Promise<void> {
  await q.query(DELETE_EXPIRED, [limit])
}

/** The browser brings nothing but the state, which names one login of one tenant. */
const TAKE = statement(
  'mailers.take_login',
  `delete from mailers_oauth_login where state_hash = $1
   returning tenant_id, app_id, mailer_id, type, redirect_uri, secret, expires_at > now() as is_valid`,
)

/** Once: a second caller finds nothing. Undefined when it is unknown or has expired. */
export async function takeLogin(
  q: Queryable,
  stateHash: Buffer,
): Promise<PendingLogin | undefined> {
  const { rows } = await q.query<{
    tenant_id: string
    app_id: string
    mailer_id: string | null
    type: OAuthLoginType
    redirect_uri: string | null
    secret: string
    is_valid: boolean
  }>(TAKE, [stateHash])
  const [row] = rows
  if (row?.is_valid !== true) return undefined
  return {
    tenantId: row.tenant_id,
    appId: row.app_id,
    ...(row.mailer_id === null ? {} : { mailerId: row.mailer_id }),
    type: row.type,
    ...(row.redirect_uri === null ? {} : { redirectUri: row.redirect_uri }),
    secret: row.secret,
  }
}
