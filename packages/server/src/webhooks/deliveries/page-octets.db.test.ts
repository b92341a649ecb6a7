import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import {
  type EventKey,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import { listDeliveries } from './list-deliveries.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

it('ends a page before its bound of text, and continues on the next', async () => {
  const { db } = database
  await makeDays(db, 1)
  const key = await insertWebhook(db)
  const [member] = await recordUnwanted(db, newEvent())
  const ids: string[] = []
  for (let i = 0; i < 5; i++)
    ids.unshift(
      await insertDelivery(db, { key, members: [member as EventKey], status: 'exhausted' }),
    )
  const read = (textOctetsMax: number) => readAll(key.tenantId, textOctetsMax)
  expect(await read(100)).toEqual([ids])
  await db.query(`update webhooks_delivery set last_attempt = (last_attempt::jsonb
    || jsonb_build_object('response', repeat('\u00fc', 20), 'error', repeat('x', 10)))::json`)
  // Each of them has 50 octets.
  expect(await read(100)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
  expect(await read(1)).toEqual(ids.map((id) => [id]))
})

async function readAll(tenantId: string, textOctetsMax: number): Promise<string[][]> {
  const pages: string[][] = []
  let pageToken: string | undefined
  do {
    const query = pageToken === undefined ? {} : { pageToken }
    const page = await listDeliveries({ db: database.db, textOctetsMax }, tenantId, query)
    pages.push(page.deliveries.map((delivery) => delivery.delivery_id))
    pageToken = page.nextPageToken
  } while (pageToken !== undefined && pages.length < 10)
  return pages
}
