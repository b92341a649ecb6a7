import pino from 'pino'
import { expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { explaining, type SeenPlan } from '../../../test/explain.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { createDayPartitions } from '../../platform/db/index.ts'
import { recordEvents } from './record-events.ts'

it('finds the webhooks of an event by index among many webhooks', async () => {
  const { db, close } = await createTestDatabase({ poolMax: 1 })
  const log = pino({ level: 'silent' })
  await createDayPartitions({ db, tables: ['webhooks_event'], log }).runOnce()
  await db.query(
    `insert into webhooks_subscription (tenant_id, webhook_id, event, url, method, options,
                                        headers_sealed, header_names)
     select 'tn_' || n, 'wh_' || n, 'EMAIL_EVENT', '', 'POST', '{"delivery":true}', '', '{}'
       from generate_series(1, 5000) n`,
  )
  await db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode)
     select 'tn_' || n, 'wh_' || n, 0, 'array' from generate_series(1, 5000) n`,
  )
  await db.query('analyze webhooks_subscription, webhooks_stream')
  for (const mode of ['force_generic_plan', 'auto'] as const) {
    const plans: SeenPlan[] = []
    const events = [1, 2].map((n) => newEvent({ tenantId: `tn_${n}` }))
    await db.transaction((tx) => recordEvents(explaining(tx, plans, mode), events))
    const nodes = plans.find(({ name }) => name === 'webhooks.destinations')?.nodes ?? []
    const indexes = nodes.flatMap((node) => node['Index Name'] ?? [])
    expect(indexes).toEqual(['webhooks_subscription_event_key', 'webhooks_stream_pkey'])
    expect(nodes.some((node) => node['Node Type'] === 'Seq Scan')).toBe(false)
  }
  await close()
})
