import { listWebhookDeliveriesAnswer, type WebhookDelivery } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  deliveryIdAt,
  type EventKey,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
  settle,
} from '../../../test/webhook-record.ts'
import type { Db } from '../../platform/db/index.ts'
import { pageTokenAfter } from '../../platform/http/paging.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'

const BOUNDS = { rowsMax: 8, membersMax: 40, weightMax: 500 }
const DAY_MS = 86_400_000

let api: WebhookApi
let db: Db
let key: StreamKey
beforeAll(async () => {
  api = await createWebhookApi({}, { pageBounds: BOUNDS })
  db = api.database.db
  await makeDays(db, 5)
})
beforeEach(async () => {
  await clearWebhooks(db)
  key = await insertWebhook(db)
})
afterAll(() => api.close())

async function list(query: Record<string, string | number> = {}, tenant = 'a') {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  const answer = await api.call('GET', `/v1/webhook/deliveries?${search}`, { key: tenant })
  if (answer.status === 200) expect(Check(listWebhookDeliveriesAnswer, answer.body)).toBe(true)
  return {
    ...answer,
    deliveries: (answer.body.deliveries ?? []) as WebhookDelivery[],
    token: answer.body.nextPageToken as string | undefined,
  }
}

const idsOf = (deliveries: readonly WebhookDelivery[]) => deliveries.map((one) => one.delivery_id)

/** Follows the tokens to the end; `between` runs after each page. */
async function listAll(
  query: Record<string, string | number> = {},
  between: (page: number) => Promise<void> = async () => undefined,
): Promise<string[]> {
  const ids: string[] = []
  let token: string | undefined
  for (let page = 1; page <= 50; page++) {
    const answer = await list(token === undefined ? query : { ...query, pageToken: token })
    expect(answer.status).toBe(200)
    ids.push(...idsOf(answer.deliveries))
    token = answer.token
    if (token === undefined) return ids
    await between(page)
  }
  throw new Error('the list does not end')
}

/** One delivered event in each, oldest first. */
async function deliver(count: number, status: 'delivered' | 'exhausted' = 'delivered') {
  const [member] = await recordUnwanted(db, newEvent())
  const ids: string[] = []
  for (let i = 0; i < count; i++)
    ids.push(await insertDelivery(db, { key, members: [member as EventKey], status }))
  return ids
}

describe('listDeliveries: 200', () => {
  it('shows an open and a settled delivery with every field, newest first', async () => {
    const failure = newEvent({ event: 'SMTP_ERROR', success: false, attempt: 3 })
    const [failed, deactivated] = await recordUnwanted(
      db,
      failure,
      newEvent({ refId: '', event: 'MAILER_DEACTIVATED', success: false, details: {} }),
    )
    const gone = { eventId: newId('evt'), day: (failed as EventKey).day }
    const settled = await insertDelivery(db, {
      key,
      members: [failed as EventKey, deactivated as EventKey, gone],
      status: 'discarded',
      dividedInto: ['dlv_1', 'dlv_2'],
    })
    const open = await insertDelivery(db, {
      key,
      members: [failed as EventKey],
      status: 'retrying',
      attempts: 1,
    })
    const { deliveries, body } = await list()
    expect(body).toMatchObject({ success: true, message: 'Webhook Deliveries' })
    const shown = {
      event_id: failed?.eventId,
      event: 'SMTP_ERROR',
      ref_id: failure.refId,
      event_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      attempt: 3,
    }
    expect(deliveries).toEqual([
      {
        delivery_id: open,
        webhook_id: key.webhookId,
        webhook_url: 'https://hooks.example.test/',
        status: 'retrying',
        events: [shown],
        attempts: [],
        next_attempt_at: '2099-01-01T00:00:00.000Z',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        finished_at: null,
      },
      {
        delivery_id: settled,
        webhook_id: key.webhookId,
        webhook_url: 'https://hooks.example.test/',
        status: 'discarded',
        events: [
          shown,
          {
            event_id: deactivated?.eventId,
            event: 'MAILER_DEACTIVATED',
            ref_id: null,
            event_at: expect.any(String),
          },
          { event_id: gone.eventId, event: null, ref_id: null, event_at: null },
        ],
        attempts: [
          {
            at: '2026-11-20T18:00:00.123Z',
            status: 200,
            duration_ms: 12,
            timings: { first_byte_ms: 11, total_ms: 12 },
            error: null,
            response: 'ok',
          },
        ],
        next_attempt_at: null,
        created_at: expect.any(String),
        finished_at: expect.any(String),
        divided_into: ['dlv_1', 'dlv_2'],
      },
    ])
  })

  it('answers an empty page without a token to a tenant without deliveries', async () => {
    await deliver(1)
    const answer = await list({}, 'b')
    expect(answer.body).toEqual({ success: true, message: 'Webhook Deliveries', deliveries: [] })
  })

  it('accepts keys for reading, and keys for webhooks', async () => {
    expect((await list({}, 'reader')).status).toBe(200)
    expect((await list({}, 'webhooks')).status).toBe(200)
  })

  it('leaves the neighbouring routes as they are', async () => {
    expect((await api.list()).body).toHaveProperty('webhooks')
    expect((await api.call('GET', '/v1/webhook/replay')).status).toBe(405)
  })
})

describe('pages of deliveries', () => {
  it('hold every open and settled delivery once, in order of their ids', async () => {
    const [member] = await recordUnwanted(db, newEvent())
    const ids: string[] = []
    for (let i = 0; i < 25; i++) {
      const status = (['delivered', 'parked', 'pending', 'exhausted'] as const)[i % 4] ?? 'parked'
      ids.push(await insertDelivery(db, { key, members: [member as EventKey], status }))
    }
    for (const pageSize of [1, 3, 25, 26, 500])
      expect(await listAll({ pageSize })).toEqual(ids.toReversed())
  })

  it('neither miss nor repeat a delivery that is made or settled between pages', async () => {
    const [member] = await recordUnwanted(db, newEvent())
    const members = [member as EventKey]
    const ids: string[] = []
    for (let i = 0; i < 20; i++)
      ids.push(await insertDelivery(db, { key, members, status: i % 2 ? 'parked' : 'delivered' }))
    const open = ids.filter((_, i) => i % 2 === 1)
    const listed = await listAll({ pageSize: 3 }, async () => {
      // On the page just shown, on the next one, and on the last one.
      for (const id of [open.pop(), open.pop(), open.shift()])
        if (id !== undefined) await db.transaction((tx) => settle(tx, key, id, 'delivered'))
      await insertDelivery(db, { key, members, status: 'parked' })
    })
    expect(listed).toEqual(ids.toReversed())
  })

  it('hold every delivery that is settled during the reads', async () => {
    const [member] = await recordUnwanted(db, newEvent())
    const ids: string[] = []
    for (let i = 0; i < 30; i++)
      ids.push(await insertDelivery(db, { key, members: [member as EventKey], status: 'parked' }))
    const settling = (async () => {
      for (const id of ids.toReversed())
        await db.transaction((tx) => settle(tx, key, id, 'delivered'))
    })()
    const pages: string[][] = []
    for (let i = 0; i < 10; i++) pages.push(idsOf((await list()).deliveries))
    await settling
    for (const page of pages) expect(page).toEqual(ids.toReversed())
  })

  it('end at a bounded number of events and attempts, and continue from there', async () => {
    const places = await recordUnwanted(db, ...Array.from({ length: 200 }, () => newEvent()))
    const ids: string[] = []
    for (let i = 0; i < 5; i++)
      ids.push(await insertDelivery(db, { key, members: places, status: 'pending' }))
    expect(idsOf((await list()).deliveries)).toEqual(ids.slice(3).toReversed())
    expect(await listAll()).toEqual(ids.toReversed())
    // One that is over the bound by itself has a page of its own.
    const wide = [...places, ...places, ...places]
    const over = await insertDelivery(db, { key, members: wide, status: 'pending' })
    expect(idsOf((await list()).deliveries)).toEqual([over])
    expect(await listAll({ status: 'pending' })).toEqual([over, ...ids.toReversed()])
  })

  it('end at a bounded number of events that a filter looks at, and continue from there', async () => {
    const wide = await recordUnwanted(db, ...Array.from({ length: 45 }, () => newEvent()))
    const places = wide.slice(0, 15)
    const ids: string[] = []
    for (const members of [places, places, places, places, wide])
      ids.unshift(await insertDelivery(db, { key, members, status: 'delivered' }))
    const pagesOf = async (event: string) => {
      const pages: string[][] = []
      let page = await list({ event })
      for (; page.token !== undefined; page = await list({ event, pageToken: page.token }))
        pages.push(idsOf(page.deliveries))
      return [...pages, idsOf(page.deliveries)]
    }
    // One that is over the bound by itself, then two at a time.
    const [first = '', ...others] = ids
    const pages = [[first], others.slice(0, 2), others.slice(2)]
    expect(await pagesOf('MAIL_DELIVERED')).toEqual(pages)
    expect(await pagesOf('MAILER_DEACTIVATED')).toEqual(pages.map(() => []))
  })

  it('refuse a token of another list, and a token that was tampered with', async () => {
    await deliver(3)
    const { token = '' } = await list({ pageSize: 1 })
    const text = Buffer.from(token, 'base64url').toString()
    const [id = ''] = text.split(':')
    for (const pageToken of [
      pageTokenAfter({ mark: 'tenants' }, id),
      `${token}A`,
      token.slice(0, -4),
      'x',
      Buffer.from(`${text}'`).toString('base64url'),
      Buffer.from(text.replace(id, newId('dlv'))).toString('base64url'),
    ])
      expect(await list({ pageToken })).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/pageToken' }] },
      })
  })

  it('refuse a token with other filters, and accept it with another page size', async () => {
    const ids = await deliver(3)
    const other = newUlid()
    const { token = '' } = await list({ pageSize: 1, status: 'delivered', start: '2020-01-01' })
    const goesOn = { start: '2020-01-01', status: 'delivered', pageSize: 2, pageToken: token }
    expect(idsOf((await list(goesOn)).deliveries)).toEqual(ids.slice(0, 2).toReversed())
    for (const filters of [
      {},
      { status: 'delivered' },
      { status: 'exhausted', start: '2020-01-01' },
      { status: 'delivered', start: '2020-01-02' },
      { status: 'delivered', start: '2020-01-01', ref_id: other },
    ])
      expect(await list({ ...filters, pageToken: token })).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/pageToken' }] },
      })
  })

  it('begin with the newest delivery for a token of the largest possible id', async () => {
    const ids = await deliver(1)
    const pageToken = pageTokenAfter({ mark: 'webhook_deliveries' }, `dlv_7${'Z'.repeat(25)}`)
    expect(idsOf((await list({ pageToken })).deliveries)).toEqual(ids)
  })
})

describe('the filter `status`', () => {
  const statuses = ['pending', 'retrying', 'parked', 'delivered', 'exhausted', 'discarded'] as const

  it.each(statuses)('finds %s among any number of others', async (status) => {
    const [member] = await recordUnwanted(db, newEvent())
    const wanted: string[] = []
    for (let i = 0; i < 40; i++) {
      const other = statuses[i % statuses.length] ?? status
      const id = await insertDelivery(db, { key, members: [member as EventKey], status: other })
      if (other === status) wanted.unshift(id)
    }
    expect(await listAll({ status })).toEqual(wanted)
    expect(await listAll({ status, pageSize: 2 })).toEqual(wanted)
  })
})

describe('the filters `webhook_id` and `open`', () => {
  it('find what is made for a webhook, what is not settled, and both at once', async () => {
    const other = await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
    const [member] = await recordUnwanted(db, newEvent())
    const put = (to: StreamKey, status: WebhookDelivery['status']) =>
      insertDelivery(db, { key: to, members: [member as EventKey], status })
    const all: { id: string; to: StreamKey; isOpen: boolean }[] = []
    const statuses = ['pending', 'retrying', 'parked', 'delivered', 'exhausted'] as const
    for (let i = 0; i < 30; i++) {
      const status = statuses[i % statuses.length] ?? 'pending'
      const to = i % 7 === 0 ? other : key
      all.unshift({ id: await put(to, status), to, isOpen: i % statuses.length < 3 })
    }
    const ids = (which: (one: (typeof all)[number]) => boolean) =>
      all.filter(which).map(({ id }) => id)
    const { webhookId: webhook_id } = other
    for (const pageSize of [1, 4, 50]) {
      expect(await listAll({ webhook_id, pageSize })).toEqual(ids(({ to }) => to === other))
      expect(await listAll({ status: 'open', pageSize })).toEqual(ids(({ isOpen }) => isOpen))
      expect(await listAll({ webhook_id, status: 'open', pageSize })).toEqual(
        ids(({ to, isOpen }) => to === other && isOpen),
      )
    }
    for (const strange of ['', 'wh_none', newId('wh')])
      expect(await listAll({ webhook_id: strange })).toEqual([])
    const { token = '' } = await list({ status: 'open', pageSize: 1 })
    expect(await list({ status: 'open', webhook_id, pageToken: token })).toMatchObject({
      body: { errors: [{ path: '/pageToken' }] },
    })
  })

  it('look beyond a page for what is made for a webhook', async () => {
    const other = await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
    const [member] = await recordUnwanted(db, newEvent())
    const members = [member as EventKey]
    const id = await insertDelivery(db, { key: other, members, status: 'delivered' })
    await deliver(BOUNDS.rowsMax - 2)
    const { deliveries } = await list({ webhook_id: other.webhookId, pageSize: 1 })
    expect(idsOf(deliveries)).toEqual([id])
  })

  it('tell no URL of a webhook that was deleted', async () => {
    await deliver(1)
    await db.query('delete from webhooks_subscription')
    expect((await list()).deliveries).toMatchObject([
      { webhook_id: key.webhookId, webhook_url: null },
    ])
  })
})

describe('the filters `event` and `ref_id`', () => {
  it('find open and settled deliveries that carry such an event', async () => {
    const mine = newEvent({ event: 'MAIL_OPENED' })
    const [opened, delivered, other] = await recordUnwanted(
      db,
      mine,
      newEvent({ refId: mine.refId }),
      newEvent(),
    )
    const put = async (status: 'delivered' | 'parked', ...members: (EventKey | undefined)[]) =>
      insertDelivery(db, { key, members: members as EventKey[], status })
    const a = await put('delivered', other, opened)
    const b = await put('parked', delivered, other)
    const c = await put('delivered', other)
    const d = await put('parked', other)
    const e = await put('parked', opened)
    expect(await listAll({ event: 'MAIL_OPENED' })).toEqual([e, a])
    expect(await listAll({ ref_id: mine.refId })).toEqual([e, b, a])
    expect(await listAll({ ref_id: mine.refId, event: 'MAIL_OPENED' })).toEqual([e, a])
    expect(await listAll({ ref_id: mine.refId, status: 'parked' })).toEqual([e, b])
    expect(await listAll({ ref_id: mine.refId, status: 'delivered' })).toEqual([a])
    expect(await listAll({ event: 'MAIL_DELIVERED' })).toEqual([d, c, b, a])
    expect(await listAll({ ref_id: newUlid() })).toEqual([])
    expect(await listAll({ event: 'IMAP_ERROR' })).toEqual([])
  })

  it('find nothing by a malformed ref_id, and no event without an email', async () => {
    const [place] = await recordUnwanted(db, newEvent({ refId: '', event: 'DOMAIN_VERIFICATION' }))
    await insertDelivery(db, { key, members: [place as EventKey], status: 'parked' })
    for (const ref_id of ['', 'x', 'x'.repeat(500)]) expect(await listAll({ ref_id })).toEqual([])
  })

  it('find the open and settled deliveries of a received message by its inbound_id', async () => {
    const incoming = (refId: string) => newEvent({ refId, event: 'INCOMING_EMAIL', owner: 'in/' })
    const [mine, others] = [newId('in'), newId('in')]
    const places = (await recordUnwanted(db, incoming(mine), incoming(others))) as EventKey[]
    const put = (at: number, status: 'delivered' | 'parked') =>
      insertDelivery(db, { key, members: places.slice(at, at + 1), status })
    const a = await put(0, 'delivered')
    await put(1, 'delivered')
    const b = await put(0, 'parked')
    await put(1, 'parked')
    expect(await listAll({ inbound_id: mine })).toEqual([b, a])
    expect(await listAll({ inbound_id: mine, status: 'delivered' })).toEqual([a])
    expect(await listAll({ inbound_id: mine, event: 'IMAP_ERROR' })).toEqual([])
    const { deliveries } = await list({ inbound_id: mine, status: 'parked' })
    expect(deliveries[0]?.events).toMatchObject([
      { event: 'INCOMING_EMAIL', ref_id: null, inbound_id: mine },
    ])
    const strange = ['', 'x', mine.slice(3), newId('in'), 'in_'.repeat(500)]
    for (const inbound_id of strange) expect(await listAll({ inbound_id })).toEqual([])
    expect(await listAll({ inbound_id: mine, ref_id: newUlid() })).toEqual([])
    expect(await listAll({ ref_id: mine })).toEqual([])
  })

  it('find every event by its name', async () => {
    const [place] = await recordUnwanted(
      db,
      newEvent({ refId: '', event: 'IMAP_ERROR', success: false, owner: 'imap_1', details: {} }),
    )
    const id = await insertDelivery(db, {
      key,
      members: [place as EventKey],
      status: 'delivered',
    })
    expect(await listAll({ event: 'IMAP_ERROR' })).toEqual([id])
  })

  it('find a delivery behind more events than one page looks at', async () => {
    const rare = newEvent({ event: 'MAIL_SPAM', success: false })
    const [spam, ...others] = await recordUnwanted(
      db,
      rare,
      ...Array.from({ length: 20 }, () => newEvent()),
    )
    const members = [spam as EventKey]
    const settled = await insertDelivery(db, { key, members, status: 'delivered' })
    const open = await insertDelivery(db, { key, members, status: 'parked' })
    // More deliveries than are looked at, and some with many events.
    for (let i = 0; i < 20; i++) {
      const status = i % 2 ? 'parked' : 'delivered'
      await insertDelivery(db, { key, members: i % 5 ? others.slice(0, 1) : others, status })
    }
    const first = await list({ event: 'MAIL_SPAM' })
    expect(first).toMatchObject({ status: 200, deliveries: [], token: expect.any(String) })
    expect(await listAll({ event: 'MAIL_SPAM' })).toEqual([open, settled])
    expect(await listAll({ ref_id: rare.refId })).toEqual([open, settled])
  })

  it('find a delivery behind a few deliveries with very many events', async () => {
    const [spam, ...others] = await recordUnwanted(
      db,
      newEvent({ event: 'MAIL_SPAM', success: false }),
      ...Array.from({ length: 45 }, () => newEvent()),
    )
    const put = async (...members: (EventKey | undefined)[]) =>
      insertDelivery(db, { key, members: members as EventKey[], status: 'delivered' })
    const first = await put(spam)
    await put(...others.slice(0, 30))
    await put(...others.slice(0, 30))
    // Over the bound by itself, and the first that is looked at.
    const wide = await put(...others, spam)
    expect(await listAll({ event: 'MAIL_SPAM' })).toEqual([wide, first])
  })

  it('[contract 3] find the replay of an event long after the event', async () => {
    const atMs = Date.now() - 4 * DAY_MS
    const event = newEvent({
      refId: deliveryIdAt(atMs).slice(4),
      eventAtMicros: BigInt(atMs) * 1000n,
    })
    const [place] = await recordUnwanted(db, event)
    const ids: string[] = []
    for (const status of ['delivered', 'exhausted', 'delivered'] as const)
      ids.unshift(await insertDelivery(db, { key, members: [place as EventKey], status }))
    expect(await listAll({ ref_id: event.refId })).toEqual(ids)
  })
})

describe('the filters `start` and `end`', () => {
  const now = Date.now()
  const times = [now - 3 * DAY_MS, now - DAY_MS - 1, now - DAY_MS, now - DAY_MS + 1, now - 5]
  let ids: string[]
  const shown = (ms: number) => new Date(ms).toISOString()
  beforeEach(async () => {
    const [place] = await recordUnwanted(db, newEvent())
    ids = []
    for (const [i, atMs] of times.entries()) {
      const status = i % 2 ? 'parked' : 'delivered'
      ids.push(await insertDelivery(db, { key, members: [place as EventKey], status, atMs }))
    }
  })
  const found = (...places: number[]) => places.map((i) => ids[i])

  it('include deliveries of exactly that time, as shown', async () => {
    const [, , third = 0] = times
    expect(await listAll({ start: shown(third) })).toEqual(found(4, 3, 2))
    expect(await listAll({ end: shown(third) })).toEqual(found(2, 1, 0))
    expect(await listAll({ start: shown(third), end: shown(third) })).toEqual(found(2))
    const { deliveries } = await list({ start: shown(third), end: shown(third) })
    expect(deliveries[0]?.created_at).toBe(shown(third))
  })

  it('[contract 5] take dates as whole days in UTC', async () => {
    const day = shown(times[0] ?? 0).slice(0, 10)
    expect(await listAll({ start: day, end: day })).toEqual(found(0))
    const midnight = Date.parse(shown(now).slice(0, 10))
    const [place] = await recordUnwanted(db, newEvent())
    const members = [place as EventKey]
    const last = await insertDelivery(db, {
      key,
      members,
      status: 'delivered',
      atMs: midnight - DAY_MS - 1,
    })
    const first = await insertDelivery(db, {
      key,
      members,
      status: 'delivered',
      atMs: midnight - DAY_MS,
    })
    const yesterday = shown(midnight - DAY_MS).slice(0, 10)
    const before = shown(midnight - DAY_MS - 1).slice(0, 10)
    expect(await listAll({ start: yesterday, end: yesterday })).toContain(first)
    expect(await listAll({ start: yesterday, end: yesterday })).not.toContain(last)
    expect(await listAll({ start: before, end: before })).toContain(last)
  })

  it('apply to all pages', async () => {
    expect(await listAll({ start: shown(times[1] ?? 0), pageSize: 1 })).toEqual(found(4, 3, 2, 1))
  })

  it('accept any time', async () => {
    for (const start of ['0000-01-01', '0001-01-01T00:00:00+23:59'])
      expect(await listAll({ start, end: '9999-12-31' })).toHaveLength(5)
    expect(await listAll({ start: '9999-12-31T23:59:59-23:59' })).toEqual([])
  })
})

describe('400 validation_failed', () => {
  it('explains how to write a + where a query turned it into a space', async () => {
    const hint = async (start: string) => (await list({ start })).body.errors?.[0]?.message
    expect(await hint('2026-11-20T18:00:00 01:00')).toContain('%2B')
    expect(await hint('2026-11-20 18:00:00')).not.toContain('%2B')
  })

  it.each([
    [{ event: 'EMAIL_EVENT' }, '/event'],
    [{ event: 'mail_delivered' }, '/event'],
    [{ status: 'failed' }, '/status'],
    [{ start: 'yesterday' }, '/start'],
    [{ end: '2026-02-30' }, '/end'],
    [{ start: '' }, '/start'],
    [{ start: '2026-11-21', end: '2026-11-20' }, '/start'],
    [{ start: '2026-11-20T00:00:00.001Z', end: '2026-11-20T00:00:00Z' }, '/start'],
    [{ pageSize: 0 }, '/pageSize'],
    [{ pageSize: 501 }, '/pageSize'],
    [{ webhook: 'wh_1' }, '/webhook'],
  ])('refuses %o at %s', async (query, path) => {
    const { status, body } = await list(query as Record<string, string>)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'validation_failed', errors: [{ path }] })
  })
})

describe('listDeliveries: 401 and 403', () => {
  it('answers 401 without a key, and 403 to a key for sending', async () => {
    expect((await list({}, '')).status).toBe(401)
    expect((await list({}, 'sender')).status).toBe(403)
  })
})

describe('isolation of tenants', () => {
  it('shows only deliveries of the own tenant, with every filter', async () => {
    const event = newEvent()
    const [mine] = await recordUnwanted(db, event)
    const theirs = await insertWebhook(db, { tenantId: 'tn_b' })
    const [foreign] = await recordUnwanted(db, { ...event, tenantId: 'tn_b' })
    for (const status of ['delivered', 'exhausted', 'parked'] as const) {
      await insertDelivery(db, { key, members: [mine as EventKey], status })
      await insertDelivery(db, { key: theirs, members: [foreign as EventKey], status })
    }
    const day = new Date().toISOString().slice(0, 10)
    for (const query of [
      {},
      { event: 'MAIL_DELIVERED' },
      { ref_id: event.refId },
      { status: 'delivered' },
      { status: 'exhausted' },
      { status: 'parked' },
      { start: day, end: day },
    ])
      for (const [tenant, webhookId] of [
        ['a', key.webhookId],
        ['b', theirs.webhookId],
      ]) {
        const { deliveries } = await list(query, tenant)
        expect(deliveries.length).toBeGreaterThan(0)
        expect(new Set(deliveries.map((one) => one.webhook_id))).toEqual(new Set([webhookId]))
      }
  })

  it('tells no URL of a webhook of another tenant', async () => {
    const [member] = await recordUnwanted(db, newEvent({ tenantId: 'tn_b' }))
    const theirs = { tenantId: 'tn_b', webhookId: key.webhookId }
    await insertDelivery(db, { key: theirs, members: [member as EventKey], status: 'parked' })
    expect((await list({}, 'b')).deliveries).toMatchObject([
      { webhook_id: key.webhookId, webhook_url: null },
    ])
  })

  it('shows only the own deliveries for a token of another tenant', async () => {
    await deliver(3)
    const { token = '' } = await list({ pageSize: 1 })
    const theirs = await insertWebhook(db, { tenantId: 'tn_b' })
    const [place] = await recordUnwanted(db, newEvent({ tenantId: 'tn_b' }))
    const id = await insertDelivery(db, {
      key: theirs,
      members: [place as EventKey],
      status: 'delivered',
      atMs: Date.now() - DAY_MS,
    })
    expect(idsOf((await list({ pageToken: token }, 'b')).deliveries)).toEqual([id])
  })
})
