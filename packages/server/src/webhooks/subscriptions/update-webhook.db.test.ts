import { updateWebhookAnswer } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import { createWebhookApi, testKeyRing, type WebhookApi } from '../../../test/webhook-api.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { changeSubscription } from './change-subscription.ts'
import { openHeaders } from './custom-headers.ts'

let api: WebhookApi
let receiver: WebhookReceiver
beforeAll(async () => {
  api = await createWebhookApi()
  receiver = await createWebhookReceiver()
})
beforeEach(async () => {
  await api.register({
    webhook_url: `${receiver.origin}/hook`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { 'X-Old': 'old-canary' },
    webhook_options: { events: { delivery: true, phishing: true } },
  })
})
afterEach(() => api.clear())
afterAll(async () => {
  await api.close()
  await receiver.close()
})

const update = (change: object, key?: string) =>
  api.update({ event: 'EMAIL_EVENT', ...change }, key)
const addDomain = () =>
  api.register({ webhook_url: receiver.origin, event: 'DOMAIN_VERIFICATION', method: 'POST' })
async function shown() {
  const { body } = await api.list()
  return (body.webhooks as Record<string, unknown>[])[0]
}
async function sealedHeaders() {
  const stored = await api.stored()
  const owner = { tenantId: 'tn_a', webhookId: stored?.webhook_id ?? '' }
  return openHeaders(testKeyRing, owner, stored?.headers_sealed ?? '')
}
async function refusal(change: object | string, key?: string) {
  const before = await api.stored()
  const answer =
    typeof change === 'string' ? await api.update(change, key) : await update(change, key)
  expect(await api.stored()).toEqual(before)
  return answer
}

describe('updateWebhook: 200', () => {
  it('[4.2] says that the webhook was updated', async () => {
    const answer = await update({ active: true })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true, message: 'Webhook Updated' })
    expect(Check(updateWebhookAnswer, answer.body)).toBe(true)
  })

  it('keeps fields that were left out, and id and time of creation', async () => {
    const before = await shown()
    await update({})
    expect(await shown()).toEqual({ ...before, updated_at: expect.any(String) })
    expect(await sealedHeaders()).toEqual([['X-Old', 'old-canary']])
  })

  it('changes the URL after connecting to it, and sends nothing', async () => {
    const other = await createWebhookReceiver()
    expect((await update({ webhook_url: `${other.origin}/new`, method: 'POST' })).status).toBe(200)
    expect(await shown()).toMatchObject({ url: `${other.origin}/new`, active: true })
    expect(other.requests).toEqual([])
    await other.close()
  })

  it('[4.2] replaces all headers', async () => {
    await update({ headers: { 'X-New': 'new-canary' } })
    expect(await shown()).toMatchObject({ headers_present: ['X-New'] })
    expect(await sealedHeaders()).toEqual([['X-New', 'new-canary']])
    await update({ headers: {} })
    expect(await shown()).toMatchObject({ headers_present: [] })
    expect(await sealedHeaders()).toEqual([])
  })

  it('[7.3] removes headers with null, and changes nothing else', async () => {
    const before = await shown()
    expect((await update({ headers: null, method: null })).status).toBe(200)
    expect(await shown()).toEqual({
      ...before,
      headers_present: [],
      updated_at: expect.any(String),
    })
    await addDomain()
    const domain = await update({ event: 'DOMAIN_VERIFICATION', webhook_options: null })
    expect(domain.status).toBe(200)
  })

  it('[4.2] replaces all filters with options', async () => {
    await update({ webhook_options: { events: { click: true } } })
    const events = Object.entries((await api.stored())?.options ?? {})
    expect(events).toHaveLength(12)
    expect(events.filter(([, isOn]) => isOn)).toEqual([['click', true]])
  })

  it('switches off and on', async () => {
    await update({ active: false })
    expect(await shown()).toMatchObject({ active: false })
    await update({ headers: {} })
    expect(await shown()).toMatchObject({ active: false })
    await update({ active: true })
    expect(await shown()).toMatchObject({ active: true })
  })

  it('does not connect to an unchanged URL again', async () => {
    const gone = await createWebhookReceiver()
    await update({ webhook_url: gone.origin })
    await gone.close()
    const answer = await update({ webhook_url: gone.origin, headers: { 'X-New': 'new' } })
    expect(answer.status).toBe(200)
    expect(await shown()).toMatchObject({ headers_present: ['X-New'] })
  })

  it('updates DOMAIN_VERIFICATION beside EMAIL_EVENT', async () => {
    await addDomain()
    const before = await api.stored()
    const answer = await api.update({ event: 'DOMAIN_VERIFICATION', active: false })
    expect(answer.status).toBe(200)
    expect(await api.stored('tn_a', 'DOMAIN_VERIFICATION')).toMatchObject({ active: false })
    expect(await api.stored()).toEqual(before)
  })

  it('accepts a key with the scope webhooks', async () => {
    expect((await update({ active: false }, 'webhooks')).status).toBe(200)
  })
})

describe('the stream of an updated webhook', () => {
  const FAILING = `update webhooks_stream
    set not_before = 'infinity', fail_count = 7, first_failure_at = '2026-01-02', parked_in_row = 3,
        batch_bytes_max = 1000, batch_shrunk_at = '2026-01-02', is_probing = true,
        paused_at = '2026-01-03'`
  const stream = async () => {
    const { rows } = await api.database.db.query<Record<string, unknown>>(
      `select state, not_before <= now() as is_due, fail_count, first_failure_at, parked_in_row,
              batch_bytes_max, batch_shrunk_at, is_probing, paused_at from webhooks_stream`,
    )
    return rows[0]
  }
  const key = async () => ({ tenantId: 'tn_a', webhookId: (await api.stored())?.webhook_id })
  const isTriedAnew = {
    state: 'active',
    is_due: true,
    fail_count: 0,
    first_failure_at: null,
    parked_in_row: 0,
    is_probing: true,
    paused_at: new Date('2026-01-03T00:00:00Z'),
  }
  const forgotten = { batch_bytes_max: null, batch_shrunk_at: null }
  beforeEach(() => api.database.db.query(FAILING))

  it('is tried at once at another URL, and forgets the health of the old receiver', async () => {
    const other = await createWebhookReceiver()
    await update({ webhook_url: other.origin })
    expect(await stream()).toEqual({ ...isTriedAnew, ...forgotten })
    expect(api.woken).toMatchObject([await key()])
    await other.close()
  })

  it('is tried at once with other headers, and keeps the batch size of the receiver', async () => {
    await update({ headers: { 'X-New': 'new' } })
    const learned = { batch_bytes_max: 1000, batch_shrunk_at: new Date('2026-01-02T00:00:00Z') }
    expect(await stream()).toEqual({ ...isTriedAnew, ...learned })
    expect(api.woken).toMatchObject([await key()])
  })

  it('is served at once when the webhook is switched off, and starts afresh when it is on', async () => {
    await update({ active: false })
    expect(await stream()).toEqual({ ...isTriedAnew, ...forgotten })
    await api.database.db.query(FAILING)
    await update({ active: true })
    expect(await stream()).toEqual({ ...isTriedAnew, ...forgotten })
    expect(api.woken).toMatchObject([await key(), await key()])
  })

  it('does not change when filters change, or nothing does', async () => {
    const before = await stream()
    await update({ webhook_options: { events: { click: true } } })
    await update({ active: true })
    await update({ webhook_url: (await api.stored())?.url })
    expect(await stream()).toEqual(before)
    expect(api.woken).toEqual([])
  })
})

describe('the generation of a webhook', () => {
  it('grows each time the webhook is switched off, and at no other time', async () => {
    const seen = []
    for (const change of [
      { active: true },
      { active: false },
      { active: false },
      { active: true },
    ]) {
      await update({ ...change, headers: { 'X-New': 'new' } })
      seen.push((await api.stored())?.generation)
    }
    await update({ active: false, webhook_options: { events: { click: true } } })
    seen.push((await api.stored())?.generation)
    expect(seen).toEqual([0, 1, 1, 1, 2])
  })

  it('is not undone by a concurrent update', async () => {
    const { db } = api.database
    const end = Promise.withResolvers<void>()
    const isOff = Promise.withResolvers<void>()
    const name = { tenantId: 'tn_a', event: 'EMAIL_EVENT', owner: '' } as const
    const switchOff = db.transaction(async (tx) => {
      await changeSubscription(tx, testKeyRing, name, { active: false })
      isOff.resolve()
      await end.promise
    })
    await isOff.promise
    const second = update({ headers: { 'X-New': 'new' } })
    await untilBlocked(db)
    end.resolve()
    await switchOff
    expect((await second).status).toBe(200)
    expect(await shown()).toMatchObject({ active: false, headers_present: ['X-New'] })
    expect((await api.stored())?.generation).toBe(1)
  })
})

describe('updateWebhook: 400', () => {
  it.each([
    ['/event', { event: undefined }],
    ['/event', { event: 'IMAP_ERROR' }],
    ['/webhook_url', { webhook_url: '' }],
    ['/webhook_url', { webhook_url: 'nowhere' }],
    ['/webhook_url', { webhook_url: null }],
    ['/method', { method: 'GET' }],
    ['/headers', { headers: 'X-Secret: 1' }],
    ['/headers/Host', { headers: { Host: 'x' } }],
    ['/headers/x-a', { headers: { 'X-A': '1', 'x-a': '2' } }],
    ['/webhook_options/events/sent', { webhook_options: { events: { sent: true } } }],
    ['/active', { active: 'false' }],
    ['/active', { active: null }],
    ['/url', { url: 'https://hooks.example.com/' }],
  ])('names the invalid field: %s in %j', async (path, change) => {
    const { status, body } = await refusal(change)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
    expect(body.errors?.map((error) => error.path)).toEqual([path])
  })

  it('refuses filters without a core event', async () => {
    for (const webhook_options of [{}, null, { events: null }, { events: { phishing: true } }]) {
      const answer = await refusal({ webhook_options })
      expect(answer).toMatchObject({ status: 400, body: { code: 'at_least_one_event_required' } })
    }
  })

  it('refuses filters for DOMAIN_VERIFICATION', async () => {
    await addDomain()
    const answer = await refusal({
      event: 'DOMAIN_VERIFICATION',
      webhook_options: { events: { delivery: true } },
    })
    expect(answer).toMatchObject({ status: 400, body: { code: 'events_not_allowed' } })
  })

  it('refuses a URL that is not allowed', async () => {
    for (const webhook_url of [
      'https://10.0.0.1/',
      'https://u:p@hooks.example.test/',
      'ftp://x/',
    ]) {
      const answer = await refusal({ webhook_url })
      expect(answer).toMatchObject({ status: 400, body: { code: 'url_not_allowed' } })
    }
  })

  it('refuses a body that is not JSON', async () => {
    expect(await refusal('{')).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
  })
})

describe('updateWebhook: 401', () => {
  it('refuses a request without a known key', async () => {
    expect((await refusal({ active: false }, '')).status).toBe(401)
    expect((await refusal({ active: false }, 'nobody')).status).toBe(401)
  })
})

describe('updateWebhook: 403', () => {
  it.each(['reader', 'sender'])('refuses a key of another scope: %s', async (key) => {
    expect((await refusal({ active: false }, key)).status).toBe(403)
  })
})

describe('updateWebhook: 404', () => {
  it('refuses an event type that is not registered', async () => {
    const { status, body } = await api.update({ event: 'DOMAIN_VERIFICATION', active: false })
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 404,
      code: 'webhook_not_found',
      message: 'Webhook Not Found',
    })
  })

  it('refuses a webhook of another tenant', async () => {
    expect((await refusal({ active: false }, 'b')).status).toBe(404)
  })

  it('is answered after the rules and before the URL is looked up', async () => {
    const change = { webhook_url: 'https://10.0.0.1/' }
    expect((await update(change, 'b')).status).toBe(404)
    expect((await update({ ...change, webhook_options: {} }, 'b')).status).toBe(400)
  })
})

describe('updateWebhook: 415', () => {
  it('refuses another content type', async () => {
    const answer = await api.call('PUT', '/v1/webhook/update', {
      payload: '{}',
      headers: { 'content-type': 'text/plain' },
    })
    expect(answer.status).toBe(415)
  })
})

describe('updateWebhook: 429', () => {
  it('counts updates to another URL that cannot be connected to, and no others', async () => {
    const limit = createRateLimit({ name: 'checks', usesMax: 2, windowS: 60 })
    const limited = await createWebhookApi({ limit })
    const closed = await createWebhookReceiver()
    await closed.close()
    await limited.register({
      webhook_url: receiver.origin,
      event: 'DOMAIN_VERIFICATION',
      method: 'POST',
    })
    const change = (given: object) => limited.update({ event: 'DOMAIN_VERIFICATION', ...given })
    for (const given of [
      { webhook_url: receiver.origin },
      { headers: { 'X-A': 'b' } },
      { active: false },
      { webhook_url: 'https://10.0.0.1/' },
      { webhook_url: `${receiver.origin}/2` },
      { webhook_url: `${receiver.origin}/3` },
      { webhook_url: `${receiver.origin}/4` },
      { webhook_url: closed.origin },
      { webhook_url: closed.origin },
    ])
      expect((await change(given)).status).not.toBe(429)
    const answer = await change({ webhook_url: closed.origin })
    expect(answer).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect((await change({ active: true })).status).toBe(200)
    await limited.close()
  })
})

describe('updateWebhook: 422', () => {
  it('refuses a URL that cannot be connected to', async () => {
    const closed = await createWebhookReceiver()
    await closed.close()
    const answer = await refusal({ webhook_url: closed.origin, active: false })
    expect(answer).toMatchObject({ status: 422, body: { code: 'url_unreachable' } })
  })
})
