import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import {
  type EventKey,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import type { Db } from '../../platform/db/index.ts'
import { newUlid } from '../../platform/ids.ts'
import { eventIdsOfEmail, readMembers } from './record-store.ts'
import { holdStreams } from './replay-store.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await makeDays(db)
})
afterAll(() => database.close())

/** The row of an event, once more, under another tenant and with what else is given. */
async function copyEvent(place: EventKey | undefined, change: object): Promise<void> {
  await db.query(
    `insert into webhooks_event
     select copy.* from webhooks_event original
      cross join lateral jsonb_populate_record(original, $2::jsonb) copy
      where original.event_id = $1 and original.tenant_id = 'tn_a'`,
    [place?.eventId, JSON.stringify(change)],
  )
}

it('reads an event of its tenant when another tenant has one with the same id', async () => {
  const event = newEvent()
  const other = newUlid()
  const [place] = await recordUnwanted(db, event)
  await copyEvent(place, { tenant_id: 'tn_b', ref_id: other })
  const frozen = { eventIds: [place?.eventId ?? ''], eventDays: [place?.day ?? ''] }
  const refOf = async (tenantId: string) =>
    [...(await readMembers(db, tenantId, [frozen])).values()].map((one) => one.refId)
  expect(await refOf('tn_a')).toEqual([event.refId])
  expect(await refOf('tn_b')).toEqual([other])
  expect(await refOf('tn_c')).toEqual([])
})

it('reads the events of an email of its tenant when another tenant has one with the same id', async () => {
  const { refId } = newEvent()
  const [mine] = await recordUnwanted(db, newEvent({ refId }))
  const event_id = `evt_${newUlid()}`
  await copyEvent(mine, { tenant_id: 'tn_b', event_id })
  const ask = (tenantId: string) =>
    eventIdsOfEmail(db, { tenantId, refId, event: undefined, notBefore: '2020-01-01', limit: 9 })
  expect(await ask('tn_a')).toEqual([mine?.eventId])
  expect(await ask('tn_b')).toEqual([event_id])
})

it('keeps a locked stream, and deletes streams of its tenant only', async () => {
  const mine = await insertWebhook(db)
  const theirs = await insertWebhook(db, { tenantId: 'tn_b' })
  const webhookIds = [mine.webhookId, theirs.webhookId]
  const free = () =>
    db.query<{ webhook_id: string }>(
      'select webhook_id from webhooks_stream where webhook_id = any($1) for update skip locked',
      [webhookIds],
    )
  await db.transaction(async (tx) => {
    expect(await holdStreams(tx, 'tn_a', webhookIds)).toEqual([mine.webhookId])
    expect((await free()).rows.map((row) => row.webhook_id)).toEqual([theirs.webhookId])
  })
  expect((await free()).rowCount).toBe(2)
})
