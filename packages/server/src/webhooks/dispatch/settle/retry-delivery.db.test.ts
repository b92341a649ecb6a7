import { createWebhookReceiver, type HttpAnswer, type WebhookReceiver } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { createFailpoints, type FailpointName } from '../../../platform/failpoints.ts'
import { deleteWebhook } from '../../subscriptions/delete-webhook.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

const HOUR_MS = 3_600_000
const update = (change: object) =>
  updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', ...change })
const waits = () => world.lines.flatMap(({ wait_ms }) => (wait_ms === undefined ? [] : [wait_ms]))
const outcomes = () => world.lines.map(({ outcome }) => outcome)
const bodies = () => receiver.requests.map((request) => request.body.toString())

/** Holds an answer back until it is opened. */
function limiter(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}

describe('a failed delivery', () => {
  it('[6.2.6] is repeated byte for byte, before anything newer', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([500, 503, 200, 200])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent(), newEvent())
    for (let round = 0; round < 3; round += 1) {
      // Older than what is frozen, and pending too by now: it stays out.
      if (round > 0)
        await world.record(newEvent({ eventAtMicros: world.clock.nowMicros() - 60_000_000n }))
      await world.due()
      await dispatcher.runOnce()
    }
    const [first, second, third, fourth] = receiver.requests
    expect(second?.body).toEqual(first?.body)
    expect(third?.body).toEqual(first?.body)
    expect(second?.rawHeaders).toEqual(first?.rawHeaders)
    expect(fourth?.json).toHaveLength(2)
    expect(await world.deliveries(key)).toMatchObject([
      { status: 'delivered', attempts: 3 },
      { status: 'delivered', attempts: 1 },
    ])
    expect(await world.attempts(key)).toMatchObject([
      { attempt: 1, status: 500 },
      { attempt: 2, status: 503 },
      { attempt: 3, status: 200 },
      { attempt: 1, status: 200 },
    ])
  })

  it('waits by the schedule, without a request meanwhile', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 500)
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    const [{ status } = {}] = await world.deliveries(key)
    expect(status).toBe('retrying')
    expect(await world.stream(key)).toMatchObject({ state: 'active', fail_count: 1 })
    for (let round = 0; round < 2; round += 1) {
      await world.due()
      await dispatcher.runOnce()
    }
    const [first, second, third] = waits() as number[]
    const within = (wait: number | undefined, base: number) =>
      wait !== undefined && wait >= base * 0.8 && wait <= base * 1.2
    expect([
      within(first, HOUR_MS),
      within(second, 2 * HOUR_MS),
      within(third, 2 * HOUR_MS),
    ]).toEqual([true, true, true])
  })

  it('is repeated at once on a new connection when a reused one was closed', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([200, { ending: 'rst' }, 200])
    const dispatcher = await world.dispatcher()
    for (let i = 0; i < 2; i += 1) {
      await world.record(newEvent())
      await dispatcher.runOnce()
    }
    expect(receiver.requests.map((request) => request.connection)).toEqual([2, 2, 3])
    expect(await world.attempts(key)).toMatchObject([
      { attempt: 1, status: 200 },
      { attempt: 1, error: expect.stringMatching(/^reset: /) },
      { attempt: 2, status: 200 },
    ])
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, first_failure_at: null })
  })

  it.each([301, 302, 303, 307, 308])(
    'includes a redirect (%i), which is not followed',
    async (status) => {
      const key = await world.register(`${receiver.origin}/from`)
      receiver.setScript([{ status, headers: { Location: `${receiver.origin}/to` } }])
      await world.record(newEvent())
      await (await world.dispatcher()).runOnce()
      expect(receiver.requests.map((request) => request.path)).toEqual(['/from'])
      const error = 'redirect: redirects are not followed'
      expect(await world.attempts(key)).toMatchObject([{ status, error }])
      expect(await world.pending(key)).toHaveLength(1)
    },
  )

  it.each([400, 401, 403, 404, 408, 410, 413, 415, 422, 429, 500, 503])(
    'includes status %i, and is tried again',
    async (status) => {
      const key = await world.register(receiver.origin)
      receiver.setScript([status, 200])
      await world.record(newEvent())
      const dispatcher = await world.dispatcher()
      await dispatcher.runOnce()
      expect(await world.pending(key)).toHaveLength(1)
      await world.due()
      await dispatcher.runOnce()
      expect(receiver.requests).toHaveLength(2)
      expect(await world.pending(key)).toEqual([])
    },
  )

  it('obeys Retry-After within the schedule, in seconds and as a date', async () => {
    await world.register(receiver.origin)
    const header = (value: string): HttpAnswer => ({
      status: 429,
      headers: { 'Retry-After': value },
    })
    const later = new Date(Date.now() + 400 * HOUR_MS).toUTCString()
    receiver.setScript([header('5400'), header('1'), header(later)])
    await world.record(newEvent())
    const dispatcher = await world.dispatcher()
    for (let round = 0; round < 3; round += 1) {
      await dispatcher.runOnce()
      await world.due()
    }
    expect(waits()).toEqual([1.5 * HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS])
  })

  it('is exhausted when its time is over: out of the queue, kept in the log', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([500, 500, 200])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await world.db.query(`update webhooks_open set created_at = now() - interval '72 hours'`)
    await world.record(newEvent())
    await world.due()
    await dispatcher.runOnce()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'exhausted', attempts: 2 }])
    expect(world.lines.map(({ outcome, level }) => [outcome, level])).toEqual([
      ['retry', 30],
      ['exhausted', 40],
    ])
    expect(await world.pending(key)).toHaveLength(1)
    // The receiver is as dead as before: the next events wait too, then go out by themselves.
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(2)
    await world.due()
    await dispatcher.runOnce()
    expect(receiver.requests[2]?.body).not.toEqual(receiver.requests[1]?.body)
    expect(await world.pending(key)).toEqual([])
    const { rows } = await world.db.query('select 1 from webhooks_event')
    expect(rows).toHaveLength(2)
  })
})

describe('a bad receiver', () => {
  it.each<[string, HttpAnswer, RegExp]>([
    ['never answers', { ending: 'hang' }, /^timeout: /],
    ['never ends its body', { status: 200, body: 'x', ending: 'hang' }, /^timeout: /],
    ['drips its body', { status: 200, body: 'x'.repeat(5_000), dripMs: 5 }, /^timeout: /],
    ['never ends its headers', { status: 200, endless: 'headers' }, /^(timeout|too_large): /],
    ['answers 102 for ever', { endless: 'continue' }, /^(timeout|protocol): /],
    ['resets the connection', { ending: 'rst' }, /^reset: /],
    ['closes the connection', { ending: 'fin' }, /^reset: /],
  ])('fails within the time-out when it %s', async (_what, answer, error) => {
    const key = await world.register(receiver.origin)
    receiver.setScript([answer])
    await world.record(newEvent())
    const dispatcher = await world.dispatcher({ timeoutMs: 300 })
    await dispatcher.runOnce()
    expect(await world.attempts(key)).toMatchObject([{ error: expect.stringMatching(error) }])
    await world.due()
    await dispatcher.runOnce()
    expect(bodies()[1]).toBe(bodies()[0])
    expect(await world.pending(key)).toEqual([])
  })

  it('a receiver that answers without end is read to a bound only', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([{ status: 200, endless: 'body' }])
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    const [attempt] = await world.attempts(key)
    expect(attempt).toMatchObject({ status: 200, error: null })
    expect(String(attempt?.response)).toHaveLength(4096)
  })

  it('fails when it is not there', async () => {
    const key = await world.register(receiver.origin)
    await receiver.close()
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    expect(await world.attempts(key)).toMatchObject([
      { status: null, error: expect.stringMatching(/^connect: /) },
    ])
  })
})

describe('a dispatcher that dies', () => {
  const crash = (name: FailpointName) =>
    createFailpoints(`${name}=kill`, () => {
      throw new Error('killed')
    })

  it.each<[FailpointName, number]>([
    ['dispatch.after_freeze', 0],
    ['dispatch.after_post', 1],
  ])(
    'leaves the same bytes to another one, which sends them first: at %s',
    async (name, requests) => {
      const key = await world.register(receiver.origin)
      const dying = await world.dispatcher({ failpoints: crash(name) })
      const frozen = [newEvent(), newEvent()]
      await world.record(...frozen)
      await dying.runOnce()
      expect(receiver.requests).toHaveLength(requests)
      const older = newEvent({ eventAtMicros: world.clock.nowMicros() - 60_000_000n })
      await world.record(older, newEvent())
      await (await world.dispatcher()).runOnce()
      const sent = receiver.requests.map((request) => request.json)
      expect(sent).toHaveLength(requests + 2)
      if (requests === 1) expect(receiver.requests[1]?.body).toEqual(receiver.requests[0]?.body)
      expect(sent[requests]).toMatchObject(
        frozen.map((event) => ({ details: { ref_id: event.refId } })),
      )
      expect(sent[requests + 1]).toMatchObject([{ details: { ref_id: older.refId } }, {}])
      expect(await world.pending(key)).toEqual([])
    },
  )

  it('repeats nothing when it dies after the settlement', async () => {
    await world.register(receiver.origin)
    await world.record(newEvent())
    await (await world.dispatcher({ failpoints: crash('dispatch.after_settle') })).runOnce()
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('an update of a webhook', () => {
  it('uses a new URL for the next request, which is made at once', async () => {
    const other = await createWebhookReceiver()
    const key = await world.register(receiver.origin)
    receiver.setScript([500])
    await world.record(newEvent())
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await update({ webhook_url: `${other.origin}/new` })
    await dispatcher.runOnce()
    expect(other.requests.map((request) => request.path)).toEqual(['/new'])
    expect(other.requests[0]?.body).toEqual(receiver.requests[0]?.body)
    expect(await world.pending(key)).toEqual([])
    await other.close()
  })

  it('keeps its effect when a request to the old URL fails later', async () => {
    const other = await createWebhookReceiver()
    const key = await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([500, { status: 500, after: opened }])
    await world.record(newEvent())
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await world.due()
    const run = dispatcher.runOnce()
    await receiver.waitForRequests(2)
    await update({ webhook_url: other.origin })
    open()
    await run
    await dispatcher.runOnce()
    expect(other.requests).toHaveLength(1)
    expect(await world.attempts(key)).toMatchObject([
      { attempt: 1, status: 500 },
      { attempt: 2, status: 500 },
      { attempt: 3, status: 200 },
    ])
    await other.close()
  })

  it('uses new headers for the next request', async () => {
    await world.register(receiver.origin, { headers: { 'X-Secret': 'old' } })
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await update({ headers: { 'X-Secret': 'new', 'X-More': '1' } })
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect(receiver.requests.map((request) => request.header('x-secret'))).toEqual(['old', 'new'])
    expect(receiver.requests[1]?.header('x-more')).toBe('1')
  })

  it('discards waiting events when it switches off, and begins with new ones when on again', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([500])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await world.record(newEvent())
    await update({ active: false })
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
    expect(await world.deliveries(key)).toMatchObject([
      { status: 'discarded', attempts: 1 },
      { status: 'discarded', attempts: 0 },
    ])
    await world.record(newEvent())
    await dispatcher.runOnce()
    await update({ active: true })
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    const fresh = newEvent()
    await world.record(fresh)
    await dispatcher.runOnce()
    expect(receiver.requests[1]?.json).toMatchObject([{ details: { ref_id: fresh.refId } }])
  })

  it.each([
    ['switched off', () => update({ active: false })],
    ['deleted', () => deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')],
  ])('during a request has this outcome, and no further request: %s', async (_what, stop) => {
    const key = await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([{ status: 500, after: opened }])
    const dispatcher = await world.dispatcher({ batchEventsMax: 1 })
    await world.record(newEvent(), newEvent())
    const run = dispatcher.runOnce()
    await receiver.waitForRequests(1)
    await stop()
    open()
    await run
    await world.due()
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    // What the request met is on record, and that it was not tried again.
    expect(await world.deliveries(key)).toMatchObject([
      { status: 'discarded', attempts: 1 },
      { status: 'discarded', attempts: 0 },
    ])
    expect(await world.attempts(key)).toMatchObject([{ attempt: 1, status: 500 }])
    expect(await world.pending(key)).toEqual([])
    expect(outcomes()).toEqual(['retry', 'discarded', 'discarded'])
  })

  it('gives none of the old events to a webhook that is registered after a deletion', async () => {
    await world.register(receiver.origin)
    await world.record(newEvent())
    await deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')
    await world.register(receiver.origin)
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests).toEqual([])
  })
})
