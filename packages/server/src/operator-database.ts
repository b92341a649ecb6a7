/**
 * The database as operator commands reach it: by URL where one is configured; else through the
 * running service's embedded server; else by starting that server for as long as the command runs.
 */
import type { Config } from './config.ts'
import { findEmbedded } from './platform/db/embedded/running-url.ts'
import {
  checkSchema,
  createDb,
  createEmbeddedPostgres,
  type Db,
  migrate,
} from './platform/db/index.ts'
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
  const found = findEmbedded(config.dataDir)
  if (found.kind === 'running') return await connected(found.url, log, work)
  const embedded = createEmbeddedPostgres({ dataDir: config.dataDir, log })
  await embedded.start()
  try {
    // Nobody else is using it, so this is also the moment to bring a new one up to date.
    await migrate({ url: embedded.url(), dir: migrationsDir, log })
    return await connected(embedded.url(), log, work)
  } finally {
    await embedded.stop()
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
