/** SQL of the processes that run. Over all tenants: processes are the operator's. */
import { type Queryable, statement } from '../db/index.ts'

export interface ProcessFacts {
  readonly processId: string
  readonly host: string
  readonly roles: readonly string[]
  readonly version: string
  readonly commit: string
  readonly node: string
}

export interface SeenProcess extends ProcessFacts {
  readonly startedAt: Date
  readonly seenAt: Date
}

const TELL = statement(
  'platform.tell_process',
  `with gone as (
     delete from platform_process where seen_at < now() - $7 * interval '1 ms'
   )
   insert into platform_process (process_id, host, roles, version, commit, node)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (process_id) do update set seen_at = now()
   returning extract(epoch from clock_timestamp())::float8 as "nowS"`,
)

/** That it runs; those that have told nothing for `goneAfterMs` are forgotten. Answers the database's clock. */
export async function tellProcess(
  q: Queryable,
  facts: ProcessFacts,
  goneAfterMs: number,
): Promise<{ readonly nowS: number }> {
  const { processId, host, roles, version, commit, node } = facts
  const values = [processId, host, roles, version, commit, node, goneAfterMs]
  const [row] = (await q.query<{ nowS: number }>(TELL, values)).rows
  if (row === undefined) throw new Error('the database stored no process')
  return row
}

const FORGET = statement(
  'platform.forget_process',
  'delete from platform_process where process_id = $1',
)

export async function forgetProcess(q: Queryable, processId: string): Promise<void> {
  await q.query(FORGET, [processId])
}

const LIST = statement(
  'platform.list_processes',
  `select process_id as "processId", host, roles, version, commit, node,
          started_at as "startedAt", seen_at as "seenAt"
     from platform_process where seen_at >= now() - $1 * interval '1 ms'
    order by started_at desc, process_id limit $2`,
)

export async function listProcesses(
  q: Queryable,
  o: { readonly goneAfterMs: number; readonly limit: number },
): Promise<SeenProcess[]> {
  return (await q.query<SeenProcess>(LIST, [o.goneAfterMs, o.limit])).rows
}
