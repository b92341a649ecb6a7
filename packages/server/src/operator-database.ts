/**
 * The database as operator commands reach it: by URL where one is configured; else through the
 * running service's embedded server; else by starting that server for as long as the command runs. A database
 * that is not there is never made: that is the service's affair.
 */

import {
  createEmbeddedPostgres,
  type EmbeddedState,
  findEmbedded,
} from '@postrider/embedded-postgres'
import type { Config } from './config.ts'
import { checkSchema, createDb, type Db, migrate } from './platform/db/index.ts'
import type { Logger } from './platform/log.ts'

export const migrationsDir = new URL('../migrations/', import.meta.url)

export interface OperatorDatabase {
  readonly db: Db
  readonly url: string
}

/** Runs `work` on the database and leaves everything as it was found. */
export async function withDatabase<T>(
  o: { readonly config: Config; readonly log: Logger },
  work: (database: OperatorDatabase) => Promise<T>,
): Promise<T> {
  const { config, log } = o
  if (config.databaseUrl !== undefined) return await connected(config.databaseUrl, log, work)
  const found = findDatabase(config.dataDir)
  // A command made on the wrong directory would otherwise leave a second database behind.
  if (found.kind === 'absent')
    throw new Error(
      `There is no database in ${config.dataDir}: start the service first, or set POSTRIDER_DATA_DIR or POSTRIDER_DATABASE_URL`,
    )
  if (found.kind === 'running') return await connected(found.url, log, work)
  const embedded = createEmbeddedPostgres({ dataDir: config.dataDir, log })
  await embedded.start()
  try {
    // Nobody else is using it, so this is also the moment to bring it up to date.
    await migrate({ url: embedded.url(), dir: migrationsDir, log })
    return await connected(embedded.url(), log, work)
  } finally {
    await embedded.stop()
  }
}

/** Looks for the embedded database without changing anything. */
export function findDatabase(dataDir: string): EmbeddedState {
  try {
    return findEmbedded(dataDir)
  } catch (error) {
    throw new Error(`The data directory ${dataDir} cannot be read`, { cause: error })
  }
}

/** The same, for commands that need the tables to be as this program knows them. */
export async function withCurrentDatabase<T>(
  o: { readonly config: Config; readonly log: Logger },
  work: (db: Db) => Promise<T>,
): Promise<T> {
  return await withDatabase(o, async ({ db }) => {
    await checkSchema({ db, dir: migrationsDir })
    return await work(db)
  })
}

async function connected<T>(
  url: string,
  log: Logger,
  work: (database: OperatorDatabase) => Promise<T>,
): Promise<T> {
  const db = createDb({ url, poolMax: 2, log, applicationName: 'postrider cli' })
  try {
    return await work({ db, url })
  } finally {
    await db.close()
  }
}
