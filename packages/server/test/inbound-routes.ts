/** Routes of inbound mail as rows, without the operations that make them. */
import { randomBytes } from 'node:crypto'
import type { Db } from '../src/platform/db/index.ts'
import { newId } from '../src/platform/ids.ts'

/** A domain that the tenant has proven to be its own, with these usernames. */
export async function insertRoutes(
  db: Db,
  o: {
    readonly tenantId?: string
    readonly domain: string
    readonly isProven?: boolean
    readonly usernames?: readonly { readonly username: string; readonly hasWebhook: boolean }[]
  },
): Promise<void> {
  const { tenantId = 'tn_a', domain, isProven = true, usernames = [] } = o
  const ulid = () => newId('in').slice('in_'.length)
  await db.query(
    `insert into inbound_domain (tenant_id, domain, id, ownership_token, verified_at)
     values ($1, $2, $3, $4, case when $5 then now() end)`,
    [tenantId, domain, ulid(), randomBytes(16).toString('hex'), isProven],
  )
  if (isProven)
    await db.query('insert into inbound_ownership (domain, tenant_id) values ($2, $1)', [
      tenantId,
      domain,
    ])
  for (const { username, hasWebhook } of usernames)
    await db.query(
      `insert into inbound_username (tenant_id, domain, username, id, has_webhook)
       values ($1, $2, $3, $4, $5)`,
      [tenantId, domain, username, ulid(), hasWebhook],
    )
}
