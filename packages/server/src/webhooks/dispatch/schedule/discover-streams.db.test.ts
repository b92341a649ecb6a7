import { createWebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import type { StreamKey } from '../stream-store.ts'
import { createDiscovery } from './discover-streams.ts'

const WITHIN_MS = 1_000
const all = Array.from({ length: 64 }, (_, bucket) => bucket)
let world: WebhookDispatch
beforeAll(async () => {
  world = await createWebhookDispatch()
})
afterEach(() => world.clear())
afterAll(() => world.close())

interface StreamRow {
  readonly webhookId?: string
  readonly bucket?: number
  readonly state?: 'idle' | 'active'
  /** From now on. */
  readonly notBefore?: string
  readonly failCount?: number
  readonly parkedInRow?: number
  readonly isPaused?: boolean
}

async function addStream(row: StreamRow = {}): Promise<StreamKey> {
  const {
    webhookId = 'wh_1',
    bucket = 7,
    state = 'active',
    notBefore,
    failCount = 0,
    parkedInRow = 0,
  } = row
  await world.db.query(
    `insert into webhooks_stream
       (tenant_id, webhook_id, bucket, mode, state, not_before, fail_count, paused_at, parked_in_row)
     values ('tn_a', $1, $2, 'array', $3, coalesce(now() + $4::interval, '-infinity'), $5,
             case when $6 then now() end, $7)`,
    [webhookId, bucket, state, notBefore ?? null, failCount, row.isPaused ?? false, parkedInRow],
  )
  return { tenantId: 'tn_a', webhookId }
}

/** A delivery that waits for its turn; without a time it is due for ever, as a half is. */
async function addOpen(webhookId: string, dueIn: string | null, bucket = 7): Promise<void> {
  await world.db.query(
    `insert into webhooks_open
       (tenant_id, delivery_id, day, webhook_id, bucket, generation, status, event_ids, event_days,
        traceparent, due_at)
     select 'tn_a', 'dlv_' || gen_random_uuid(), current_date, $1, $2, 0, 'parked', '{}', '{}', '',
            coalesce(now() + $3::interval, '-infinity')`,
    [webhookId, bucket, dueIn],
  )
}
const discover = (buckets: readonly number[] = all) => createDiscovery(world.db)(buckets, WITHIN_MS)
const idsOf = (found: readonly StreamKey[]) => found.map((stream) => stream.webhookId)

describe('discovery', () => {
  it('finds streams with recorded events in their bucket and in no other', async () => {
    const receiver = await createWebhookReceiver()
    const key = await world.register(receiver.origin)
    await receiver.close()
    expect(await discover()).toEqual([])
    await world.record(newEvent())
    const [found] = await discover()
    expect(found).toMatchObject({ ...key, waitMs: 0, isFailing: false })
    const { bucket } = found ?? {}
    expect(await discover(all.filter((one) => one !== bucket))).toEqual([])
    expect(await discover(all.filter((one) => one === bucket))).toHaveLength(1)
  })

  it('finds nothing without a bucket', async () => {
    await addStream()
    expect(await discover([])).toEqual([])
  })

  it('finds active streams that are due before the next sweep, and their wait', async () => {
    await addStream({ webhookId: 'wh_1' })
    await addStream({ webhookId: 'wh_2', notBefore: '900 milliseconds' })
    await addStream({ webhookId: 'wh_3', notBefore: '1 hour' })
    await addStream({ webhookId: 'wh_4', notBefore: '-1 hour', failCount: 3 })
    await addStream({ webhookId: 'wh_5', state: 'idle' })
    await addStream({ webhookId: 'wh_6', isPaused: true })
    await addStream({ webhookId: 'wh_7', parkedInRow: 10 })
    const found = await discover()
    expect(idsOf(found)).toEqual(['wh_1', 'wh_2', 'wh_4', 'wh_7'])
    expect(found.map((stream) => stream.isFailing)).toEqual([false, false, true, true])
    expect(found.map((stream) => stream.waitMs > 0)).toEqual([false, true, false, false])
    expect(found[1]?.waitMs).toBeLessThanOrEqual(900)
  })

  it('finds an idle stream once when any of its deliveries is due', async () => {
    for (const webhookId of ['wh_1', 'wh_2', 'wh_3', 'wh_4', 'wh_5'])
      await addStream({
        webhookId,
        state: 'idle',
        ...(webhookId === 'wh_3' ? { isPaused: true } : {}),
        ...(webhookId === 'wh_4' ? { notBefore: '1 hour' } : {}),
      })
    for (const dueIn of ['1 hour', '-1 minute', '500 milliseconds', '2 hours'])
      await addOpen('wh_1', dueIn)
    await addOpen('wh_2', '1 hour')
    await addOpen('wh_3', '-1 minute')
    await addOpen('wh_4', '-1 minute')
    await addOpen('wh_5', '700 milliseconds')
    await addOpen('wh_6_without_a_stream', '-1 minute')
    const found = await discover()
    expect(found).toMatchObject([
      { webhookId: 'wh_1', waitMs: 0 },
      { webhookId: 'wh_5', isFailing: false },
    ])
    expect(found).toHaveLength(2)
    expect(found[1]?.waitMs).toBeGreaterThan(0)
  })

  it('finds an active stream once, also with waiting deliveries', async () => {
    await addStream()
    await addOpen('wh_1', null)
    expect(idsOf(await discover())).toEqual(['wh_1'])
  })
})

describe('discovery with more streams than one look reads', () => {
  it('continues where it stopped, in each bucket, and starts over', async () => {
    for (const [webhookId, bucket] of [
      ['wh_1', 7],
      ['wh_2', 7],
      ['wh_3', 7],
      ['wh_4', 8],
    ] as const)
      await addStream({ webhookId, bucket })
    const next = createDiscovery(world.db, 2)
    const seen = []
    for (let i = 0; i < 4; i += 1) seen.push(idsOf(await next([7, 8], WITHIN_MS)))
    expect(seen).toEqual([
      ['wh_1', 'wh_2', 'wh_4'],
      ['wh_3', 'wh_4'],
      ['wh_1', 'wh_2', 'wh_4'],
      ['wh_3', 'wh_4'],
    ])
  })

  it('continues when it finds nothing of use', async () => {
    for (const webhookId of ['wh_1', 'wh_2', 'wh_3', 'wh_4', 'wh_5']) {
      await addStream({ webhookId, state: 'idle' })
      await addOpen(webhookId, webhookId === 'wh_5' ? '-1 minute' : '1 hour')
    }
    const next = createDiscovery(world.db, 2)
    const seen = []
    for (let i = 0; i < 4; i += 1) seen.push(idsOf(await next([7], WITHIN_MS)))
    expect(seen).toEqual([[], [], ['wh_5'], []])
  })
})

it('reads a bounded number of waiting streams and deliveries', async () => {
  await world.db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, state, not_before, fail_count)
     select 'tn_a', 'wh_' || n, n % 64, 'array', 'active', now() + interval '1 hour', 1
       from generate_series(1, 20000) n`,
  )
  await world.db.query(
    `insert into webhooks_open
       (tenant_id, delivery_id, day, webhook_id, bucket, generation, status, event_ids, event_days,
        traceparent, due_at)
     select 'tn_a', 'dlv_' || n, current_date, 'wh_' || n % 10, n % 10, 0, 'parked', '{}', '{}', '',
            now() - interval '1 minute'
       from generate_series(1, 20000) n`,
  )
  await world.db.query('analyze webhooks_stream, webhooks_open')
  await addStream({ webhookId: 'wh_due' })
  await world.db.transaction(async (tx) => {
    // With what the session has not yet reported of transactions before.
    const read = async () => {
      const { rows } = await tx.query<{ scanned: number; fetched: number }>(
        `select sum(seq_tup_read)::int as scanned, sum(idx_tup_fetch)::int as fetched
           from pg_stat_xact_user_tables where relname in ('webhooks_stream', 'webhooks_open')`,
      )
      return rows[0] ?? { scanned: 0, fetched: 0 }
    }
    const before = await read()
    expect(idsOf(await createDiscovery(tx)(all, WITHIN_MS))).toEqual(['wh_due'])
    const after = await read()
    expect(after.scanned - before.scanned).toBe(0)
    // The one that is due; of each of the ten, its first delivery and its stream; and, where a
    // checkpoint or a vacuum meets it, a page of what waits. All that waits is 40,000 rows.
    expect(after.fetched - before.fetched).toBeLessThan(500)
  })
})
