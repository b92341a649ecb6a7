import { randomBytes } from 'node:crypto'
import { emailEventRequest } from '@postrider/contract'
import type { WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { formatMicros } from '../../platform/clock.ts'
import { createEgress, EgressError } from '../../platform/egress/index.ts'
import { createKeyRing } from '../../platform/secrets/index.ts'
import { parseTraceparent } from '../../platform/trace.ts'
import { recordEvents } from '../events/record-events.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'
import { createBodyBudget } from './request/body-budget.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

type Sent = { event: string; details: { ref_id: string; event_at: string; webhook_id: string } }
const sent = (i: number) => receiver.requests[i]?.json as Sent[]
const refs = (i: number) => sent(i).map((event) => event.details.ref_id)

it('counts no attempt while the process has too many name lookups under way', async () => {
  const key = await world.register(receiver.origin.replace('127.0.0.1', 'hooks.example.test'))
  await world.record(newEvent())
  let lookups = 0
  const crowded = createEgress({
    allowNetworks: ['127.0.0.0/8'],
    lookup: async () => {
      lookups += 1
      if (lookups === 1) throw new EgressError('busy', 'too many names are being looked up')
      return [{ address: '127.0.0.1', family: 4 }]
    },
  })
  await (await world.dispatcher({ egress: crowded })).runOnce()
  await crowded.close()
  expect(lookups).toBe(2)
  expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 1 }])
})

it('counts no attempt and reads no body while large requests use all the memory', async () => {
  const key = await world.register(receiver.origin)
  const failedReason = 'x'.repeat(300_000)
  await world.record(newEvent({ details: { ...newEvent().details, failed_reason: failedReason } }))
  const bodyBudget = createBodyBudget(1_000_000)
  const giveBack = bodyBudget.take({ tenantId: 'tn_other', webhookId: 'wh_other' }, 1_000_000)
  const running = (await world.dispatcher({ bodyBudget })).runOnce()
  await expect.poll(() => bodyBudget.isCrowdedOut(key)).toBe(true)
  expect(receiver.requests).toHaveLength(0)
  giveBack?.()
  await running
  expect(receiver.requests).toHaveLength(1)
  expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 1 }])
})

describe('a webhook request', () => {
  it('[6.2.5] is a POST of a JSON array to the URL with its path and query', async () => {
    await world.register(`${receiver.origin}/hook/x?token=1&b`)
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    const [request] = receiver.requests
    expect(request).toMatchObject({ method: 'POST', path: '/hook/x?token=1&b' })
    expect(request?.header('content-type')).toBe('application/json')
    expect(request?.header('user-agent')).toBe('Postrider')
    expect(Check(emailEventRequest, request?.json)).toBe(true)
  })

  it('[6.2.2] names the subscription in every event', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher()).runOnce()
    expect(sent(0).map((event) => event.details.webhook_id)).toEqual([key.webhookId, key.webhookId])
  })

  it('[5.2] carries the custom headers verbatim, in their case and order', async () => {
    const headers = {
      'x-SECRET': 'a  b\tc',
      Authorization: 'Bearer t',
      'X-Empty': '',
      'user-AGENT': 'Mine/1',
    }
    await world.register(receiver.origin, { headers })
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    const raw = receiver.requests[0]?.rawHeaders ?? []
    const names = Object.keys(headers)
    expect(raw.filter(([name]) => names.includes(name))).toEqual(Object.entries(headers))
    expect(raw.filter(([name]) => name.toLowerCase() === 'user-agent')).toHaveLength(1)
  })

  it('[5.3] continues the trace of the oldest event', async () => {
    await world.register(receiver.origin)
    const [first, second] = [newEvent(), newEvent()]
    await world.record(second, first)
    await (await world.dispatcher()).runOnce()
    const trace = parseTraceparent(receiver.requests[0]?.header('traceparent'))
    expect(trace?.traceId).toBe(parseTraceparent(first.traceparent)?.traceId)
    expect(trace?.spanId).not.toBe(parseTraceparent(first.traceparent)?.spanId)
  })

  it('is one object in single mode, one event after the other', async () => {
    const key = await world.register(receiver.origin)
    await world.db.query(`update webhooks_stream set mode = 'single'`)
    const events = [newEvent(), newEvent()]
    await world.record(...events)
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests.map((request) => request.json)).toMatchObject(
      events.map((event) => ({
        event: 'MAIL_DELIVERED',
        details: { ref_id: event.refId, webhook_id: key.webhookId },
      })),
    )
  })
})

describe('a batch', () => {
  it('[6.2.3] is sorted oldest first, by the time of the event and then its id', async () => {
    await world.register(receiver.origin)
    const at = world.clock.nowMicros()
    // Also where the text of a time is shorter: .1 and .10001, whole seconds.
    const second = (at / 1_000_000n) * 1_000_000n
    const times = [at, second + 100_010n, at, second, second + 100_000n, at + 5n]
    const events = times.map((eventAtMicros) => newEvent({ eventAtMicros }))
    for (const event of events) await world.record(event)
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests).toHaveLength(1)
    const expected = events
      .map((event, recorded) => ({ event, recorded }))
      .sort(
        (a, b) => Number(a.event.eventAtMicros - b.event.eventAtMicros) || a.recorded - b.recorded,
      )
    expect(refs(0)).toEqual(expected.map(({ event }) => event.refId))
  })

  it('takes events in order of recording, up to their maximum number', async () => {
    await world.register(receiver.origin)
    const events = Array.from({ length: 7 }, () => newEvent())
    for (const event of events) await world.record(event)
    await (await world.dispatcher({ batchEventsMax: 3 })).runOnce()
    expect([0, 1, 2].map((i) => refs(i))).toEqual([
      events.slice(0, 3).map((event) => event.refId),
      events.slice(3, 6).map((event) => event.refId),
      events.slice(6).map((event) => event.refId),
    ])
  })

  it('fills the body to its maximum size exactly', async () => {
    await world.register(receiver.origin)
    // Longer in UTF-8 than in characters.
    const details = { ...newEvent().details, failed_reason: 'ä€😀'.repeat(50) }
    const record = () => world.record(...Array.from({ length: 5 }, () => newEvent({ details })))
    await record()
    await (await world.dispatcher({ batchEventsMax: 2 })).runOnce()
    const two = receiver.requests[0]?.body.length ?? 0
    receiver.clear()
    await record()
    await (await world.dispatcher({ batchBytesMax: two })).runOnce()
    expect(receiver.requests.map((request) => (request.json as Sent[]).length)).toEqual([2, 2, 1])
    expect(receiver.requests[0]?.body).toHaveLength(two)
    receiver.clear()
    await record()
    await (await world.dispatcher({ batchBytesMax: two - 1 })).runOnce()
    expect(receiver.requests.map((request) => (request.json as Sent[]).length)).toEqual(
      Array(5).fill(1),
    )
  })

  it('may exceed the size limit with a single event', async () => {
    await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await (await world.dispatcher({ batchBytesMax: 1 })).runOnce()
    expect(receiver.requests).toHaveLength(2)
  })

  it('does not lose an event that commits late while a newer one is under way', async () => {
    const key = await world.register(receiver.origin)
    const { promise: committed, resolve: commit } = Promise.withResolvers<void>()
    receiver.setScript([{ status: 200, after: committed }])
    const dispatcher = await world.dispatcher()
    const [first, late, early] = [newEvent(), newEvent(), newEvent()]
    await world.record(first)
    let run: Promise<void> | undefined
    await world.db.transaction(async (tx) => {
      // Its id lies between those that are sent.
      await recordEvents(tx, [late])
      await world.record(early)
      run = dispatcher.runOnce()
      await receiver.waitForRequests(1)
      expect(refs(0)).toEqual([first.refId, early.refId])
    })
    commit()
    await run
    expect(refs(1)).toEqual([late.refId])
    expect(await world.pending(key)).toEqual([])
  })
})

describe('an accepted batch (2xx)', () => {
  it.each([200, 201, 202, 204, 299])('leaves the queue for good after %i', async (status) => {
    const key = await world.register(receiver.origin)
    receiver.setScript([status])
    await world.record(newEvent(), newEvent())
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({
      state: 'idle',
      delivery_id: null,
      fail_count: 0,
      last_ok_at: expect.any(Date),
    })
  })

  it('is on record with its delivery, its events and its attempt', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([{ status: 200, body: Buffer.from('ok\0\xff\xed\xa0\x80 \u{1f600}') }])
    await world.record(newEvent(), newEvent())
    const [pending] = [await world.pending(key)]
    await (await world.dispatcher()).runOnce()
    expect(await world.deliveries(key)).toEqual([
      {
        delivery_id: expect.stringMatching(/^dlv_/),
        status: 'delivered',
        attempts: 1,
        event_ids: pending,
        traceparent: receiver.requests[0]?.header('traceparent'),
      },
    ])
    const [attempt] = await world.attempts(key)
    expect(attempt).toMatchObject({ attempt: 1, status: 200, error: null })
    expect(attempt?.response).toMatch(/^ok\ufffd/)
    expect(attempt?.timings).toMatchObject({ totalMs: expect.any(Number) })
  })

  it('has one log line without URL, headers or events', async () => {
    const key = await world.register(`${receiver.origin}/canary-path`, {
      headers: { 'X-Secret': 'canary-header' },
    })
    await world.record(newEvent({ details: { custom_args: 'canary-details' } }))
    await (await world.dispatcher()).runOnce()
    const [delivery] = await world.deliveries(key)
    expect(world.lines).toHaveLength(1)
    expect(world.lines[0]).toMatchObject({
      msg: 'webhook_delivery.finished',
      tenant_id: 'tn_a',
      webhook_id: key.webhookId,
      delivery_id: delivery?.delivery_id,
      attempt: 1,
      events: 1,
      status: 200,
      outcome: 'delivered',
      traceparent: delivery?.traceparent,
    })
    expect(JSON.stringify(world.lines)).not.toContain('canary')
  })
})

describe('a request that cannot be made', () => {
  it('records events that have left the log as discarded, and sends the others', async () => {
    const key = await world.register(receiver.origin)
    const events = [newEvent(), newEvent(), newEvent()]
    for (const event of events) await world.record(event)
    const forget = (refId: string | undefined) =>
      world.db.query('delete from webhooks_event where ref_id = $1', [refId])
    await forget(events[1]?.refId)
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    expect(refs(0)).toEqual([events[0]?.refId, events[2]?.refId])
    expect(await world.pending(key)).toEqual([])

    const last = newEvent()
    await world.record(last)
    await forget(last.refId)
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    expect(await world.stream(key)).toMatchObject({ state: 'idle' })
  })

  it('discards a frozen request that cannot be rebuilt, and sends the remaining events anew', async () => {
    const key = await world.register(receiver.origin)
    const events = [newEvent(), newEvent()]
    await world.record(...events)
    receiver.setScript([500])
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await world.db.query('delete from webhooks_event where ref_id = $1', [events[0]?.refId])
    await world.due()
    await dispatcher.runOnce()
    expect(refs(1)).toEqual([events[1]?.refId])
    const statuses = (await world.deliveries(key)).map((delivery) => delivery.status)
    expect(statuses).toEqual(['discarded', 'delivered'])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', delivery_id: null })
  })

  it('continues a stream whose open delivery is missing', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    receiver.setScript([500])
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await world.db.query('delete from webhooks_open')
    await world.due()
    const next = newEvent()
    await world.record(next)
    await dispatcher.runOnce()
    expect(refs(1)).toEqual([next.refId])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', delivery_id: null })
  })

  it('fails the attempt when headers cannot be decrypted, and delays no other webhook', async () => {
    const key = await world.register(receiver.origin, { headers: { 'X-Secret': 'canary-x' } })
    await world.register(`${receiver.origin}/healthy`, { tenantId: 'tn_b' })
    await world.record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    const other = createKeyRing(`k2:${randomBytes(32).toString('base64')}`)
    const dispatcher = await world.dispatcher({
      keyRing: {
        ...other,
        decrypt: (sealed, aad) => (aad.includes('tn_b') ? '[]' : other.decrypt(sealed, aad)),
      },
    })
    await dispatcher.runOnce()
    expect(receiver.requests.map((request) => request.path)).toEqual(['/healthy'])
    expect(await world.attempts(key)).toMatchObject([
      { attempt: 1, status: null, error: 'configuration: the headers cannot be decrypted' },
    ])
    expect(await world.stream(key)).toMatchObject({ state: 'active', fail_count: 1 })
    // It waits like any other failure.
    await dispatcher.runOnce()
    expect(await world.attempts(key)).toHaveLength(1)
    expect(JSON.stringify(world.lines)).not.toContain('canary')

    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', headers: { 'X-Secret': 'y' } })
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests.at(-1)?.header('x-secret')).toBe('y')
    expect(await world.pending(key)).toEqual([])
  })

  it('fails the attempt to an http: URL that is no longer allowed, and records the reason', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await (await world.dispatcher({ allowHttp: false })).runOnce()
    expect(receiver.requests).toEqual([])
    expect(await world.attempts(key)).toMatchObject([
      { status: null, error: 'url_not_allowed: http: URLs are not allowed here' },
    ])
    await world.due()
    await (await world.dispatcher({ allowHttp: true })).runOnce()
    expect(receiver.requests).toHaveLength(1)
  })
})

it('sends times with microseconds, as recorded', async () => {
  await world.register(receiver.origin)
  const event = newEvent()
  await world.record(event)
  await (await world.dispatcher()).runOnce()
  expect(sent(0)[0]?.details.event_at).toBe(formatMicros(event.eventAtMicros))
})
