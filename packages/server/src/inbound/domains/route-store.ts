/**
 * SQL by which routes are found, over all tenants: who sends mail names a domain, and its ownership
 * says whose it is. Nothing of it is told to the sender but whether there is such a recipient.
 */
import { givenRows, type Queryable, statement } from '../../platform/db/index.ts'

export interface RouteRow {
  readonly tenantId: string
  readonly hasUsernames: boolean
  /** Whether the username has a webhook of its own; undefined: there is no such username. */
  readonly ownWebhook: boolean | undefined
}

// Laterally: a probe of each index for each address, whatever the statistics say of the tables.
const FIND = statement(
  'inbound.find_routes',
  `select w.n::integer as n, holder.tenant_id, own.has_webhook,
          own.has_webhook is not null or exists (
            select 1 from inbound_username u
             where u.tenant_id = holder.tenant_id and u.domain = w.domain) as has_usernames
     from ${givenRows('text', 'text')} with ordinality as w (domain, username, n)
     left join lateral (
      select c.tenant_id from inbound_ownership c where c.domain = w.domain limit 1) holder on true
     left join lateral (
      select d.domain from inbound_domain d
       where holder.tenant_id is null and d.domain = w.domain and d.verified_at is null
       limit 1) unproven on true
     left join lateral (
      select u.has_webhook from inbound_username u
       where u.tenant_id = holder.tenant_id and u.domain = w.domain and u.username = w.username
       limit 1) own on true
    where holder.tenant_id is not null or unproven.domain is not null`,
)

/** In the order of the given; undefined where nobody has configured the domain. */
export async function findRoutes(
  q: Queryable,
  places: readonly { readonly domain: string; readonly username: string }[],
): Promise<readonly (RouteRow | 'unproven' | undefined)[]> {
  const { rows } = await q.query<{
    n: number
    tenant_id: string | null
    has_webhook: boolean | null
    has_usernames: boolean
  }>(FIND, [places.map(({ domain }) => domain), places.map(({ username }) => username)])
  const found = places.map((): RouteRow | 'unproven' | undefined => undefined)
  for (const { n, tenant_id: tenantId, has_webhook, has_usernames: hasUsernames } of rows)
    found[n - 1] =
      tenantId === null
        ? 'unproven'
        : { tenantId, hasUsernames, ownWebhook: has_webhook ?? undefined }
  return found
}
