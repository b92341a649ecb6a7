/**
 * `const { db, url, close } = await createTestDatabase()`: a fresh, migrated database for one test file,
 * on the server that the global set-up started.
 * With `hasDays` it has the day partitions of a running service.
 */
import { createDatabase } from '@postrider/testkit/database'
import pino from 'pino'
import { inject, type ProvidedContext } from 'vitest'
import { createDb, type Db } from '../src/platform/db/index.ts'

export interface TestDatabase {
  readonly url: string
  readonly db: Db
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
    close: async () => {
      await db.close()
      await copy.close()
    },
  }
}
