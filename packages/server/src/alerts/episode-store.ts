/**
 * SQL of episodes, and of the turn to look. Over all tenants: one process at a time looks for all of them.
 *
 * A turn is a claim with a fence: who has lost it changes nothing. What a look changes is one transaction with
 * the alerts that it makes, so that each is made once, also when processes are killed.
 */
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { type Episode, operator } from './alert.ts'

const TAKE = statement(
  'alerts.take_turn',
  `insert into alerts_watch as w (one, turn, due_at) values (true, 1, now() + $1::float8 * interval '1 ms')
   on conflict (one) do update set turn = w.turn + 1, due_at = excluded.due_at where w.due_at <= now()
   returning turn`,
)

/** Undefined: another process looks, or has just looked. */
export async function takeTurn(q: Queryable, leaseMs: number): Promise<string | undefined> {
  return (await q.query<{ turn: string }>(TAKE, [leaseMs])).rows[0]?.turn
}

const KEEP = statement(
  'alerts.keep_turn',
  `update alerts_watch set due_at = now() + $2::float8 * interval '1 ms' where turn = $1 returning now()`,
)

/** To the end of the transaction; with the time of it. Undefined: the turn is another process's. */
export async function endTurn(tx: Tx, turn: string, nextMs: number): Promise<Date | undefined> {
  return (await tx.query<{ now: Date }>(KEEP, [turn, nextMs])).rows[0]?.now
}

/** To the end of the transaction, no look is written. */
export async function waitForLook(tx: Tx): Promise<void> {
  await tx.query('select from alerts_watch for share')
}

export async function listEpisodes(q: Queryable): Promise<Episode[]> {
  const { rows } = await q.query<Omit<Episode, 'goneAt'> & { readonly goneAt: Date | null }>(
    `select tenant_id as "tenantId", kind, subject, since, gone_at as "goneAt",
            told_tenant as "toldTenant", told_operator as "toldOperator", details
       from alerts_episode`,
  )
  return rows.map((row) => ({ ...row, goneAt: row.goneAt ?? undefined }))
}

const KEY = ['tenantId', 'kind', 'subject'] as const
const keysOf = (episodes: readonly Episode[]) =>
  KEY.map((name) => episodes.map((episode) => episode[name]))

const SAVE = statement(
  'alerts.save_episodes',
  `insert into alerts_episode as e
     (tenant_id, kind, subject, since, gone_at, told_tenant, told_operator, details)
   select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[],
                        $6::boolean[], $7::boolean[], $8::json[])
   on conflict (tenant_id, kind, subject) do update
     set gone_at = excluded.gone_at, told_tenant = excluded.told_tenant,
         told_operator = excluded.told_operator, details = excluded.details`,
)

export async function saveEpisodes(tx: Tx, episodes: readonly Episode[]): Promise<void> {
  if (episodes.length === 0) return
  await tx.query(SAVE, [
    ...keysOf(episodes),
    episodes.map(({ since }) => since),
    episodes.map(({ goneAt }) => goneAt ?? null),
    episodes.map(({ toldTenant }) => toldTenant),
    episodes.map(({ toldOperator }) => toldOperator),
    episodes.map(({ details }) => JSON.stringify(details)),
  ])
}

const END = statement(
  'alerts.end_episodes',
  `delete from alerts_episode e using unnest($1::text[], $2::text[], $3::text[]) as k (tenant_id, kind, subject)
    where e.tenant_id = k.tenant_id and e.kind = k.kind and e.subject = k.subject`,
)

export async function endEpisodes(tx: Tx, episodes: readonly Episode[]): Promise<void> {
  if (episodes.length > 0) await tx.query(END, keysOf(episodes))
}

/** A receiver that is set later is told anew of what goes on then. */
export async function forgetTold(tx: Tx, receiver: string): Promise<void> {
  await (receiver === operator
    ? tx.query('update alerts_episode set told_operator = false where told_operator')
    : tx.query(
        'update alerts_episode set told_tenant = false where tenant_id = $1 and told_tenant',
        [receiver],
      ))
}
