/** All SQL of usernames. Every statement names the tenant. */
import type { DomainKey } from '../../../domains/index.ts'
import { type Queryable, statement, type Tx } from '../../../platform/db/index.ts'
import type { InboundUsername, UsernameKey } from '../domain.ts'

interface Row {
  tenant_id: string
  domain: string
  username: string
  id: string
  url: string | null
  has_webhook: boolean
  created_at: Date
  updated_at: Date
}

const COLUMNS = 'tenant_id, domain, username, id, url, has_webhook, created_at, updated_at'

const GET = statement(
  'inbound.get_username',
  `select ${COLUMNS} from inbound_username where tenant_id = $1 and domain = $2 and username = $3`,
)

export async function getUsername(
  q: Queryable,
  { tenantId, domain, username }: UsernameKey,
): Promise<InboundUsername | undefined> {
  const { rows } = await q.query<Row>(GET, [tenantId, domain, username])
  return rows[0] === undefined ? undefined : toUsername(rows[0])
}

const LIST = statement(
  'inbound.list_usernames',
  `select ${COLUMNS} from inbound_username
    where tenant_id = $1 and domain = $2 and ($3::text is null or id < $3)
    order by id desc limit $4`,
)

/** Newest first. */
export async function listUsernames(
  q: Queryable,
  { tenantId, domain }: DomainKey,
  o: { readonly before: string | undefined; readonly limit: number },
): Promise<InboundUsername[]> {
  const { rows } = await q.query<Row>(LIST, [tenantId, domain, o.before ?? null, o.limit])
  return rows.map(toUsername)
}

const HAS_MANY = statement(
  'inbound.has_many_usernames',
  `select 1 from inbound_username where tenant_id = $1 and domain = $2
    order by id offset $3 - 1 limit 1`,
)

/** Whether there are so many of the domain, or more. */
export async function hasUsernames(
  tx: Tx,
  { tenantId, domain }: DomainKey,
  count: number,
): Promise<boolean> {
  return (await tx.query(HAS_MANY, [tenantId, domain, count])).rowCount > 0
}

const INSERT = statement(
  'inbound.insert_username',
  `insert into inbound_username (tenant_id, domain, username, id, url, has_webhook)
   values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id, domain, username) do nothing`,
)

type NewUsername = Omit<InboundUsername, 'createdAt' | 'updatedAt'>

/** False when the domain has it. */
export async function insertUsername(tx: Tx, u: NewUsername): Promise<boolean> {
  const values = [u.tenantId, u.domain, u.username, u.id, u.url, u.hasWebhook]
  return (await tx.query(INSERT, values)).rowCount > 0
}

const SAVE = statement(
  'inbound.save_username',
  `update inbound_username set url = $4, has_webhook = $5, updated_at = now()
    where tenant_id = $1 and domain = $2 and username = $3`,
)

export async function saveUsername(tx: Tx, u: Omit<NewUsername, 'id'>): Promise<void> {
  await tx.query(SAVE, [u.tenantId, u.domain, u.username, u.url, u.hasWebhook])
}

const DELETE = statement(
  'inbound.delete_username',
  'delete from inbound_username where tenant_id = $1 and domain = $2 and username = $3',
)

export async function deleteUsername(
  tx: Tx,
  { tenantId, domain, username }: UsernameKey,
): Promise<void> {
  await tx.query(DELETE, [tenantId, domain, username])
}

const WITH_WEBHOOKS = statement(
  'inbound.usernames_with_webhooks',
  `select username from inbound_username
    where tenant_id = $1 and domain = $2 and has_webhook and (url is null or not $3)`,
)

/** Those with webhooks of their own, all or those that follow the domain's URL. */
export async function usernamesWithWebhooks(
  tx: Tx,
  { tenantId, domain }: DomainKey,
  o: { readonly isFollowing: boolean },
): Promise<string[]> {
  const { rows } = await tx.query<{ username: string }>(WITH_WEBHOOKS, [
    tenantId,
    domain,
    o.isFollowing,
  ])
  return rows.map(({ username }) => username)
}

function toUsername(row: Row): InboundUsername {
  return {
    tenantId: row.tenant_id,
    domain: row.domain,
    username: row.username,
    id: row.id,
    url: row.url,
    hasWebhook: row.has_webhook,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
