import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import type { Db } from '../db/index.ts'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createProcessRegistry } from './process-registry.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

const facts = {
  ...{ processId: '1-a', host: 'mail.example.com', roles: ['api'] },
  ...{ version: '0.0.0', commit: 'unknown', node: process.version },
}

/** A database whose clock is wrong by as much. */
function withClock(db: Db, byS: number): Db {
  const query = async (...args: Parameters<Db['query']>) => {
    const result = await db.query<{ nowS: number }>(...args)
    return { ...result, rows: result.rows.map(({ nowS }) => ({ nowS: nowS + byS })) }
  }
  return { ...db, query: query as Db['query'] }
}

it.each([
  [0, '0'],
  [-90, '90'],
  [3600, '-3600'],
])('a database clock %i s ahead gives a clock offset of %s s', async (byS, shown) => {
  const metrics = createMetrics()
  const db = withClock(database.db, byS)
  const log = createLogger({ level: 'silent' })
  await createProcessRegistry({ db, log, metrics, facts }).runOnce()
  const text = await metrics.registry.metrics()
  const offset = Number(/^postrider_clock_offset_seconds (\S+)$/m.exec(text)?.[1])
  // What the question itself takes is within it.
  expect(Math.abs(offset - Number(shown))).toBeLessThan(30)
})
