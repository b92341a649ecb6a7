import { type WebhookStatus, webhookStatus } from '@postrider/contract'
import type { WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { insertWebhook } from '../../../test/webhook-record.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { replayEvents } from '../deliveries/replay-events.ts'
import { createDiscovery } from '../dispatch/schedule/discover-streams.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { getWebhookStatus, pauseWebhook, resumeWebhook } from './webhook-status.ts'

const ALL_BUCKETS = Array.from({ length: 64 }, (_, bucket) => bucket)

describe('[contract 7.3] the status of a webhook', () => {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  useWebhookDispatch((...made) => {
    ;[world, receiver] = made
  })
  const statusOf = async (key: StreamKey): Promise<WebhookStatus> => {
    const status = await getWebhookStatus(world, key)
    expect([status, Check(webhookStatus, status)]).toEqual([status, true])
    return status
  }
  const received = () =>
    receiver.requests.flatMap((request) => request.json as { details: { n: number } }[])
  const numbered = (n: number) => newEvent({ details: { ...newEvent().details, n } })

  it('is idle when nothing happens, and has no times', async () => {
    expect(await statusOf(await world.register(receiver.origin))).toEqual({
      state: 'idle',
      ...{ backlog: 0, replaying: 0 },
      ...{ oldest_pending_at: null, p50_ms: null, p95_ms: null, paused_at: null },
      ...{ failing_since: null, next_attempt_at: null, last_ok_at: null },
    })
  })

  it('counts what waits, and tells how long requests take', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent(), newEvent())
    const waiting = await statusOf(key)
    expect(waiting).toMatchObject({ state: 'active', backlog: 3, p50_ms: null })
    expect(Date.now() - Date.parse(waiting.oldest_pending_at ?? '')).toBeLessThan(60_000)
    await (await world.dispatcher()).runOnce()
    expect(await statusOf(key)).toMatchObject({
      ...{ state: 'idle', backlog: 0, oldest_pending_at: null },
      ...{ p50_ms: expect.any(Number), p95_ms: expect.any(Number) },
      last_ok_at: expect.any(String),
    })
  })

  it('counts what a replay has queued by itself, until it is sent', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher()).runOnce()
    await replayEvents(world, 'tn_a', { start: '2020-01-01' })
    await world.record(newEvent())
    expect(await statusOf(key)).toMatchObject({ backlog: 3, replaying: 2 })
    await (await world.dispatcher()).runOnce()
    expect(await statusOf(key)).toMatchObject({ state: 'idle', backlog: 0, replaying: 0 })
  })

  it('counts the events of failed requests, and their times', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 500)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher()).runOnce()
    await world.record(newEvent())
    expect(await statusOf(key)).toMatchObject({
      state: 'failing',
      backlog: 3,
      p50_ms: expect.any(Number),
      failing_since: expect.any(String),
      next_attempt_at: expect.any(String),
      oldest_pending_at: expect.any(String),
    })
  })

  it('takes the nearest of all durations of the last hour, and of no other webhook', async () => {
    const key = await world.register(receiver.origin)
    const other = await world.register(receiver.origin, { tenantId: 'tn_b' })
    const insert = (of: StreamKey, ms: number, agoMs: number) =>
      world.db.query(
        `insert into webhooks_delivery (tenant_id, delivery_id, day, webhook_id, status, mode,
                event_ids, event_days, traceparent, attempts, last_attempt)
         values ($1, $2, current_date, $3, 'delivered', 'array', '{}', '{}', '', 1, $4)`,
        [
          of.tenantId,
          deliveryIdAt(Date.now() - agoMs, ms),
          of.webhookId,
          JSON.stringify({ duration_ms: ms }),
        ],
      )
    for (let ms = 1; ms <= 100; ms++) await insert(key, ms, 60_000)
    await insert(key, 9_000, 3_700_000)
    await insert(other, 9_000, 60_000)
    await insert({ ...key, webhookId: 'wh_other' }, 9_000, 60_000)
    expect(await statusOf(key)).toMatchObject({ p50_ms: 50, p95_ms: 95 })
  })

  it('keeps what is recorded during a pause, and delivers it in order after the resume', async () => {
    const key = await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    await world.record(numbered(1))
    await dispatcher.runOnce()
    expect(await pauseWebhook(world, key)).toMatchObject({ state: 'paused' })
    for (let n = 2; n <= 6; n++) {
      await world.record(numbered(n))
      await dispatcher.runOnce()
    }
    const paused = await statusOf(key)
    expect(paused).toMatchObject({ state: 'paused', backlog: 5, paused_at: expect.any(String) })
    expect(await pauseWebhook(world, key)).toMatchObject({ paused_at: paused.paused_at })
    expect(received()).toHaveLength(1)
    expect(await resumeWebhook(world, key)).toMatchObject({ state: 'active', paused_at: null })
    await dispatcher.runOnce()
    expect(received().map(({ details }) => details.n)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await statusOf(key)).toMatchObject({ state: 'idle', backlog: 0 })
  })

  it('keeps the order and the bytes of a request that was cut by a pause and a crash', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([500, 200, 200])
    await world.record(numbered(1), numbered(2))
    await (await world.dispatcher()).runOnce()
    await pauseWebhook(world, key)
    await world.record(numbered(3))
    // Another process, as after a kill: all that it knows is in the rows.
    const second = await world.dispatcher()
    await world.due()
    await second.runOnce()
    expect(receiver.requests).toHaveLength(1)
    await resumeWebhook(world, key)
    await second.runOnce()
    expect(receiver.requests[1]?.body.toString()).toBe(receiver.requests[0]?.body.toString())
    expect(received().map(({ details }) => details.n)).toEqual([1, 2, 1, 2, 3])
  })

  it('gives nothing up for the time of a pause, and everything for the time outside it', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 500)
    const retryForMs = 10 * 3_600_000
    const policy = { retryScheduleMs: [3_600_000], retryForMs }
    const dispatcher = await world.dispatcher({ policy })
    await world.record(numbered(1))
    await dispatcher.runOnce()
    await pauseWebhook(world, key)
    const statusAfterResume = async (madeHoursAgo: number, pausedHoursAgo: number) => {
      await pauseWebhook(world, key)
      await world.db.query(`update webhooks_open set created_at = now() - $1 * interval '1 hour'`, [
        madeHoursAgo,
      ])
      await world.db.query(
        `update webhooks_stream set paused_at = now() - $1 * interval '1 hour'`,
        [pausedHoursAgo],
      )
      await resumeWebhook(world, key)
      await dispatcher.runOnce()
      return (await world.deliveries(key)).map(({ status }) => status)
    }
    // Made before the pause: what it waited outside the pause counts, so 9 hours, then 11.
    expect(await statusAfterResume(30, 21)).toEqual(['retrying'])
    expect(await statusAfterResume(30, 19)).toEqual(['exhausted'])
    // Made within the pause: it counts from the resume on.
    await world.record(numbered(2))
    await world.due()
    await dispatcher.runOnce()
    expect(await statusAfterResume(30, 40)).toEqual(['exhausted', 'retrying'])
    await world.db.query(`update webhooks_open set created_at = created_at - interval '11 hours'`)
    await world.due()
    await dispatcher.runOnce()
    expect((await world.deliveries(key)).map(({ status }) => status)).toEqual([
      'exhausted',
      'exhausted',
    ])
  })

  it('costs the dispatcher nothing while it is paused', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 400)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher()).runOnce()
    await pauseWebhook(world, key)
    await world.record(newEvent())
    await world.due()
    expect(await createDiscovery(world.db)(ALL_BUCKETS, 60_000)).toEqual([])
    let steps = 0
    const counting = await world.dispatcher({
      deliver: async () => {
        steps += 1
        return { kind: 'idle' }
      },
    })
    await counting.runOnce()
    expect(steps).toBe(0)
  })

  it('tells a webhook that is switched off from a paused one, which is paused first', async () => {
    const key = await world.register(receiver.origin)
    await world.db.query('update webhooks_subscription set active = false')
    expect(await statusOf(key)).toMatchObject({ state: 'inactive' })
    expect(await pauseWebhook(world, key)).toMatchObject({ state: 'paused' })
    expect(await resumeWebhook(world, key)).toMatchObject({ state: 'inactive' })
  })

  it('wakes the dispatcher of this process when it is resumed', async () => {
    const key = await world.register(receiver.origin)
    const woken: StreamKey[] = []
    const wakeups = { wake: (streams: readonly StreamKey[]) => woken.push(...streams) }
    await resumeWebhook({ db: world.db, wakeups } as never, key)
    expect(woken).toMatchObject([key])
  })
})

function deliveryIdAt(ms: number, n: number): string {
  const symbols = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  let time = ''
  for (let i = 0, left = ms; i < 10; i++, left = Math.floor(left / 32))
    time = symbols.charAt(left % 32) + time
  return `dlv_${time}${String(n).padStart(16, '0')}`
}

describe('the operations on a webhook', () => {
  let api: WebhookApi
  beforeAll(async () => {
    api = await createWebhookApi()
  })
  afterAll(() => api.close())
  beforeEach(() => api.clear())
  const paths = (webhookId: string) =>
    [
      ['GET', `/v1/webhook/${webhookId}/status`],
      ['POST', `/v1/webhook/${webhookId}/pause`],
      ['POST', `/v1/webhook/${webhookId}/resume`],
    ] as const

  it('answer the status, also of the webhook of a mailbox', async () => {
    const { webhookId } = await insertWebhook(api.database.db, { tenantId: 'tn_a' })
    for (const [method, path] of paths(webhookId)) {
      const { status, body } = await api.call(method, path)
      expect([status, body]).toMatchObject([200, { success: true, status: { backlog: 0 } }])
    }
    expect(api.woken).toMatchObject([{ tenantId: 'tn_a', webhookId }])
  })

  it('answer 404 for an unknown webhook and that of another tenant, which stays as it is', async () => {
    const { webhookId } = await insertWebhook(api.database.db, { tenantId: 'tn_b' })
    for (const id of [webhookId, 'wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8', 'x'])
      for (const [method, path] of paths(id))
        expect(await api.call(method, path)).toMatchObject({
          status: 404,
          body: { code: 'webhook_not_found' },
        })
    const { rows } = await api.database.db.query('select paused_at from webhooks_stream')
    expect(rows).toEqual([{ paused_at: null }])
  })

  it('answer 403 to a key without the scope: read sees the status alone', async () => {
    const { webhookId } = await insertWebhook(api.database.db, { tenantId: 'tn_a' })
    const statusesOf = async (key: string) =>
      await Promise.all(
        paths(webhookId).map(
          async ([method, path]) => (await api.call(method, path, { key })).status,
        ),
      )
    expect(await statusesOf('reader')).toEqual([200, 403, 403])
    expect(await statusesOf('webhooks')).toEqual([200, 200, 200])
    expect(await statusesOf('sender')).toEqual([403, 403, 403])
  })

  it('answer 429 to too many resumes, which make a webhook be tried at once', async () => {
    const limited = await createWebhookApi(
      {},
      { replayLimit: createRateLimit({ name: 'replays', usesMax: 1, windowS: 60 }) },
    )
    const { webhookId } = await insertWebhook(limited.database.db, { tenantId: 'tn_a' })
    const resume = () => limited.call('POST', `/v1/webhook/${webhookId}/resume`)
    expect((await resume()).status).toBe(200)
    expect(await resume()).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    await limited.close()
  })
})
