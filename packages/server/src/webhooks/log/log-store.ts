/** SQL that reads the event log newest first, and the bodies of events that are shown. */
import {
  arrayText,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../../platform/db/index.ts'
import { takes } from '../deliveries/replay-store.ts'
import { BODY_JSON, EVENT_AT_TEXT, OCTETS, type RowOfBody, readBody } from '../events/short-body.ts'

/** An event without its body. */
export interface LogKey {
  readonly tenantId: string
  readonly eventId: string
  readonly day: string
  readonly event: string
  readonly refId: string
  /** Of the body. */
  readonly octets: number
}

export interface LogFilters {
  readonly tenantId: string
  readonly event: string | undefined
  /** What no event has where nothing can be found. */
  readonly refId: string | undefined
  /** In lower case. */
  readonly email: string | undefined
  readonly mailerId: string | undefined
  /** Of `event_at`, or of the recording of an event that was recorded late. */
  readonly times:
    | {
        readonly from: string
        readonly to: string
        readonly lateIds: { readonly from: string; readonly before: string }
      }
    | undefined
  readonly ids: { readonly from: string; readonly before: string }
}

type Parameter = (value: unknown) => string

const KEY = `tenant_id as "tenantId", event_id as "eventId", day, event, ref_id as "refId",
  ${OCTETS} as octets`

/**
 * The newest `limit` that fit, among the newest `looks`. Of an email its own index has all: they are
 * sorted, which is bounded by what one email can cause.
 */
export async function readLog(
  tx: Tx,
  filters: LogFilters,
  o: { readonly limit: number; readonly looks: number; readonly notBefore: string | undefined },
): Promise<LogKey[]> {
  const values: unknown[] = []
  const $: Parameter = (value) => `$${values.push(value)}`
  const range = rangeOf(filters, $)
  const fits = fitsOf(filters, $)
  const source =
    filters.refId === undefined
      ? `(select * from webhooks_event where ${range}
           order by event_id desc limit ${$(o.looks)})`
      : `of_email`
  const ofEmail =
    filters.refId === undefined
      ? ''
      : `with of_email as materialized (
           select * from webhooks_event
            where ${range} and ref_id = ${$(filters.refId)} and day >= ${$(o.notBefore)})`
  const { rows } = await tx.query<LogKey>(
    `${ofEmail} select ${KEY} from ${source} looked where ${fits}
      order by event_id desc limit ${$(o.limit)}`,
    values,
  )
  return rows
}

/** The id at which a look at so many events ends; undefined: it ends with the log. */
export async function endOfLook(
  tx: Tx,
  filters: LogFilters,
  looks: number,
): Promise<string | undefined> {
  const values: unknown[] = []
  const $: Parameter = (value) => `$${values.push(value)}`
  const { rows } = await tx.query<{ event_id: string }>(
    `select event_id from webhooks_event where ${rangeOf(filters, $)}
      order by event_id desc offset ${$(looks - 1)} limit 1`,
    values,
  )
  return rows[0]?.event_id
}

function rangeOf({ tenantId, ids }: LogFilters, $: Parameter): string {
  return `tenant_id = ${$(tenantId)} and event_id >= ${$(ids.from)} and event_id < ${$(ids.before)}`
}

/** Events with an owner tell of that mailer; of all others the body says it. */
function fitsOf({ event, email, mailerId, times }: LogFilters, $: Parameter): string {
  const conditions = ['true']
  if (event !== undefined) conditions.push(`event = ${$(event)}`)
  if (times !== undefined)
    conditions.push(`case when is_late
      then event_id >= ${$(times.lateIds.from)} and event_id < ${$(times.lateIds.before)}
      else event_at >= ${$(times.from)} and event_at < ${$(times.to)} end`)
  // The texts are looked for first: to read a body as JSON costs ten times as much.
  if (email !== undefined)
    conditions.push(`owner = '' and ref_id <> ''
      and position(${$(JSON.stringify(email))} in lower(body collate "C")) > 0
      and lower(((${BODY_JSON})::json -> 'details' -> 'email' ->> 0) collate "C") = ${$(email)}`)
  if (mailerId !== undefined)
    conditions.push(`(owner = ${$(mailerId)} or owner = ''
      and position(${$(JSON.stringify(mailerId))} in body) > 0
      and (${BODY_JSON})::json -> 'details' ->> 'mailer_id' = ${$(mailerId)})`)
  return conditions.join(' and ')
}

const READ_BODIES = statement(
  'webhooks.read_log_bodies',
  `select given.n::integer as n, e.octets, e.body, e.ref_id as "refId", e."eventAt", coalesce(s.webhook_id, '') as "webhookId"
     from unnest($1::text[], $2::text[], $3::date[]) with ordinality
       as given (tenant_id, event_id, day, n)
    cross join lateral (
      select event, owner, octets, body, ref_id, ${EVENT_AT_TEXT} as "eventAt" from webhooks_event e
       where e.tenant_id = given.tenant_id and e.event_id = given.event_id and e.day = given.day
       limit 1) e
     left join lateral (
      select webhook_id from webhooks_subscription
       where tenant_id = given.tenant_id and ${takes('e')} limit 1) s on true`,
)

export interface LoggedBody {
  readonly body: string
  /** Of the webhook that takes such events now; '': there is none. */
  readonly webhookId: string
}

/** By place; undefined: it has left the log. */
export async function readLogBodies(
  q: Queryable,
  keys: readonly Pick<LogKey, 'tenantId' | 'eventId' | 'day'>[],
): Promise<(LoggedBody | undefined)[]> {
  const bodies = new Array<LoggedBody | undefined>(keys.length).fill(undefined)
  if (keys.length === 0) return bodies
  const { rows } = await q.query<LoggedBody & RowOfBody & { n: number }>(READ_BODIES, [
    textArray(keys.map((key) => key.tenantId)),
    textArray(keys.map((key) => key.eventId)),
    arrayText(keys.map((key) => key.day)),
  ])
  for (const { n, webhookId, ...row } of rows) bodies[n - 1] = { body: readBody(row), webhookId }
  return bodies
}
