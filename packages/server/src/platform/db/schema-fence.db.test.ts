import pino from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { createDb } from './db.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { createSchemaFence, SchemaTooNewError } from './schema-fence.ts'
import type { Db } from './statement.ts'

const dir = new URL('../../../migrations/', import.meta.url)
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

function open() {
  const lines: { msg: string; migration?: string }[] = []
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  )
  const fence = createSchemaFence({ dir, db: () => db, everyMs: 60_000, log })
  const db: Db = createDb({
    url: database.url,
    poolMax: 1,
    log,
    applicationName: 'test',
    check: fence.check,
  })
  return { db, fence, lines }
}

const record = (name: string, isBreaking: boolean) =>
  database.db.query('insert into platform_migration values ($1, $2, $3)', [name, 'x', isBreaking])

it('stays open for the own migrations and for harmless newer ones', async () => {
  await record('9001_harmless.sql', false)
  const { db, fence } = open()
  await fence.runOnce()
  expect(fence.closedBy()).toBeUndefined()
  await db.query('select 1')
  await db.close()
})

it('closes at an unknown breaking migration: no statement is sent any more, and one line says why', async () => {
  const { db, fence, lines } = open()
  await record('9002_breaking.sql', true)
  await fence.runOnce()
  await fence.runOnce()
  expect(fence.closedBy()).toBe('9002_breaking.sql')
  for (const use of [() => db.query('select 1'), () => db.transaction(async () => undefined)]) {
    const error = await use().catch((e: unknown) => e)
    expect(error).toBeInstanceOf(SchemaTooNewError)
    expect(error).toBeInstanceOf(DatabaseUnavailableError)
  }
  expect(lines.filter(({ msg }) => msg.startsWith('schema.newer'))).toMatchObject([
    { migration: '9002_breaking.sql' },
  ])
  await db.close()
})
