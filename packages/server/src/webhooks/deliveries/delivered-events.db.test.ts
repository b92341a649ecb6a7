/** Which recorded events reach which receiver, also after changes of their webhooks. */
import {
  domainVerification,
  emailEventRequest,
  imapError,
  mailerDeactivated,
} from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { testKeyRing } from '../../../test/webhook-api.ts'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { refusedHosts } from '../../platform/egress/refused-hosts.fixture.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { togglesOf } from '../subscriptions/check-toggles.ts'
import { createSubscription } from '../subscriptions/create-subscription.ts'
import type { CustomHeaders } from '../subscriptions/custom-headers.ts'
import type { SubscriptionEvent } from '../subscriptions/subscription.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

/** As if it had been registered when that was allowed. */
async function store(
  event: SubscriptionEvent,
  o: { owner?: string; url?: string; headers?: CustomHeaders } = {},
): Promise<StreamKey> {
  const webhook_options = { events: { delivery: true } }
  const { webhookId } = await world.db.transaction((tx) =>
    createSubscription(tx, testKeyRing, {
      tenantId: 'tn_a',
      event,
      owner: o.owner ?? '',
      url: o.url ?? receiver.origin,
      headers: o.headers ?? [],
      toggles: event === 'EMAIL_EVENT' ? togglesOf({ event, webhook_options }) : undefined,
    }),
  )
  return { tenantId: 'tn_a', webhookId }
}
const change = (given: object) =>
  updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', ...given })
const deliver = async () => (await world.dispatcher()).runOnce()
const bodies = () => receiver.requests.map((request) => request.json)
const deactivated = { mailer_id: 'm_1', config_type: 'smtp', failed_reason: 'oauth_revoked' }

describe('events that belong to no email', () => {
  it('[6.3] sends MAILER_DEACTIVATED alone in its array, between the batches around it', async () => {
    await store('EMAIL_EVENT')
    const event = newEvent({
      event: 'MAILER_DEACTIVATED',
      success: false,
      refId: '',
      details: deactivated,
    })
    await world.record(newEvent(), newEvent())
    await world.record(event)
    await world.record(newEvent())
    await deliver()
    const sent = bodies() as object[][]
    expect(sent.map((body) => body.length)).toEqual([2, 1, 1])
    expect(sent.every((body) => Check(emailEventRequest, body))).toBe(true)
    expect(Check(mailerDeactivated, sent[1]?.[0])).toBe(true)
    expect(sent[1]).toStrictEqual([
      { event: 'MAILER_DEACTIVATED', success: false, details: deactivated },
    ])
  })

  it('[2.7] sends DOMAIN_VERIFICATION as one object with the id of its webhook and without success', async () => {
    const { webhookId } = await store('DOMAIN_VERIFICATION')
    const details = { domain: 'd.test', verified: true, mailer_id: 'domain_1', custom_args: null }
    const { success: _, ...event } = newEvent({ event: 'DOMAIN_VERIFICATION', refId: '', details })
    await world.record(event, { ...event, details: { ...details, verified: false } })
    await deliver()
    expect(bodies()).toStrictEqual(
      [true, false].map((verified) => ({
        event: 'DOMAIN_VERIFICATION',
        details: { webhook_id: webhookId, ...details, verified },
      })),
    )
    expect(bodies().every((body) => Check(domainVerification, body))).toBe(true)
  })

  it('[6.3] sends events of a mailbox as single objects to the webhook of the mailbox', async () => {
    await store('INCOMING', { owner: 'imap_1' })
    await store('EMAIL_EVENT', { url: 'http://127.0.0.1:1/' })
    const base = { refId: '', owner: 'imap_1' }
    const failure = { mailer_id: 'imap_1', failed_reason: 'timed out' }
    await world.record(
      newEvent({ ...base, event: 'IMAP_ERROR', success: false, details: failure }),
      newEvent({ ...base, event: 'MAILER_DEACTIVATED', success: false, details: deactivated }),
      newEvent({ ...base, event: 'INCOMING_EMAIL', success: true, details: { text: 'ü' } }),
    )
    await deliver()
    const sent = bodies() as { event: string }[]
    const byName = Object.fromEntries(sent.map((body) => [body.event, body]))
    expect(sent).toHaveLength(3)
    expect(Check(imapError, byName.IMAP_ERROR)).toBe(true)
    expect(Check(mailerDeactivated, byName.MAILER_DEACTIVATED)).toBe(true)
    expect(byName.INCOMING_EMAIL).toStrictEqual({
      event: 'INCOMING_EMAIL',
      success: true,
      details: { text: 'ü' },
    })
  })
})

describe('a change of a webhook', () => {
  it('applies new filters to queued events, and not to a delivery that failed', async () => {
    await store('EMAIL_EVENT')
    await change({ webhook_options: { events: { delivery: true, open: true } } })
    receiver.setScript([503])
    await world.record(newEvent())
    await deliver()
    await world.record(newEvent(), newEvent({ event: 'MAIL_OPENED' }))
    await change({ webhook_options: { events: { open: true } } })
    await world.record(newEvent())
    await world.due()
    await deliver()
    const sent = bodies() as { event: string }[][]
    expect(sent.map((body) => body.map(({ event }) => event))).toEqual([
      ['MAIL_DELIVERED'],
      ['MAIL_DELIVERED'],
      ['MAIL_OPENED'],
    ])
    expect(sent[1]).toEqual(sent[0])
  })

  it('repeats a failed delivery at the new URL at once, byte for byte', async () => {
    const key = await store('EMAIL_EVENT')
    const other = await createWebhookReceiver()
    receiver.setScript([503])
    await world.record(newEvent())
    await deliver()
    await change({ webhook_url: other.origin, headers: { 'X-New': 'new' } })
    await deliver()
    expect(receiver.requests).toHaveLength(1)
    const [request] = await other.waitForRequests(1)
    expect(request?.body).toEqual(receiver.requests[0]?.body)
    expect(request?.header('x-new')).toBe('new')
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, first_failure_at: null })
    await other.close()
  })

  it('sends only new events after the webhook was switched off and on during requests', async () => {
    await store('EMAIL_EVENT')
    await world.record(newEvent(), newEvent())
    await change({ active: false })
    await world.record(newEvent())
    await change({ active: true })
    const since = newEvent()
    await world.record(since)
    await deliver()
    const sent = bodies() as { details: { ref_id: string } }[][]
    expect(sent.map((body) => body.map(({ details }) => details.ref_id))).toEqual([[since.refId]])
  })
})

describe('a stored URL with a forbidden target', () => {
  const spellings = Object.values(refusedHosts).flatMap((hosts) => [hosts[0], hosts.at(-1) ?? ''])

  it.each(spellings)('is never connected to: %s', async (host) => {
    const egress = createEgress({ allowNetworks: [] })
    const key = await store('EMAIL_EVENT', { url: `http://${host}:${receiver.port}/` })
    await world.record(newEvent())
    await (await world.dispatcher({ egress })).runOnce()
    expect(receiver.connections).toBe(0)
    const attempts = await world.attempts(key)
    expect(attempts).toMatchObject([
      { attempt: 1, status: null, error: expect.stringMatching(/^address_refused: /) },
    ])
    await egress.close()
  })

  it('reveals no address behind its name', async () => {
    const egress = createEgress({
      allowNetworks: [],
      lookup: async () => [{ address: '10.9.8.7', family: 4 }],
    })
    const key = await store('EMAIL_EVENT', { url: 'https://hooks.example.test/' })
    await world.record(newEvent())
    await (await world.dispatcher({ egress })).runOnce()
    expect(JSON.stringify([await world.attempts(key), world.lines])).not.toContain('10.9.8.7')
    await egress.close()
  })

  it('is never connected to when its port belongs to another protocol', async () => {
    const key = await store('EMAIL_EVENT', { url: 'http://127.0.0.1:25/' })
    await world.record(newEvent())
    await deliver()
    expect(await world.attempts(key)).toMatchObject([
      { error: 'protocol: port 25 is not for HTTP' },
    ])
  })
})

it('masks header values that a receiver echoes in the record', async () => {
  const key = await store('EMAIL_EVENT', {
    headers: [
      ['X-Secret', 'canary-1-value'],
      ['Authorization', 'Bearer canary-2-token'],
    ],
  })
  receiver.setScript((request) => ({
    status: receiver.requests.length < 1 ? 500 : 200,
    body: `bad token ${request.header('authorization')?.slice(7)}: ${JSON.stringify(request.rawHeaders)}`,
  }))
  await world.record(newEvent())
  await deliver()
  await world.due()
  await deliver()
  const attempts = await world.attempts(key)
  expect(attempts.map((attempt) => attempt.status)).toEqual([500, 200])
  expect(receiver.requests[1]?.header('x-secret')).toBe('canary-1-value')
  for (const { response } of attempts) {
    expect(response).toContain('bad token ***: ')
    expect(response).not.toContain('canary')
  }
})
