/**
 * Fills the queue of webhooks without a sender: one event is recorded by the service, of a real mail,
 * and copied by SQL with ids and times of its own, in the order in which they would have come.
 */
import { type ListEventsAnswer, type ListedEvent, operations } from '@postrider/contract'
import type pg from 'pg'
import { request } from 'undici'
import type { Cluster } from './cluster.ts'
import { mailOf } from './mail.ts'
import type { Tenant } from './set-up.ts'

/** Of one event as it was recorded. */
export interface EventTemplate {
  readonly ref_id: string
  readonly event: string
  readonly event_at: string
  readonly body: string
  readonly traceparent: string
}

const RECORDED_WITHIN_MS = 30_000
const CHUNK = 50_000

/**
 * The tenant sends a mail while no dispatcher runs: the template is its event, which is taken out of
 * the queue.
 */
export async function recordTemplate(
  cluster: Cluster,
  origin: string,
  tenant: Tenant,
): Promise<EventTemplate> {
  const { method, path } = operations.sendEmail
  const { statusCode, body } = await request(origin + path, {
    method,
    headers: tenant.headers,
    body: JSON.stringify(mailOf(600, tenant.sender)),
  })
  const text = await body.text()
  if (statusCode !== 202) throw new Error(`${path}: ${statusCode} ${text}`)
  const endsAt = performance.now() + RECORDED_WITHIN_MS
  for (;;) {
    const { rows } = await cluster.sql.query<Omit<EventTemplate, 'body' | 'event_at'>>(
      `delete from webhooks_pending p using webhooks_event e
        where e.tenant_id = p.tenant_id and e.event_id = p.event_id and p.webhook_id = $1
        returning e.ref_id, e.event, e.traceparent`,
      [tenant.webhookId],
    )
    const [template] = rows
    if (template?.event === 'MAIL_DELIVERED')
      return { ...template, ...(await readEvent(origin, tenant, template.ref_id)) }
    if (template !== undefined || performance.now() > endsAt)
      throw new Error(`the mail's event is ${template?.event ?? 'missing'}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The JSON of the email's only event, as it was recorded. */
async function readEvent(origin: string, { headers }: Tenant, refId: string) {
  const { method, path } = operations.listEvents
  const { body } = await request(`${origin}${path}?ref_id=${refId}`, { method, headers })
  const { events } = (await body.json()) as ListEventsAnswer
  const [{ event_id: _, ...event }] = events as [ListedEvent]
  const details: Record<string, unknown> = { ...event.details, webhook_id: '' }
  return { body: JSON.stringify({ ...event, details }), event_at: String(details.event_at) }
}

/** A ULID of that millisecond: what is random in it is the number, in sixteen digits. */
const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeDigits = Array.from(
  { length: 10 },
  (_, i) => `substr('${BASE32}', ((ms >> ${45 - 5 * i}) & 31)::int + 1, 1)`,
)
export const ULID = `create or replace function pg_temp.ulid(ms bigint, n bigint) returns text
  language sql immutable
  return ${timeDigits.join(' || ')} || lpad(upper(to_hex(n)), 16, '0')`

/**
 * So many events for each webhook, one microsecond after another, webhook by webhook in turn. What
 * webhooks_pending and webhooks_event hold is complete; the streams are not active yet.
 */
export async function seedEvents(
  sql: pg.Client,
  template: EventTemplate,
  tenants: readonly Tenant[],
  perTenant: number,
): Promise<void> {
  await sql.query(ULID)
  const { rows } = await sql.query<{ base_ms: string }>(
    'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as base_ms',
  )
  const total = perTenant * tenants.length
  for (let from = 0; from < total; from += CHUNK) {
    await sql.query(
      `with target as (
         select tenant_id, webhook_id, ordinality - 1 as place
           from unnest($1::text[], $2::text[]) with ordinality as t(tenant_id, webhook_id, ordinality)),
       numbered as (
         select n, tenant_id, webhook_id,
                to_timestamp($5::bigint / 1000.0) + n * interval '1 microsecond' as at,
                $5::bigint + n / 1000 as ms
           from generate_series($3::bigint, $4::bigint) as n
           join target on place = n % $6),
       made as (
         select n, tenant_id, webhook_id, at, pg_temp.ulid(ms, n * 2) as ref,
                'evt_' || pg_temp.ulid(ms, n * 2 + 1) as event_id
           from numbered),
       event as (
         insert into webhooks_event
                (tenant_id, event_id, day, ref_id, event, event_at, attempt, body, traceparent)
         select tenant_id, event_id, (at at time zone 'UTC')::date, ref, $7, at, 0,
                replace(replace($8, $9, ref), $10,
                        to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
                $11
           from made order by n
         returning tenant_id, event_id, day, octet_length(body) as bytes)
       insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes)
       select tenant_id, webhook_id, event_id, day, bytes + octet_length(webhook_id)
         from event join target using (tenant_id)`,
      [
        tenants.map((tenant) => tenant.tenantId),
        tenants.map((tenant) => tenant.webhookId),
        from,
        Math.min(from + CHUNK, total) - 1,
        rows[0]?.base_ms,
        tenants.length,
        template.event,
        template.body,
        template.ref_id,
        template.event_at,
        template.traceparent,
      ],
    )
  }
  // As tables are that have been in use for long; what follows is not the price of the seeding.
  await sql.query('vacuum (analyze) webhooks_pending, webhooks_event')
  await sql.query('checkpoint')
}

/** The last step of recording: from now on a dispatcher finds the streams by itself. */
export async function activate(sql: pg.Client, tenants: readonly Tenant[]): Promise<void> {
  await sql.query(
    `update webhooks_stream set state = 'active'
      where tenant_id = any($1) and webhook_id = any($2) and state = 'idle'`,
    [tenants.map((tenant) => tenant.tenantId), tenants.map((tenant) => tenant.webhookId)],
  )
}

const SETTLED_WITHIN_MS = 30_000

/** Of events that have come: resolves once the last request is settled. */
export async function waitUntilSettled(sql: pg.Client): Promise<void> {
  const endsAt = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const { rows } = await sql.query('select from webhooks_open limit 1')
    if (rows.length === 0) break
    if (performance.now() > endsAt) throw new Error('requests that came were not settled')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { rows } = await sql.query('select from webhooks_pending limit 1')
  if (rows.length > 0) throw new Error('not everything was sent')
}
