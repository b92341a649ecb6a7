/**
 * `const { db, url, close } = await createTestDatabase()`: a fresh, migrated database for one test file,
 * on the server that the global set-up started.
 * With `hasDays` it has the day partitions of a running service.
 */
import { connectTo, createDatabase } from '@postrider/testkit/database'
import pino from 'pino'
import { inject, type ProvidedContext } from 'vitest'
import { createDb, type Db } from '../src/platform/db/index.ts'

export interface TestDatabase {
  readonly url: string
  readonly db: Db
  /** Runs one statement without a time-out: a million rows take as long as the machine lets them. */
  fill(sql: string, values?: readonly unknown[]): Promise<void>
  close(): Promise<void>
}

export async function createTestDatabase(
  o: { poolMax?: number; isMigrated?: boolean; hasDays?: boolean } = {},
): Promise<TestDatabase> {
  const server = inject('testDatabase') as ProvidedContext['testDatabase'] | undefined
  if (server === undefined)
    throw new Error('This tier has no database: name the file *.db.test.ts or *.slow.test.ts')
  const { serverUrl } = server
  const template = o.hasDays === true ? server.templateWithDays : server.template
  const copy = await createDatabase({
    serverUrl,
    ...(o.isMigrated === false ? {} : { template }),
  })
  const db = createDb({
    url: copy.url,
    poolMax: o.poolMax ?? 5,
    log: pino({ level: 'silent' }),
    applicationName: 'test',
  })
  return {
    url: copy.url,
    db,
    async fill(sql, values = []) {
      const client = await connectTo(copy.url)
      await client.query(sql, [...values]).finally(() => client.end())
    },
    close: async () => {
      await db.close()
      await copy.close()
    },
  }
}
