import { getWebhookDeliveryAnswer, type WebhookDeliveryDetail } from '@postrider/contract'
import type { WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  type EventKey,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import { newId } from '../../platform/ids.ts'
import { getDelivery } from './get-delivery.ts'
import { listDeliveries } from './list-deliveries.ts'

const reader = { tenantId: 'tn_a', mayReadContent: true }

describe('getDelivery of a dispatched delivery', () => {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  useWebhookDispatch((...made) => {
    ;[world, receiver] = made
  })

  const newest = async () => {
    const { deliveries } = await listDeliveries({ db: world.db }, 'tn_a', { pageSize: 1 })
    return getDelivery({ db: world.db }, reader, deliveries[0]?.delivery_id ?? '')
  }
  const bodies = () => receiver.requests.map((request) => request.body.toString())

  it('shows its attempts in order, and its request byte for byte', async () => {
    receiver.setScript([
      { status: 500, body: 'not now' },
      { status: 200, body: 'thanks' },
    ])
    const { webhookId } = await world.register(receiver.origin, {
      headers: { 'X-Secret': 's3cret' },
    })
    const details = { ...newEvent().details, subject: 'Grüße — 日本 🎉 "\\\u2028' }
    await world.record(newEvent({ details }), newEvent({ details }))
    await (await world.dispatcher()).runOnce()

    const open = await newest()
    expect(open).toMatchObject({ status: 'retrying', finished_at: null, webhook_id: webhookId })
    expect(Date.parse(open.next_attempt_at ?? '')).toBeGreaterThan(Date.now())
    expect(open.attempts).toMatchObject([{ status: 500, response: 'not now', error: null }])
    expect(open.request.body).toBe(bodies()[0])

    await world.due()
    await (await world.dispatcher()).runOnce()
    const settled = await newest()
    expect(Check(getWebhookDeliveryAnswer.properties.delivery, settled)).toBe(true)
    expect(settled).toMatchObject({
      delivery_id: open.delivery_id,
      status: 'delivered',
      next_attempt_at: null,
      finished_at: expect.any(String),
      attempts: [open.attempts[0], { status: 200, response: 'thanks', error: null }],
    })
    expect(settled.attempts[0]?.timings).toMatchObject({ total_ms: expect.any(Number) })
    expect(settled.request.body).toBe(bodies()[1])
    expect(bodies()[0]).toBe(bodies()[1])
    expect(settled.request.headers).toEqual([
      'Content-Type',
      'User-Agent',
      'traceparent',
      'X-Secret',
    ])
    expect(JSON.stringify(settled)).not.toContain('s3cret')
  })

  it.each([
    ['whole, just as large as is shown', 0, false],
    ['its first 1 MiB, of one octet more', 1, true],
  ])('shows of a large request %s', async (_, more, isCut) => {
    await world.register(receiver.origin)
    const fill = (length: number) => ({
      ...newEvent().details,
      custom_args: { x: 'x'.repeat(length) },
    })
    await world.record(newEvent({ details: fill(0) }), newEvent({ details: fill(0) }))
    await (await world.dispatcher()).runOnce()
    const room = 1024 * 1024 - Buffer.byteLength(bodies()[0] ?? '')
    const events = [newEvent({ details: fill(room - 7) }), newEvent({ details: fill(7 + more) })]
    await world.record(...events)
    await (await world.dispatcher({ batchBytesMax: 2 ** 21 })).runOnce()
    const sent = receiver.requests[1]?.body
    expect(sent?.length).toBe(1024 * 1024 + more)
    expect((await newest()).request).toMatchObject({
      body: sent?.subarray(0, 1024 * 1024).toString(),
      body_truncated: isCut,
    })
  })

  it('reads and shows the beginning of a request of many megabytes, in whole characters', async () => {
    await world.register(receiver.origin)
    const details = { ...newEvent().details, custom_args: { x: `${'é'.repeat(300_000)}` } }
    await world.record(...Array.from({ length: 8 }, () => newEvent({ details })))
    await (await world.dispatcher({ batchBytesMax: 2 ** 24 })).runOnce()
    const sent = receiver.requests[0]?.body ?? Buffer.alloc(0)
    expect(sent.length).toBeGreaterThan(4_000_000)
    const { request, events } = await newest()
    expect(events).toHaveLength(8)
    expect(request.body_truncated).toBe(true)
    const shown = Buffer.from(request.body ?? '')
    expect([1024 * 1024, 1024 * 1024 - 1]).toContain(shown.length)
    expect(sent.subarray(0, shown.length).equals(shown)).toBe(true)
    expect(request.body).not.toContain('\ufffd')
  })

  it('shows the request when the webhook is gone', async () => {
    await world.register(receiver.origin)
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    await emptyTables(world.db, 'webhooks_subscription', 'webhooks_stream')
    expect((await newest()).request.body).toBe(bodies()[0])
  })

  it('shows the object that was sent by a webhook of one event per request', async () => {
    await world.register(receiver.origin)
    await world.db.query(`update webhooks_stream set mode = 'single'`)
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    expect((await newest()).request.body).toBe(bodies()[0])
    expect(bodies()[0]).toMatch(/^\{/)
  })

  it('[contract 5] names the two deliveries that took over the events of a divided one', async () => {
    receiver.setScript([422, 200, 422])
    await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher()).runOnce()
    const { deliveries } = await listDeliveries({ db: world.db }, 'tn_a', {})
    const whole = deliveries.at(-1)
    expect(whole?.status).toBe('discarded')
    const halves = deliveries.slice(0, 2)
    expect(whole?.divided_into?.toSorted()).toEqual(halves.map((half) => half.delivery_id).sort())
    expect(halves.map((half) => half.status).sort()).toEqual(['delivered', 'parked'])
    expect(new Set(halves.flatMap((half) => half.events.map((event) => event.event_id)))).toEqual(
      new Set(whole?.events.map((event) => event.event_id)),
    )
    const detail = await getDelivery({ db: world.db }, reader, whole?.delivery_id ?? '')
    expect(detail.request.body).toBe(bodies()[0])
  })
})

describe('GET /v1/webhook/deliveries/{delivery_id}', () => {
  let api: WebhookApi
  beforeAll(async () => {
    api = await createWebhookApi()
    await makeDays(api.database.db)
  })
  beforeEach(() => clearWebhooks(api.database.db))
  afterAll(() => api.close())

  const get = async (id: string, key?: string) => {
    const answer = await api.call('GET', `/v1/webhook/deliveries/${id}`, { key })
    if (answer.status === 200) expect(Check(getWebhookDeliveryAnswer, answer.body)).toBe(true)
    return { ...answer, delivery: answer.body.delivery as WebhookDeliveryDetail }
  }

  it('answers a body without headers before the first request', async () => {
    const { db } = api.database
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, newEvent(), newEvent())
    const id = await insertDelivery(db, { key, members, status: 'pending' })
    const { status, body, delivery } = await get(id)
    expect(status).toBe(200)
    expect(body.message).toBe('Webhook Delivery')
    expect(delivery).toMatchObject({ status: 'pending', attempts: [], next_attempt_at: null })
    expect(delivery.request.headers).toEqual([])
    expect(JSON.parse(delivery.request.body ?? '')).toMatchObject([
      { event: 'MAIL_DELIVERED', details: { webhook_id: key.webhookId } },
      { event: 'MAIL_DELIVERED', details: { webhook_id: key.webhookId } },
    ])
    expect((await get(id, 'reader')).status).toBe(200)
    expect((await get(id, 'webhooks')).status).toBe(200)
  })

  it('answers a finish that is not before the start, even when clocks differ', async () => {
    const { db } = api.database
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, newEvent())
    const atMs = Date.now() + 3_600_000
    const id = await insertDelivery(db, { key, members, status: 'delivered', atMs })
    const { delivery } = await get(id)
    expect(delivery.created_at).toBe(new Date(atMs).toISOString())
    expect(delivery.finished_at).toBe(delivery.created_at)
  })

  it('answers a null body when one of the events has left the log', async () => {
    const { db } = api.database
    const key = await insertWebhook(db)
    const [member] = await recordUnwanted(db, newEvent())
    const gone = { eventId: newId('evt'), day: (member as EventKey).day }
    const id = await insertDelivery(db, {
      key,
      members: [member as EventKey, gone],
      status: 'delivered',
    })
    const { delivery } = await get(id)
    expect(delivery.request).toEqual({
      headers: ['Content-Type'],
      body: null,
      body_hidden: false,
      body_truncated: false,
    })
    expect(delivery.events.map((event) => event.event)).toEqual(['MAIL_DELIVERED', null])
  })

  it('answers the newest of very many attempts, oldest first', async () => {
    const { db } = api.database
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, newEvent())
    const day = new Date().toISOString().slice(0, 10)
    for (const status of ['parked', 'delivered'] as const) {
      const id = await insertDelivery(db, { key, members, status, attempts: 300 })
      await db.query(
        `insert into webhooks_attempt
           (tenant_id, delivery_id, day, attempt, at, duration_ms, status, header_names)
         select 'tn_a', $1, $2, n, now(), n, 500, '{X}' from generate_series(1, $3::integer) n`,
        [id, day, status === 'parked' ? 300 : 299],
      )
      const { delivery } = await get(id)
      const durations = delivery.attempts.map((attempt) => attempt.duration_ms)
      const newest = (count: number) => Array.from({ length: count }, (_, i) => 301 - count + i)
      const last = status === 'parked' ? [300] : [12]
      expect(durations).toEqual([...newest(200).slice(0, -1), ...last])
      const list = await api.call('GET', '/v1/webhook/deliveries?pageSize=1')
      const [listed] = list.body.deliveries as WebhookDeliveryDetail[]
      expect(listed?.attempts.map((attempt) => attempt.duration_ms)).toEqual([
        ...newest(10).slice(0, -1),
        ...last,
      ])
    }
  })

  it('leaves out an attempt that was made after the delivery was read', async () => {
    const { db } = api.database
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, newEvent())
    const id = await insertDelivery(db, { key, members, status: 'retrying', attempts: 2 })
    await db.query(
      `insert into webhooks_attempt (tenant_id, delivery_id, day, attempt, at, duration_ms)
       select 'tn_a', $1, current_date, n, now(), n from generate_series(1, 3) n`,
      [id],
    )
    const { delivery } = await get(id)
    expect(delivery.attempts.map((attempt) => attempt.duration_ms)).toEqual([1, 2])
  })

  it('answers the same 404 to a malformed id, an unknown id and an id of another tenant', async () => {
    const { db } = api.database
    const key = await insertWebhook(db, { tenantId: 'tn_b' })
    const members = await recordUnwanted(db, newEvent({ tenantId: 'tn_b' }))
    const theirs: string[] = []
    for (const status of ['pending', 'parked', 'delivered', 'discarded'] as const)
      theirs.push(await insertDelivery(db, { key, members, status }))
    expect((await get(theirs[0] ?? '', 'b')).status).toBe(200)
    const answers = new Set<string>()
    for (const id of [
      ...theirs,
      newId('dlv'),
      newId('evt'),
      `dlv_7${'Z'.repeat(25)}`,
      'dlv_x',
      "dlv_' or true",
      'x'.repeat(65),
      '%00',
    ]) {
      const { status, body } = await get(encodeURIComponent(id))
      expect(status, id).toBe(404)
      answers.add(JSON.stringify({ ...body, request_id: '' }))
    }
    expect(answers.size).toBe(1)
  })

  it('shows received mail only to a key that may read content', async () => {
    const { db } = api.database
    const key = await insertWebhook(db, { event: 'INCOMING', owner: 'imap_1' })
    const details = { mailer_id: 'imap_1', subject: 'Private', text: 'For your eyes only' }
    const event = { event: 'INCOMING_EMAIL', owner: 'imap_1', details } as const
    const members = await recordUnwanted(db, newEvent({ ...event, refId: newId('in') }))
    for (const status of ['delivered', 'parked'] as const) {
      const id = await insertDelivery(db, { key, members, status })
      for (const name of ['reader', 'webhooks']) {
        const { body } = await get(id, name)
        expect(JSON.stringify(body)).not.toMatch(/Private|eyes/)
        expect(body.delivery).toMatchObject({
          events: [{ event: 'INCOMING_EMAIL' }],
          request: { body: null, body_hidden: true, body_truncated: false },
        })
      }
      for (const name of ['a', 'content'])
        expect((await get(id, name)).delivery.request).toMatchObject({
          body: expect.stringContaining('For your eyes only'),
          body_hidden: false,
        })
    }
  })

  it('answers 401 without a key, and 403 to a key for sending', async () => {
    expect((await get(newId('dlv'), '')).status).toBe(401)
    expect((await get(newId('dlv'), 'sender')).status).toBe(403)
  })
})
