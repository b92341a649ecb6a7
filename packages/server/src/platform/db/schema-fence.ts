/**
 * Keeps a process away from a schema that it does not understand.
 *
 * The ledger of migrations says which ones are breaking. The fence reads it at the start and in each
 * lease round (a third of the lease). When it holds a breaking migration that this program does not
 * have, the process gets no connection any more: to everything in it the database is away, which is a
 * state that all of it knows. The API and mail servers are refused for now, buckets are lost with
 * their lease, hits wait in files. It stays so until the process is replaced.
 *
 * Statements that are under way when the fence closes end as they can. Their work is then like that of
 * a process that was killed: other processes take it over by their rows.
 */

import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../log.ts'
import { createLoop } from '../work/loop.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { knownMigrations } from './migrate.ts'
import { type Queryable, statement } from './statement.ts'

export class SchemaTooNewError extends DatabaseUnavailableError {
  override readonly name = 'SchemaTooNewError'
}

export interface SchemaFence extends Service {
  /** The breaking migration that this program does not have. */
  closedBy(): string | undefined
  /** Throws once the fence is closed. */
  check(): void
  /** Reads the ledger once. Rejects when the database is away. */
  runOnce(): Promise<void>
}

const selectUnknown = statement(
  'schema_fence',
  `select name from platform_migration where is_breaking and name <> all($1::text[])
   order by name desc limit 1`,
)

export function createSchemaFence(o: {
  /** Of this program. */
  readonly dir: URL
  readonly db: () => Queryable
  readonly everyMs: number
  readonly log: Logger
}): SchemaFence {
  const known = knownMigrations(o.dir)
  let closedBy: string | undefined

  async function runOnce(): Promise<void> {
    if (closedBy !== undefined) return
    const { rows } = await o.db().query<{ name: string }>(selectUnknown, [known])
    closedBy = rows[0]?.name
    if (closedBy === undefined) return
    o.log.error(
      { migration: closedBy, newest_known: known.at(-1) },
      'schema.newer: this process does not know a breaking migration of the database and has stopped working; replace it by the new version',
    )
  }

  // A database that is away gives no lease either.
  const loop = createLoop({
    ...{ name: 'schema fence', log: o.log, failed: 'schema.not_checked', pass: runOnce },
    ...{ sweepMs: o.everyMs, backOffMs: o.everyMs, backOffMsMax: o.everyMs },
  })

  return {
    ...loop,
    closedBy: () => closedBy,
    check() {
      if (closedBy !== undefined)
        throw new SchemaTooNewError(
          `The database holds the breaking migration ${closedBy}, which this version does not know`,
        )
    },
    runOnce,
    async start() {
      await loop.start()
      await loop.settled()
    },
  }
}
