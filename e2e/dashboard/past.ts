/**
 * Gives a service of a test a past. What has happened is moved back in time, in every table, and its sums are
 * repeated in the hours before. It writes to the database as nothing else may: only for pictures.
 */
import { connectTo } from '@postrider/testkit/database'

/** Where time says what is to be done next, or who is logged in. */
const KEPT = [
  ...['platform_member', 'platform_process', 'platform_lease', 'platform_migration'],
  ...['people_session', 'people_invitation', 'suppressions_address', 'tenants_tenant'],
]

const DEADLOCK = '40P01'
const TRIES_MAX = 10

type Client = Awaited<ReturnType<typeof connectTo>>

async function withDatabase(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = await connectTo(url)
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** @param interval as PostgreSQL reads it, in whole hours */
export async function moveBack(url: string, interval: string): Promise<void> {
  await withDatabase(url, async (client) => {
    const { rows } = await client.query<{ table: string; columns: string[] }>(
      `select c.relname as table, array_agg(quote_ident(a.attname)) as columns
         from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
          and not c.relispartition and a.atttypid = 'timestamptz'::regtype
          and c.relname <> all($1) and a.attgenerated = ''
        group by c.relname`,
      [KEPT],
    )
    for (let tries = 1; ; tries += 1)
      try {
        await moveTables(client, rows, interval)
        return
      } catch (error) {
        await client.query('rollback')
        // The service writes meanwhile, in another order.
        if ((error as { code?: unknown }).code !== DEADLOCK || tries >= TRIES_MAX) throw error
      }
  })
}

async function moveTables(
  client: Client,
  tables: readonly { readonly table: string; readonly columns: readonly string[] }[],
  interval: string,
): Promise<void> {
  await client.query('begin')
  // Rows that name each other move one after the other.
  await client.query('set local session_replication_role = replica')
  for (const { table } of tables)
    await client.query(
      `select platform_ensure_day_partitions($1, 8) from pg_class where relname = $1 and relkind = 'p'`,
      [table],
    )
  for (const { table, columns } of tables) {
    const sets = columns.map((column) => `${column} = ${column} - $1::interval`)
    await client.query(`update ${table} set ${sets.join(', ')}`, [interval])
  }
  await client.query('commit')
}

/** Call before anything is counted: what is counted from now on is kept for `makeHistory`. */
export async function recordCounts(url: string): Promise<void> {
  await withDatabase(url, async (client) => {
    await client.query(
      `create table story_counts as select tenant_id, counts from platform_counter_change limit 0;
       create function story_count() returns trigger language plpgsql as $$
       begin
         insert into story_counts values (new.tenant_id, new.counts);
         return null;
       end $$;
       create trigger story_count after insert on platform_counter_change
         for each row execute function story_count()`,
    )
  })
}

/** Hours of the last two weeks that had about as much as what was counted, less by night. */
export async function makeHistory(url: string): Promise<void> {
  await withDatabase(url, async (client) => {
    await client.query('drop trigger story_count on platform_counter_change')
    await client.query(
      `insert into platform_counter_change (tenant_id, at, counts)
       select c.tenant_id, date_trunc('hour', now()) - (h * 6 - floor(random() * 6)) * interval '10 minutes', c.counts
         from generate_series(1, 24 * 14) h
        cross join lateral (
          select extract(hour from now() - h * interval '1 hour') as hour
        ) t
        cross join lateral (
          select tenant_id, counts from story_counts where h > 0
           order by random() limit (6 + 24 * (1 + sin((hour - 7) / 12 * pi())))::int
        ) c`,
    )
    await client.query('drop table story_counts; drop function story_count')
  })
}
