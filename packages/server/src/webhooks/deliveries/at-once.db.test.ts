import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from '@postrider/runtime/concurrency-limiter'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookApi, testLimiter, type WebhookApi } from '../../../test/webhook-api.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'

const RECORD = { name: 'record', atOnceMax: 3, atOncePerCallerMax: 2, waitingPerCallerMax: 4 }
const REPLAYS = { name: 'replays', atOnceMax: 2, atOncePerCallerMax: 1, waitingPerCallerMax: 1 }

/** What is in it waits until it is opened; who entered is counted. */
function heldLimiter(limiter: ConcurrencyLimiter) {
  const opened = Promise.withResolvers<void>()
  const entered: string[] = []
  return {
    entered,
    open: opened.resolve,
    run: <T>(caller: string, work: () => Promise<T>) =>
      limiter.run(caller, async () => {
        entered.push(caller)
        await opened.promise
        return work()
      }),
  }
}

describe('reads of the delivery record', () => {
  let api: WebhookApi
  let record: ReturnType<typeof heldLimiter>
  let replays: ConcurrencyLimiter
  let limit = createRateLimit({ name: 'replays', usesMax: 1_000, windowS: 60 })
  beforeAll(async () => {
    api = await createWebhookApi(
      {},
      {
        limiters: {
          record: { run: (...o) => record.run(...o) },
          replays: { run: (...o) => replays.run(...o) },
        },
        replayLimit: {
          use: (...o) => limit.use(...o),
          useUnlessDone: (...o) => limit.useUnlessDone(...o),
        },
      },
    )
    await makeDays(api.database.db)
  })
  beforeEach(async () => {
    await clearWebhooks(api.database.db)
    record = heldLimiter(createConcurrencyLimiter(RECORD))
    replays = createConcurrencyLimiter(REPLAYS)
  })
  afterAll(() => api.close())

  const list = (key = 'a') => api.call('GET', '/v1/webhook/deliveries', { key })
  const statusesOf = async (calls: ReturnType<typeof list>[]) =>
    (await Promise.all(calls)).map(({ status }) => status).sort()

  it('run two at a time for one tenant, a few more wait, and other tenants do not wait', async () => {
    const { db } = api.database
    const mine = Array.from({ length: 10 }, () => list())
    expect((await Promise.race(mine)).status).toBe(429)
    const other = list('b')
    await expect.poll(() => record.entered).toEqual(['tn_a', 'tn_a', 'tn_b'])
    expect(db.stats.waiting).toBe(0)
    expect((await api.list()).status).toBe(200)
    record.open()
    expect(await statusesOf(mine)).toEqual([...Array(6).fill(200), ...Array(4).fill(429)])
    expect((await other).status).toBe(200)
  })

  it('include reads of one delivery and replays; a tenant runs one replay at a time', async () => {
    const key = await insertWebhook(api.database.db)
    const members = await recordUnwanted(api.database.db, newEvent())
    const id = await insertDelivery(api.database.db, { key, members, status: 'delivered' })
    const payload = { start: '2020-01-01' }
    const calls = [
      () => api.call('GET', `/v1/webhook/deliveries/${id}`),
      () => api.call('POST', `/v1/webhook/deliveries/${id}/redeliver`),
      () => api.call('POST', '/v1/webhook/replay', { payload }),
    ]
    for (const call of calls) {
      record = heldLimiter(testLimiter)
      const answer = call()
      await expect.poll(() => record.entered).toEqual(['tn_a'])
      record.open()
      expect((await answer).status).toBeLessThan(300)
    }
    record = heldLimiter(testLimiter)
    const both = calls.slice(1).map((call) => call())
    const refused = calls[2]?.()
    expect((await Promise.race([...both, refused]))?.status).toBe(429)
    expect(record.entered).toEqual(['tn_a'])
    record.open()
    expect((await Promise.all([...both, refused])).map((one) => one?.status).sort()).toEqual([
      202, 202, 429,
    ])
  })

  it.each([
    ['redeliver', '/v1/webhook/deliveries/dlv_00000000000000000000000000/redeliver', undefined],
    ['replay', '/v1/webhook/replay', { start: '2020-01-01' }],
  ])('counts %s against its rate limit', async (_name, url, payload) => {
    record.open()
    limit = createRateLimit({ name: 'replays', usesMax: 1, windowS: 60 })
    const call = () => api.call('POST', url, { payload })
    expect((await call()).status).toBe(404)
    const refused = await call()
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(refused.headers['ratelimit-policy']).toBe('"replays";q=1;w=60')
    limit = createRateLimit({ name: 'replays', usesMax: 1_000, windowS: 60 })
  })
})
