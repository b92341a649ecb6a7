/** All SQL of OAuth apps. Every statement names the tenant. */
import type { OAuthMailServer, OAuthProvider } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../../platform/db/index.ts'
import type { OAuthApp } from './oauth-app.ts'

interface AppRow {
  tenant_id: string
  app_id: string
  provider: OAuthProvider
  client_id: string
  client_secret: string
  scopes: string[] | null
  redirect_uris: string[]
  authorize_url: string
  token_url: string
  userinfo_url: string | null
  smtp: OAuthMailServer | null
  imap: OAuthMailServer | null
  created_at: Date
  updated_at: Date
}

const COLUMNS = `tenant_id, app_id, provider, client_id, client_secret, scopes, redirect_uris,
  authorize_url, token_url, userinfo_url, smtp, imap, created_at, updated_at`

const GET = statement(
  'mailers.get_app',
  `select ${COLUMNS} from mailers_oauth_app where tenant_id = $1 and app_id = $2`,
)

export async function getApp(
  q: Queryable,
  tenantId: string,
  appId: string,
): Promise<OAuthApp | undefined> {
  const { rows } = await q.query<AppRow>(GET, [tenantId, appId])
  return rows[0] === undefined ? undefined : toApp(rows[0])
}

const LOCK = statement(
  'mailers.lock_app',
  'select 1 from mailers_oauth_app where tenant_id = $1 and app_id = $2 for update',
)

/** One after the other within an app, to the end of the transaction; false when it is gone. */
export async function lockApp(tx: Tx, tenantId: string, appId: string): Promise<boolean> {
  const { rowCount } = await tx.query(LOCK, [tenantId, appId])
  return rowCount > 0
}

const LIST = statement(
  'mailers.list_apps',
  `select ${COLUMNS} from mailers_oauth_app where tenant_id = $1
    order by created_at desc, app_id limit $2`,
)

export async function listApps(q: Queryable, tenantId: string, limit: number): Promise<OAuthApp[]> {
  const { rows } = await q.query<AppRow>(LIST, [tenantId, limit])
  return rows.map(toApp)
}

/** A number of apps is looked at before one more is made: two at once may make one too many. */
const INSERT = statement(
  'mailers.insert_app',
  `insert into mailers_oauth_app (tenant_id, app_id, provider, client_id, client_secret, scopes,
     redirect_uris, authorize_url, token_url, userinfo_url, smtp, imap)
   select $1, $2, $3, $4, $5, $6::text[], $7::text[], $8, $9, $10, $11::json, $12::json
    where (select count(*) from mailers_oauth_app where tenant_id = $1) < $13::int
   on conflict do nothing
   returning ${COLUMNS}`,
)

export type NewApp = Omit<OAuthApp, 'createdAt' | 'updatedAt'>

/** Undefined when the tenant has an app of that id, or as many as it may have. */
export async function insertApp(
  q: Queryable,
  app: NewApp,
  appsMax: number,
): Promise<OAuthApp | undefined> {
  const { rows } = await q.query<AppRow>(INSERT, [
    app.tenantId,
    app.appId,
    app.provider,
    app.clientId,
    app.clientSecret,
    app.scopes ?? null,
    app.redirectUris,
    app.authorizeUrl,
    app.tokenUrl,
    app.userinfoUrl ?? null,
    jsonOf(app.smtp),
    jsonOf(app.imap),
    appsMax,
  ])
  return rows[0] === undefined ? undefined : toApp(rows[0])
}

const UPDATE = statement(
  'mailers.update_app',
  `update mailers_oauth_app
      set client_secret = coalesce($3, client_secret),
          redirect_uris = coalesce($4::text[], redirect_uris),
          scopes = case when $5::boolean then $6::text[] else scopes end,
          smtp = case when $7::boolean then $8::json else smtp end,
          imap = case when $9::boolean then $10::json else imap end, updated_at = now()
    where tenant_id = $1 and app_id = $2
    returning ${COLUMNS}`,
)

/** null: there is none any more. */
export interface AppChange extends Partial<Pick<OAuthApp, 'clientSecret' | 'redirectUris'>> {
  readonly scopes?: OAuthApp['scopes'] | null
  readonly smtp?: OAuthMailServer | null
  readonly imap?: OAuthMailServer | null
}

/** What is left out stays as it is; undefined when there is no such app. */
export async function updateApp(
  q: Queryable,
  { tenantId, appId }: Pick<OAuthApp, 'tenantId' | 'appId'>,
  change: AppChange,
): Promise<OAuthApp | undefined> {
  const { rows } = await q.query<AppRow>(UPDATE, [
    tenantId,
    appId,
    change.clientSecret ?? null,
    change.redirectUris ?? null,
    change.scopes !== undefined,
    change.scopes ?? null,
    change.smtp !== undefined,
    jsonOf(change.smtp ?? undefined),
    change.imap !== undefined,
    jsonOf(change.imap ?? undefined),
  ])
  return rows[0] === undefined ? undefined : toApp(rows[0])
}

const DELETE = statement(
  'mailers.delete_app',
  'delete from mailers_oauth_app where tenant_id = $1 and app_id = $2',
)

/** Rejects while mailers log in by it (foreign key). */
export async function deleteApp(q: Queryable, tenantId: string, appId: string): Promise<boolean> {
  const { rowCount } = await q.query(DELETE, [tenantId, appId])
  return rowCount > 0
}

function jsonOf(server: OAuthMailServer | undefined): string | null {
  return server === undefined ? null : JSON.stringify(server)
}

function toApp(row: AppRow): OAuthApp {
  return {
    tenantId: row.tenant_id,
    appId: row.app_id,
    provider: row.provider,
    clientId: row.client_id,
    clientSecret: row.client_secret,
    ...(row.scopes === null ? {} : { scopes: row.scopes }),
    redirectUris: row.redirect_uris,
    authorizeUrl: row.authorize_url,
    tokenUrl: row.token_url,
    ...(row.userinfo_url === null ? {} : { userinfoUrl: row.userinfo_url }),
    ...(row.smtp === null ? {} : { smtp: row.smtp }),
    ...(row.imap === null ? {} : { imap: row.imap }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
