import { messageEventSchemas, subscriptionKeyOfEvent } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import { testKeyRing } from '../../../test/webhook-api.ts'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { formatMicros } from '../../platform/clock.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { newUlid } from '../../platform/ids.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { changeSubscription } from '../subscriptions/change-subscription.ts'
import { togglesOf } from '../subscriptions/check-toggles.ts'
import { createSubscription } from '../subscriptions/create-subscription.ts'
import { deleteWebhook } from '../subscriptions/delete-webhook.ts'
import type { SubscriptionEvent } from '../subscriptions/subscription.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'
import { addressEvent } from './event.ts'
import { dropRepeatedEvents } from './event-store.ts'
import { recordEvents } from './record-events.ts'
import { BODY_JSON } from './short-body.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
beforeAll(async () => {
  world = await createWebhookDispatch()
  receiver = await createWebhookReceiver()
})
afterEach(() => world.clear())
afterAll(async () => {
  await world.close()
  await receiver.close()
})

interface Row {
  readonly tenant_id: string
  readonly event_id: string
  readonly day: string
  readonly event: string
  readonly owner: string
  readonly at: string
  readonly attempt: number
  readonly body: string
  readonly traceparent: string
}
async function log(): Promise<Row[]> {
  const { rows } = await world.db.query<Row>(
    `select tenant_id, event_id, day, event, owner, attempt, ${BODY_JSON} as body, traceparent,
            to_char(event_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
       from webhooks_event order by event_at, event_id`,
  )
  return rows
}
async function generations(key: StreamKey): Promise<number[]> {
  const { rows } = await world.db.query<{ generation: number }>(
    'select distinct generation from webhooks_pending where tenant_id = $1 and webhook_id = $2',
    [key.tenantId, key.webhookId],
  )
  return rows.map((row) => row.generation)
}
const record = (...events: Parameters<typeof recordEvents>[1]) =>
  world.db.transaction((tx) => recordEvents(tx, events))

describe('recording events', () => {
  it('stores the event as it will be sent, with its day and its trace', async () => {
    const event = newEvent({ event: 'SMTP_ERROR', success: false, attempt: 3 })
    await record(event)
    const [row] = await log()
    const at = formatMicros(event.eventAtMicros)
    expect(row).toMatchObject({
      tenant_id: 'tn_a',
      event_id: expect.stringMatching(/^evt_/),
      day: at.slice(0, 10),
      event: 'SMTP_ERROR',
      at,
      attempt: 3,
      traceparent: event.traceparent,
    })
    expect(JSON.parse(row?.body ?? '')).toEqual({
      event: 'SMTP_ERROR',
      success: false,
      details: { ...event.details, webhook_id: '', event_at: at },
    })
  })

  it('does nothing without events', async () => {
    expect(await record()).toEqual({ touched: [] })
  })

  it('keeps the event without a webhook', async () => {
    expect(await record(newEvent())).toEqual({ touched: [] })
    expect(await log()).toHaveLength(1)
  })

  it('queues for the webhook, wakes its stream once, and says which', async () => {
    const key = await world.register(receiver.origin)
    const { touched } = await record(newEvent(), newEvent(), newEvent())
    expect(touched).toEqual([{ ...key, bucket: bucketOf(key.webhookId) }])
    const ids = (await log()).map((row) => row.event_id)
    expect(await world.pending(key)).toEqual(ids)
    expect(await world.stream(key)).toMatchObject({ state: 'active' })
  })

  it('loses none of a thousand events at once', async () => {
    const key = await world.register(receiver.origin)
    await record(...Array.from({ length: 1_000 }, () => newEvent()))
    expect(await log()).toHaveLength(1_000)
    expect(await world.pending(key)).toHaveLength(1_000)
  })
})

describe('event switches', () => {
  const every = messageEventSchemas.map((schema) => schema.properties.event.const)

  it.each(every)('[6.1] queue %s exactly when its switch is on', async (name) => {
    const toggle = subscriptionKeyOfEvent[name]
    const others = Object.fromEntries(
      every.map((one) => [subscriptionKeyOfEvent[one], one !== name]),
    )
    const off = await world.register(receiver.origin, { events: others })
    const on = await world.register(receiver.origin, {
      tenantId: 'tn_b',
      // phishing alone is refused.
      events: { ...(name === 'PHISHING' ? { open: true } : {}), [toggle]: true },
    })
    await record(newEvent({ event: name }), newEvent({ event: name, tenantId: 'tn_b' }))
    expect(await world.pending(off)).toEqual([])
    expect(await world.stream(off)).toMatchObject({ state: 'idle' })
    expect(await world.pending(on)).toHaveLength(1)
    expect(await log()).toHaveLength(2)
  })

  it('[2.2] never consult imap_error', async () => {
    const key = await world.register(receiver.origin, { events: { open: true, imap_error: true } })
    const rest = every.filter((name) => name !== 'MAIL_OPENED')
    await record(...rest.map((event) => newEvent({ event })))
    expect(await world.pending(key)).toEqual([])
  })

  it('apply as they are when the event is recorded', async () => {
    const key = await world.register(receiver.origin, { events: { delivery: true } })
    await record(newEvent())
    await updateWebhook(world.deps, 'tn_a', {
      event: 'EMAIL_EVENT',
      webhook_options: { events: { open: true } },
    })
    await record(newEvent())
    expect(await world.pending(key)).toHaveLength(1)
  })

  it('do not matter for an inactive webhook: nothing is queued, and the events are logged', async () => {
    const key = await world.register(receiver.origin)
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    expect(await record(newEvent())).toEqual({ touched: [] })
    expect(await world.pending(key)).toEqual([])
    expect(await log()).toHaveLength(1)
  })

  it('send the events of two tenants in one group to the webhook of each', async () => {
    const a = await world.register(receiver.origin)
    const b = await world.register(receiver.origin, { tenantId: 'tn_b' })
    const events = ['tn_b', 'tn_a', 'tn_c', 'tn_b'].map((tenantId) => newEvent({ tenantId }))
    const { touched } = await record(...events)
    expect(touched.map((stream) => stream.webhookId).sort()).toEqual([a.webhookId, b.webhookId])
    const owner = new Map((await log()).map((row) => [row.event_id, row.tenant_id]))
    expect((await world.pending(a)).map((id) => owner.get(id))).toEqual(['tn_a'])
    expect((await world.pending(b)).map((id) => owner.get(id))).toEqual(['tn_b', 'tn_b'])
  })
})

describe('webhooks of an event', () => {
  const deactivated = { mailer_id: 'm_1', config_type: 'smtp', failed_reason: 'oauth_revoked' }
  const event = {
    MAILER_DEACTIVATED: {
      event: 'MAILER_DEACTIVATED',
      refId: '',
      success: false,
      details: deactivated,
    },
    DOMAIN_VERIFICATION: { event: 'DOMAIN_VERIFICATION', refId: '', details: { domain: 'd.test' } },
    IMAP_ERROR: { event: 'IMAP_ERROR', refId: '', success: false, details: { mailer_id: 'm_1' } },
    INCOMING_EMAIL: { event: 'INCOMING_EMAIL', refId: '', success: true, details: { text: 'x' } },
  } as const
  const addWebhook = async (kind: SubscriptionEvent, owner = '', tenantId = 'tn_a') => {
    const { webhookId } = await world.db.transaction((tx) =>
      createSubscription(tx, testKeyRing, {
        ...{ tenantId, event: kind, owner, url: receiver.origin, headers: [] },
        toggles: kind === 'EMAIL_EVENT' ? togglesOf({ event: kind, webhook_options }) : undefined,
      }),
    )
    return { tenantId, webhookId }
  }
  const webhook_options = { events: { open: true } }
  const pointers = async (key: StreamKey) => {
    const { rows } = await world.db.query(
      `select p.lane, p.generation, p.solo, e.event, e.owner
         from webhooks_pending p join webhooks_event e using (tenant_id, event_id, day)
        where p.tenant_id = $1 and p.webhook_id = $2 order by p.event_id`,
      [key.tenantId, key.webhookId],
    )
    return rows
  }

  it('[6.3] include the webhook of MAILER_DEACTIVATED without its switch, and the event travels alone', async () => {
    const key = await addWebhook('EMAIL_EVENT')
    await addWebhook('DOMAIN_VERIFICATION')
    await addWebhook('INCOMING', 'm_1')
    const { touched } = await record(newEvent(event.MAILER_DEACTIVATED), newEvent())
    expect(touched).toMatchObject([key])
    expect(await pointers(key)).toEqual([
      { lane: 0, generation: 0, solo: true, event: 'MAILER_DEACTIVATED', owner: '' },
    ])
  })

  it('[2.7] include the webhook of its own type for DOMAIN_VERIFICATION, without success', async () => {
    const key = await addWebhook('DOMAIN_VERIFICATION')
    await addWebhook('EMAIL_EVENT')
    const { success: _, ...verification } = newEvent(event.DOMAIN_VERIFICATION)
    const { touched } = await record(verification)
    expect(touched).toMatchObject([key])
    expect(await pointers(key)).toMatchObject([{ solo: false, event: 'DOMAIN_VERIFICATION' }])
    const [row] = await log()
    expect(JSON.parse(addressEvent(row?.body ?? '', key.webhookId))).toStrictEqual({
      event: 'DOMAIN_VERIFICATION',
      details: { webhook_id: key.webhookId, domain: 'd.test' },
    })
  })

  it.each(['IMAP_ERROR', 'INCOMING_EMAIL', 'MAILER_DEACTIVATED'] as const)(
    '[6.3] send %s of an owner to the webhook of the owner only',
    async (name) => {
      const key = await addWebhook('INCOMING', 'm_1')
      await addWebhook('INCOMING', 'm_2')
      await addWebhook('INCOMING', 'm_1', 'tn_b')
      await addWebhook('EMAIL_EVENT')
      const { touched } = await record(newEvent({ ...event[name], owner: 'm_1' }))
      expect(touched).toMatchObject([key])
      expect(await pointers(key)).toMatchObject([{ event: name, owner: 'm_1' }])
    },
  )

  it.each(['IMAP_ERROR', 'INCOMING_EMAIL'] as const)(
    'refuse %s without an owner as a bug',
    async (name) => {
      await expect(record(newEvent(event[name]))).rejects.toThrow('without its owner')
    },
  )

  it('may be missing: the event is kept with its owner', async () => {
    await addWebhook('INCOMING', 'm_2')
    const given = [
      newEvent({ ...event.INCOMING_EMAIL, owner: 'm_1' }),
      newEvent(event.DOMAIN_VERIFICATION),
      newEvent(event.MAILER_DEACTIVATED),
    ]
    expect(await record(...given)).toEqual({ touched: [] })
    expect((await log()).map((row) => [row.event, row.owner]).sort()).toEqual([
      ['DOMAIN_VERIFICATION', ''],
      ['INCOMING_EMAIL', 'm_1'],
      ['MAILER_DEACTIVATED', ''],
    ])
  })

  it('mark queued events with their current generation', async () => {
    const key = await world.register(receiver.origin)
    for (const active of [false, true, false, true])
      await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active })
    await record(newEvent())
    expect(await generations(key)).toEqual([2])
  })
})

describe('an event whose day the log does not have', () => {
  const rowOf = ({ refId, eventAtMicros }: { refId: string; eventAtMicros: bigint }) => ({
    tenantId: 'tn_a',
    refId,
    event: 'MAIL_DELIVERED',
    owner: '',
    eventAt: formatMicros(eventAtMicros),
    isLate: true,
    attempt: 0,
    body: '',
    traceparent: '',
  })
  const day = 24n * 3_600_000_000n
  const today = async () =>
    (await world.db.query<{ day: string }>('select current_date as day')).rows[0]?.day

  it.each([
    ['weeks ago', -40n * day],
    ['years ago', -4_000n * day],
    ['weeks ahead', 40n * day],
  ])('is stored under today, and sent with its own time: %s', async (_, distance) => {
    const key = await world.register(receiver.origin)
    const event = newEvent({ eventAtMicros: world.clock.nowMicros() + distance })
    await record(event)
    const [row] = await log()
    expect(row).toMatchObject({ day: await today(), at: formatMicros(event.eventAtMicros) })
    expect(row?.body).toContain(formatMicros(event.eventAtMicros))
    expect(await world.pending(key)).toEqual([row?.event_id])
  })

  it('is deduplicated by its own key, whichever day another is stored under', async () => {
    const same = { refId: newUlid(), eventAtMicros: world.clock.nowMicros() - 40n * day }
    const at = same.eventAtMicros
    await record(newEvent(same), newEvent(same))
    // The first two as if recorded yesterday.
    await world.db.query('update webhooks_event set day = current_date - 1')
    await Promise.all([record(newEvent(same)), record(newEvent(same)), record(newEvent(same))])
    await record(newEvent({ ...same, event: 'MAIL_OPENED' }), newEvent({ ...same, refId: 'other' }))
    const ats = (await log()).map((row) => row.at)
    expect(ats.sort()).toEqual([at, at, at, at + 1n, at + 2n, at + 3n, at + 4n].map(formatMicros))
    const { rows } = await world.db.query(
      'select 1 from webhooks_event group by tenant_id, ref_id, event, event_at, attempt having count(*) > 1',
    )
    expect(rows).toEqual([])
  })

  it('waits for another event of its email that is being stored under another day', async () => {
    const same = { refId: newUlid(), eventAtMicros: world.clock.nowMicros() - 40n * day }
    const end = Promise.withResolvers<void>()
    const isKept = Promise.withResolvers<void>()
    const yesterday = world.db.transaction(async (tx) => {
      const { rows } = await tx.query<{ event_id: string; day: string }>(
        `insert into webhooks_event
           (tenant_id, event_id, day, ref_id, event, event_at, attempt, body, traceparent)
         values ('tn_a', 'evt_1', current_date - 1, $1, 'MAIL_DELIVERED', $2, 0, '{}', '')
         returning event_id, day`,
        [same.refId, formatMicros(same.eventAtMicros)],
      )
      const kept = rows.map((row) => ({ ...row, eventId: row.event_id }))
      await dropRepeatedEvents(
        tx,
        kept.map((row) => ({ ...rowOf(same), ...row })),
      )
      isKept.resolve()
      await end.promise
    })
    await isKept.promise
    const second = record(newEvent(same))
    await Promise.race([untilBlocked(world.db), second])
    end.resolve()
    await Promise.all([yesterday, second])
    const at = same.eventAtMicros
    expect((await log()).map((row) => row.at)).toEqual([at, at + 1n].map(formatMicros))
  })

  it('does not fail for a day that is being removed', async () => {
    const { rows } = await world.db.query<{ own: string; kept: string }>(
      `select d::date as own, webhooks_event_day(d::date) as kept
         from generate_series(current_date - 3, current_date + 16, interval '1 day') d`,
    )
    const moved = rows.filter((row) => row.own !== row.kept)
    expect(moved.length).toBeGreaterThan(2)
    expect(new Set(moved.map((row) => row.kept))).toEqual(new Set([await today()]))
  })

  it('is marked as late when its time cannot be found by its id', async () => {
    const minute = 60_000_000n
    const now = world.clock.nowMicros()
    await record(
      ...[0n, -8n, 8n, -11n, 11n, -3_000n].map((minutes) =>
        newEvent({ eventAtMicros: now + minutes * minute }),
      ),
    )
    const { rows } = await world.db.query<{ is_late: boolean }>(
      'select is_late from webhooks_event order by event_id',
    )
    expect(rows.map((row) => row.is_late)).toEqual([false, false, false, true, true, true])
  })
})

describe('the deduplication key (6.2.7)', () => {
  const base = () => ({ refId: newUlid(), eventAtMicros: world.clock.nowMicros() })
  const times = async () => (await log()).map((row) => row.at)

  it('moves events of one email and microsecond apart within one group', async () => {
    const same = base()
    await record(newEvent(same), newEvent(same), newEvent(same))
    const at = same.eventAtMicros
    expect(await times()).toEqual([at, at + 1n, at + 2n].map(formatMicros))
    for (const row of await log())
      expect(JSON.parse(row.body)).toMatchObject({ details: { event_at: row.at } })
  })

  it('moves them apart over groups, also over concurrent ones', async () => {
    const same = base()
    await Promise.all(Array.from({ length: 6 }, () => record(newEvent(same))))
    const expected = Array.from({ length: 6 }, (_, i) =>
      formatMicros(same.eventAtMicros + BigInt(i)),
    )
    expect(await times()).toEqual(expected)
  })

  it('[2.4] moves a thousand recipients of one callback second by seconds at most', async () => {
    const same = base()
    // Batches as large as one email's share of a callback, and larger.
    for (let batch = 0; batch < 100; batch += 1)
      await record(...Array.from({ length: 5 }, () => newEvent(same)))
    for (let batch = 0; batch < 5; batch += 1)
      await record(...Array.from({ length: 100 }, () => newEvent(same)))
    const ats = await times()
    expect(new Set(ats).size).toBe(1_000)
    expect(ats.at(-1)).toBeDefined()
    expect(String(ats.at(-1)) < formatMicros(same.eventAtMicros + 4_000_000n)).toBe(true)
  })

  it('keeps an event that is moved over midnight in the next day', async () => {
    const midnight = BigInt(Date.parse(`${formatMicros(base().eventAtMicros).slice(0, 10)}T00:00Z`))
    const same = { ...base(), eventAtMicros: midnight * 1000n - 1n }
    await record(newEvent(same), newEvent(same))
    const rows = await log()
    expect(rows.map((row) => row.day)).toEqual(rows.map((row) => row.at.slice(0, 10)))
    expect(new Set(rows.map((row) => row.day)).size).toBe(2)
  })

  it('differs by event, attempt, email and tenant', async () => {
    const same = base()
    await record(
      newEvent(same),
      newEvent({ ...same, event: 'MAIL_OPENED' }),
      newEvent({ ...same, event: 'SMTP_ERROR', attempt: 1 }),
      newEvent({ ...same, event: 'SMTP_ERROR', attempt: 2 }),
      newEvent({ ...same, refId: newUlid() }),
      newEvent({ ...same, tenantId: 'tn_b' }),
    )
    expect(new Set(await times()).size).toBe(1)
  })
})

describe('the transaction of a recording', () => {
  it('leaves nothing when it is rolled back', async () => {
    const key = await world.register(receiver.origin)
    const failed = world.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent()])
      throw new Error('the fact did not happen')
    })
    await expect(failed).rejects.toThrow('the fact did not happen')
    expect(await log()).toEqual([])
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle' })
  })

  it('never fails because a webhook is switched off or deleted meanwhile', async () => {
    const stop = new AbortController()
    const recording = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) await record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    })
    for (let round = 0; round < 25; round += 1) {
      const key = await world.register(receiver.origin)
      await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
      // Nothing is queued any more; what was, is of an older generation.
      expect(await record(newEvent())).toEqual({ touched: [] })
      expect(await generations(key)).not.toContain(1)
      await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: true })
      expect((await record(newEvent())).touched).toMatchObject([key])
      expect(await generations(key)).toContain(1)
      await deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')
      expect(await record(newEvent())).toEqual({ touched: [] })
      // As the dispatcher does when nothing is left of it.
      await world.db.query('delete from webhooks_stream where webhook_id = $1', [key.webhookId])
    }
    stop.abort()
    await Promise.all(recording)
  })

  it('makes no tenant wait for a long transaction of another, or a change of its webhook', async () => {
    const a = await world.register(receiver.origin)
    const b = await world.register(receiver.origin, { tenantId: 'tn_b' })
    await record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    const [end, isOpen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const long = world.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent()])
      isOpen.resolve()
      await end.promise
    })
    await isOpen.promise
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', headers: { 'X-A': 'b' } })
    await record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    end.resolve()
    await long

    const [endOfChange, isChanged] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const change = world.db.transaction(async (tx) => {
      const name = { tenantId: 'tn_a', event: 'EMAIL_EVENT', owner: '' } as const
      await changeSubscription(tx, testKeyRing, name, { active: false })
      isChanged.resolve()
      await endOfChange.promise
    })
    await isChanged.promise
    await record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    endOfChange.resolve()
    await change
    expect(await world.pending(a)).toHaveLength(4)
    expect(await world.pending(b)).toHaveLength(3)
  })
})
