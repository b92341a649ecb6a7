/**
 * All SQL of mailers' tokens. Every statement names the tenant. Times are the database's, so that
 * processes whose clocks differ agree on what has expired and on who refreshes.
 */
import type { MailerConfigType, MailerState } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../../platform/db/index.ts'
import type { MailerKey } from './mailer-token.ts'
import type { TokenFailure } from './request-token.ts'

/** With what is needed of its mailer. Tokens are sealed. */
export interface TokenRow {
  readonly appId: string
  readonly configType: MailerConfigType
  readonly state: MailerState
  readonly configVersion: number
  readonly refreshToken: string
  readonly accessToken?: string
  /** For how much longer the access token is good. */
  readonly accessLeftMs: number
  /** It need not be renewed yet. */
  readonly isFresh: boolean
  readonly version: string
  readonly isRefreshing: boolean
  /** Why none is tried now. */
  readonly blockedBy?: TokenFailure
}

interface Row {
  app_id: string
  config_type: MailerConfigType
  state: MailerState
  config_version: string
  refresh_token: string
  access_token: string | null
  access_left_ms: number | null
  is_fresh: boolean | null
  version: string
  is_refreshing: boolean
  blocked_by: TokenFailure | null
}

const GET = statement(
  'mailers.get_token',
  `select m.app_id, m.config_type, m.state, m.config_version, t.refresh_token, t.access_token,
          (extract(epoch from t.access_expires_at - now()) * 1000)::float8 as access_left_ms,
          -- Renewed so early that a provider may be away for minutes, or a quarter of its time.
          now() < t.access_expires_at
            - least(interval '5 minutes', (t.access_expires_at - t.refreshed_at) / 4) as is_fresh,
          t.version, coalesce(t.refreshing_until > now(), false) as is_refreshing,
          case when t.blocked_until > now() then t.failure end as blocked_by
     from mailers_oauth_token t
     join mailers_mailer m on m.tenant_id = t.tenant_id and m.mailer_id = t.mailer_id
    where t.tenant_id = $1 and t.mailer_id = $2`,
)

export async function getToken(q: Queryable, key: MailerKey): Promise<TokenRow | undefined> {
  const { rows } = await q.query<Row>(GET, [key.tenantId, key.mailerId])
  const [row] = rows
  return row === undefined
    ? undefined
    : {
        appId: row.app_id,
        configType: row.config_type,
        state: row.state,
        configVersion: Number(row.config_version),
        refreshToken: row.refresh_token,
        ...(row.access_token === null ? {} : { accessToken: row.access_token }),
        accessLeftMs: row.access_left_ms ?? 0,
        isFresh: row.is_fresh === true,
        version: row.version,
        isRefreshing: row.is_refreshing,
        ...(row.blocked_by === null ? {} : { blockedBy: row.blocked_by }),
      }
}

const CLAIM = statement(
  'mailers.claim_refresh',
  `update mailers_oauth_token
      set refreshing_until = now() + $4 * interval '1 ms', fence = fence + 1
    where tenant_id = $1 and mailer_id = $2 and version = $3
      and (refreshing_until is null or refreshing_until <= now())
    returning fence`,
)

/** The fence of a refresh that may begin; undefined when another is under way or was faster. */
export async function claimRefresh(
  q: Queryable,
  key: MailerKey,
  version: string,
  leaseMs: number,
): Promise<string | undefined> {
  const { rows } = await q.query<{ fence: string }>(CLAIM, [
    key.tenantId,
    key.mailerId,
    version,
    leaseMs,
  ])
  return rows[0]?.fence
}

const STORE = statement(
  'mailers.store_refreshed',
  `update mailers_oauth_token
      set refresh_token = coalesce($4, refresh_token), access_token = $5,
          access_expires_at = now() + $6 * interval '1 second', version = version + 1,
          refreshing_until = null, blocked_until = null, failure = null, refreshed_at = now(),
          refused_at = null
    where tenant_id = $1 and mailer_id = $2 and fence = $3`,
)

export interface SealedGrant {
  /** Undefined: the one that is stored goes on to be good (RFC 6749 §6). */
  readonly refreshToken: string | undefined
  readonly accessToken: string
  readonly expiresInS: number
}

/** False when another refresh or grant came first: what is stored is newer. */
export async function storeRefreshed(
  q: Queryable,
  key: MailerKey,
  fence: string,
  grant: SealedGrant,
): Promise<boolean> {
  const { rowCount } = await q.query(STORE, [
    key.tenantId,
    key.mailerId,
    fence,
    grant.refreshToken ?? null,
    grant.accessToken,
    grant.expiresInS,
  ])
  return rowCount > 0
}

const STORE_FAILURE = statement(
  'mailers.store_refresh_failure',
  `update mailers_oauth_token
      set refreshing_until = null, blocked_until = now() + $4 * interval '1 ms', failure = $5,
          -- Since when: a new token ends it.
          refused_at = case when $6::boolean then coalesce(refused_at, now()) else refused_at end
    where tenant_id = $1 and mailer_id = $2 and fence = $3`,
)

export async function storeFailure(
  q: Queryable,
  key: MailerKey,
  fence: string,
  o: { readonly failure: TokenFailure; readonly blockMs: number; readonly isRefused: boolean },
): Promise<boolean> {
  const { rowCount } = await q.query(STORE_FAILURE, [
    key.tenantId,
    key.mailerId,
    fence,
    o.blockMs,
    JSON.stringify(o.failure),
    o.isRefused,
  ])
  return rowCount > 0
}

const COUNT = statement(
  'mailers.count_refreshes',
  `select count(*) filter (where t.refused_at > now() - $3 * interval '1 ms')::int as refused,
          count(*) filter (where t.refreshed_at > now() - $3 * interval '1 ms')::int as worked,
          coalesce(bool_or(t.mailer_id = $4 and t.refused_at > now() - $3 * interval '1 ms'), false)
            as "isRecent"
     from mailers_mailer m
     join mailers_oauth_token t on t.tenant_id = m.tenant_id and t.mailer_id = m.mailer_id
    where m.tenant_id = $1 and m.app_id = $2`,
)

/** What became of the mailboxes of an app lately; `isRecent` where the refusals of this one began then. */
export async function countRefreshes(
  tx: Tx,
  { tenantId, mailerId }: MailerKey,
  appId: string,
  windowMs: number,
): Promise<{ refused: number; worked: number; isRecent: boolean }> {
  const { rows } = await tx.query<{ refused: number; worked: number; isRecent: boolean }>(COUNT, [
    tenantId,
    appId,
    windowMs,
    mailerId,
  ])
  return rows[0] ?? { refused: 0, worked: 0, isRecent: false }
}

const STORE_GRANT = statement(
  'mailers.store_grant',
  `insert into mailers_oauth_token (tenant_id, mailer_id, refresh_token, access_token,
     access_expires_at, refreshed_at)
   values ($1, $2, $3, $4::text, now() + $5 * interval '1 second', case when $4::text is not null then now() end)
   on conflict (tenant_id, mailer_id) do update
     set refresh_token = excluded.refresh_token, access_token = excluded.access_token,
         access_expires_at = excluded.access_expires_at, refreshed_at = excluded.refreshed_at,
         version = mailers_oauth_token.version + 1, fence = mailers_oauth_token.fence + 1,
         refreshing_until = null, blocked_until = null, failure = null, refused_at = null`,
)

/** In place of what was there: the result of a refresh under way is not taken any more. */
export async function storeGrant(
  tx: Tx,
  key: MailerKey,
  grant: {
    readonly refreshToken: string
    /** Undefined: the refresh token has not been tried. */
    readonly accessToken: string | undefined
    readonly expiresInS: number
  },
): Promise<void> {
  await tx.query(STORE_GRANT, [
    key.tenantId,
    key.mailerId,
    grant.refreshToken,
    grant.accessToken ?? null,
    grant.expiresInS,
  ])
}

const FIND_MAILER = statement(
  'mailers.find_by_app',
  `select mailer_id from mailers_mailer
    where tenant_id = $1 and email_key = $2 and app_id = $3 and config_type = $4
    order by created_at, mailer_id limit 1`,
)

/** The oldest mailer of the address that logs in by the app, and is used for the same. */
export async function findMailerOfApp(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly emailKey: string
    readonly appId: string
    readonly configType: string
  },
): Promise<string | undefined> {
  const { rows } = await q.query<{ mailer_id: string }>(FIND_MAILER, [
    o.tenantId,
    o.emailKey,
    o.appId,
    o.configType,
  ])
  return rows[0]?.mailer_id
}
