import { type ListedEvent, listEventsAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import type { Db } from '../../platform/db/index.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import type { NewEvent } from '../events/event.ts'

let api: WebhookApi
let db: Db
beforeAll(async () => {
  api = await createWebhookApi(
    {},
    { logBounds: { looksMax: 4, bodyLooksMax: 3, octetsMax: 4_000 } },
  )
  db = api.database.db
  await makeDays(db, 5)
})
beforeEach(() => clearWebhooks(db))
afterAll(() => api.close())

async function list(query: Record<string, string | number> = {}, key = 'a') {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  const answer = await api.call('GET', `/v1/events?${search}`, { key })
  if (answer.status === 200) expect(Check(listEventsAnswer, answer.body)).toBe(true)
  return {
    ...answer,
    events: (answer.body.events ?? []) as ListedEvent[],
    token: answer.body.nextPageToken as string | undefined,
  }
}

/** The ids on all pages. */
async function listAll(query: Record<string, string | number> = {}): Promise<string[]> {
  const ids: string[] = []
  let token: string | undefined
  for (let page = 1; page <= 50; page++) {
    const answer = await list(token === undefined ? query : { ...query, pageToken: token })
    expect(answer.status).toBe(200)
    ids.push(...answer.events.map((event) => event.event_id))
    token = answer.token
    if (token === undefined) return ids
  }
  throw new Error('the list does not end')
}

const record = async (...events: readonly NewEvent[]) =>
  (await recordUnwanted(db, ...events)).map(({ eventId }) => eventId)
const event = (name: NewEvent['event'], details: object = {}) => {
  const made = newEvent({ event: name })
  return { ...made, details: { ...made.details, ...details } }
}

it('shows events as a webhook gets them, newest first, each with its id', async () => {
  const { webhookId } = await insertWebhook(db)
  const first = newEvent()
  const second = newEvent({ event: 'SMTP_ERROR', success: false, attempt: 2 })
  const ids = await record(first, second)
  const { status, body, events, headers } = await list()
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect([status, body.success, body.message]).toEqual([200, true, 'Events'])
  expect(events.map((one) => one.event_id)).toEqual(ids.toReversed())
  const [, shown] = events
  expect(shown).toEqual({
    event_id: ids[0],
    event: 'MAIL_DELIVERED',
    success: true,
    details: {
      ...first.details,
      webhook_id: webhookId,
      event_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    },
  })
})

it('leaves webhook_id empty while no webhook takes such events', async () => {
  await record(newEvent())
  const { events } = await list()
  expect(events[0]?.details).toMatchObject({ webhook_id: '' })
})

it.each([
  [{ event: 'MAIL_CLICKED' }, [1]],
  [{ email: 'Ada@Example.com' }, [0, 2]],
  [{ mailer_id: 'smtp_2' }, [1]],
  [{ mailer_id: 'imap_1' }, [3]],
  [{ email: 'ada@example.com', event: 'MAIL_OPENED' }, [2]],
])('filters by %o, also where pages look at few events', async (query, places) => {
  const ids = await record(
    event('MAIL_DELIVERED', { email: ['ADA@example.com'] }),
    event('MAIL_CLICKED', { mailer_id: 'smtp_2', custom_args: { to: 'ada@example.com' } }),
    event('MAIL_OPENED', { email: ['ada@example.com'], custom_args: { mailer_id: 'smtp_2' } }),
    newEvent({ event: 'IMAP_ERROR', owner: 'imap_1', refId: '', details: {} }),
    ...Array.from({ length: 9 }, () => newEvent()),
  )
  expect(await listAll(query)).toEqual(places.map((place) => ids[place]).toReversed())
})

it('finds addresses and mailers in bodies that are kept in short', async () => {
  const refId = newUlid()
  const quoted = '"Mozilla/5.0 ("@example.com'
  const [first, second] = await record(
    newEvent({ refId, details: { ...newEvent().details, ref_id: refId, email: [quoted] } }),
    event('MAIL_DELIVERED', { email: [`${refId}@example.com`], mailer_id: refId }),
  )
  const { rows } = await db.query(
    'select octets > 0 as "isShort" from webhooks_event order by event_id',
  )
  expect(rows).toEqual([{ isShort: false }, { isShort: true }])
  expect(await listAll({ email: quoted })).toEqual([first])
  expect(await listAll({ email: `${refId}@example.com` })).toEqual([second])
  expect(await listAll({ mailer_id: refId })).toEqual([second])
})

it('finds the events of an email, alone and with a name', async () => {
  const { refId } = newEvent()
  const ids = await record(
    newEvent({ refId }),
    newEvent({ refId, event: 'MAIL_OPENED' }),
    ...Array.from({ length: 9 }, () => newEvent()),
    newEvent({ refId, event: 'MAIL_OPENED' }),
  )
  expect(await listAll({ ref_id: refId })).toEqual([ids[11], ids[1], ids[0]])
  expect(await listAll({ ref_id: refId, event: 'MAIL_OPENED', pageSize: 1 })).toEqual([
    ids[11],
    ids[1],
  ])
})

it('pages by size and by octets without repeating or omitting an event', async () => {
  const large = event('MAIL_DELIVERED', { custom_args: { text: 'x'.repeat(5_000) } })
  const ids = await record(newEvent(), large, large, newEvent(), newEvent(), newEvent(), large)
  expect(await listAll({ pageSize: 2 })).toEqual(ids.toReversed())
  expect(await listAll()).toEqual(ids.toReversed())
  expect((await list()).events).toHaveLength(1)
})

it('filters by event_at, and late events by the time of their recording', async () => {
  const hourAgo = newEvent().eventAtMicros - 3_600_000_000n
  const [late, prompt] = await record(newEvent({ eventAtMicros: hourAgo }), newEvent())
  const today = new Date().toISOString().slice(0, 10)
  expect(await listAll({ start: today })).toEqual([prompt, late])
  const { events } = await list({ event: 'MAIL_DELIVERED', pageSize: 1 })
  const { event_at: at } = (events[0] as ListedEvent).details as { event_at: string }
  expect(await listAll({ start: at, end: at })).toEqual([prompt])
  const before = new Date(Date.now() - 30 * 60_000).toISOString()
  expect(await listAll({ end: before })).toEqual([])
})

it.each([{ ref_id: 'nonsense' }, { mailer_id: 'nonsense' }, { email: 'nonsense' }])(
  'finds nothing by %o',
  async (query) => {
    await record(newEvent())
    expect(await list(query)).toMatchObject({ status: 200, events: [] })
  },
)

it.each([
  [{ event: 'NOTHING' }, '/event'],
  [{ start: 'yesterday' }, '/start'],
  [{ start: '2026-11-21', end: '2026-11-20' }, '/start'],
  [{ pageSize: 501 }, '/pageSize'],
  [{ pageToken: 'x' }, '/pageToken'],
  [{ status: 'failed' }, '/status'],
])('refuses %o by its path', async (query, path) => {
  const { status, body } = await list(query as Record<string, string | number>)
  expect([status, body.errors?.[0]?.path]).toEqual([400, path])
})

it('refuses keys that may not read, and shows no event of another tenant', async () => {
  const { refId } = newEvent()
  await record(newEvent({ refId }))
  expect((await list({}, 'sender')).status).toBe(403)
  expect((await list({}, 'nobody')).status).toBe(401)
  for (const query of [{}, { ref_id: refId }, { email: 'a@example.com' }])
    expect((await list(query, 'b')).events).toEqual([])
})

it('shows the content of received mail to keys that may read content only', async () => {
  const inboundId = newId('in')
  const details = { inbound_id: inboundId, subject: 'secret', text: 'secret' }
  await record(newEvent({ event: 'INCOMING_EMAIL', refId: inboundId, owner: 'imap_1', details }))
  expect((await list()).events[0]?.details).toMatchObject({ text: 'secret' })
  const { events, body } = await list({}, 'reader')
  expect(events).toEqual([
    {
      event_id: expect.stringMatching(/^evt_/),
      event: 'INCOMING_EMAIL',
      success: true,
      details: { inbound_id: inboundId },
    },
  ])
  expect(JSON.stringify(body)).not.toContain('secret')
})

it('finds the event of a received message by its id, and nothing by another', async () => {
  const inboundId = newId('in')
  for (const refId of [inboundId, newId('in')])
    await record(newEvent({ event: 'INCOMING_EMAIL', refId, owner: 'imap_1', details: { refId } }))
  await record(newEvent())
  const { events } = await list({ inbound_id: inboundId })
  expect(events).toMatchObject([{ event: 'INCOMING_EMAIL', details: { refId: inboundId } }])
  const nothing = [{ inbound_id: 'x' }, { inbound_id: newId('in') }]
  for (const query of [...nothing, { inbound_id: inboundId, ref_id: newUlid() }])
    expect((await list(query)).events).toEqual([])
  expect((await list({ inbound_id: inboundId }, 'b')).events).toEqual([])
})
