/**
 * Rows of tenants, by the catalogue of the database: one row of a tenant in every table that has rows of tenants,
 * and how many rows of a tenant there are. A new table is in it by itself.
 */
import type { Db } from '../src/platform/db/index.ts'

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
}

/** Of base tables and partitioned tables, without partitions. */
export async function tablesOf(db: Db, hasTenant: boolean): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
        and $1 = exists (select from information_schema.columns i
                          where i.table_name = c.relname and i.column_name = 'tenant_id')
      order by 1`,
    [hasTenant],
  )
  return rows.map(({ name }) => name)
}

/** What a check of the table asks for. */
const VALUES: Readonly<Record<string, string>> = {
  'tenants_tenant.state': `'active'`,
  'people_member.role': `'viewer'`,
  'webhooks_subscription.method': `'POST'`,
  'webhooks_subscription.event': `'EMAIL_EVENT'`,
  'webhooks_stream.mode': `'array'`,
  'suppressions_address.reason': `'manual'`,
  'mailers_oauth_app.provider': `'custom'`,
  'mailers_oauth_login.type': `'smtp'`,
  'mailers_mailer.connection_type': `'basic'`,
  'mailers_mailer.config_type': `'smtp'`,
  'mailers_mailer.uncertain': `'at_least_once'`,
  'mailers_mailer.email': `'x@example.com'`,
  'mailers_mailer.email_key': `'x@example.com'`,
  'mailers_mailer.host': `'smtp.example.com'`,
  'mailers_mailer.port': '25',
  'mailers_mailer.secure': `'None'`,
  'mailers_mailer.tls_verify': 'true',
  'webhooks_delivery.status': `'delivered'`,
  'webhooks_delivery.mode': `'array'`,
  'platform_counter.span': `'hour'`,
  'platform_counter_group.span': `'hour'`,
  'platform_counter_change.counts': `'[]'`,
  'sending_recipient.type': `'to'`,
  'sending_attempt.outcome': `'accepted'`,
  'tracking_hit.kind': `'open'`,
  'inbound_message.source': `'smtp'`,
  'domains_domain.stage': `'ready'`,
  'domains_domain.dkim_keys': `'[]'`,
}

function literalOf({ table, name, type }: Column): string {
  const own = VALUES[`${table}.${name}`]
  if (own !== undefined) return own
  if (name === 'tenant_id') return '$1'
  if (type.endsWith('[]')) return `'{}'`
  switch (type) {
    case 'date':
      return 'current_date'
    case 'timestamp with time zone':
      return 'now()'
    case 'json':
    case 'jsonb':
      return `'{}'`
    case 'bytea':
      return `sha256(($1 || '${table}')::bytea)`
    case 'boolean':
      return 'false'
    case 'text':
      // Keys over all tenants, such as a domain, are the tenant's own.
      return `'x' || $1`
    default:
      return '1'
  }
}

/** Columns that have no default and take no null. */
async function columnsOf(db: Db, table: string): Promise<Column[]> {
  const { rows } = await db.query<Column>(
    `select $1::text as table, a.attname as name, format_type(a.atttypid, null) as type from pg_attribute a
      where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped and a.attidentity = ''
        and a.attnotnull and (not a.atthasdef or a.attname = 'tenant_id')
      order by a.attnum`,
    [table],
  )
  return rows
}

/** Foreign keys are not looked at, so the order of the tables does not matter. */
export async function addRows(db: Db, tenantId: string, tables: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query('set local session_replication_role = replica')
    for (const table of tables) {
      const columns = [...(await columnsOf(db, table)), ...(MORE[table] ?? [])]
      const names = columns.map(({ name }) => name).join(', ')
      await tx.query(
        `insert into ${table} (${names}) values (${columns.map(literalOf).join(', ')})`,
        [tenantId],
      )
    }
  })
}

/** Columns that a check over several columns asks for. */
const MORE: Readonly<Record<string, readonly Column[]>> = {
  mailers_mailer: ['host', 'port', 'secure', 'tls_verify'].map((name) => ({
    ...{ table: 'mailers_mailer', name, type: 'text' },
  })),
}

export async function countRows(
  db: Db,
  tenantId: string,
  tables: readonly string[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const { rows } = await db.query<{ n: number }>(
      `select count(*)::int as n from ${table} where tenant_id = $1`,
      [tenantId],
    )
    counts[table] = rows[0]?.n ?? -1
  }
  return counts
}
