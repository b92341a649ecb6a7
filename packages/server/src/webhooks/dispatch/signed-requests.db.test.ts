/** Signed requests, from the registration to what a receiver checks with the library of Standard Webhooks. */
import {
  createWebhookReceiver,
  type WebhookReceiver,
  type WebhookRequest,
} from '@postrider/testkit'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { registerWebhook } from '../subscriptions/register-webhook.ts'
import { rotateSigningSecret } from '../subscriptions/rotate-secret.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'
import type { StreamKey } from './stream-store.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

const OURS = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

async function registerSigned(headers: Record<string, string> = {}) {
  const { webhookId, signingSecret = '' } = await registerWebhook(world.deps, 'tn_a', {
    ...{ webhook_url: receiver.origin, event: 'EMAIL_EVENT', method: 'POST', signing: true },
    ...{ headers, webhook_options: { events: { delivery: true } } },
  })
  return { key: { tenantId: 'tn_a', webhookId }, secret: signingSecret }
}
const rotate = (key: StreamKey, clock = world.clock) =>
  rotateSigningSecret({ ...world.deps, clock }, key)
const send = async (count = 1) => {
  await world.record(...Array.from({ length: count }, () => newEvent()))
  await (await world.dispatcher()).runOnce()
}
const headersOf = (request: WebhookRequest | undefined) =>
  Object.fromEntries(OURS.map((name) => [name, request?.header(name) ?? '']))
/** Throws when no signature of the request is by this secret. */
const verify = (secret: string, request = receiver.requests.at(-1)) =>
  new Webhook(secret).verify(request?.body.toString() ?? '', headersOf(request))
const fits = (secret: string, request?: WebhookRequest) => {
  try {
    verify(secret, request)
    return true
  } catch {
    return false
  }
}

describe('[contract 10] a signed request', () => {
  it('is verified by Standard Webhooks, and has the id of its delivery', async () => {
    const { key, secret } = await registerSigned({ 'X-Mine': 'a' })
    await send(2)
    expect(verify(secret)).toEqual(receiver.requests[0]?.json)
    const [delivery] = await world.deliveries(key)
    expect(headersOf(receiver.requests[0])['webhook-id']).toBe(delivery?.delivery_id)
    expect(receiver.requests[0]?.header('x-mine')).toBe('a')
    expect(fits(`whsec_${Buffer.alloc(32).toString('base64')}`)).toBe(false)
  })

  it('is signed anew when it is repeated, with the same id and body', async () => {
    const { secret } = await registerSigned()
    receiver.setScript([500])
    await send()
    await world.due()
    await (await world.dispatcher()).runOnce()
    const [first, second] = receiver.requests
    for (const request of [first, second]) verify(secret, request)
    expect(second?.header('webhook-id')).toBe(first?.header('webhook-id'))
    expect(second?.body).toEqual(first?.body)
  })

  it('has a body of several megabytes signed as a whole, in UTF-8', async () => {
    const { secret } = await registerSigned()
    const failed_reason = 'ü€😀'.repeat(300_000)
    await world.record(newEvent({ details: { ...newEvent().details, failed_reason } }))
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests[0]?.body.length).toBeGreaterThan(2_000_000)
    verify(secret)
  })

  it('shows no secret of it in what its receiver answers', async () => {
    const { key, secret } = await registerSigned()
    receiver.setScript([{ status: 500, body: `${secret} ${secret.slice(6)} told` }])
    await send()
    expect(await world.attempts(key)).toMatchObject([{ response: '*** *** told' }])
    expect(JSON.stringify(world.lines)).not.toContain(secret.slice(6))
  })

  it('is not made while its secret cannot be decrypted', async () => {
    const { key } = await registerSigned()
    await world.db.query(
      'update webhooks_subscription set signing_sealed = headers_sealed where webhook_id = $1',
      [key.webhookId],
    )
    await send()
    expect(receiver.requests).toEqual([])
    const error = 'configuration: the headers or the signing secret cannot be decrypted'
    expect(await world.attempts(key)).toMatchObject([{ status: null, error }])
  })
})

describe('[contract 10] a request that is not signed', () => {
  it('has none of the headers, and exactly those that it had before', async () => {
    await world.register(receiver.origin, { headers: { 'Webhook-Id': 'mine' } })
    await send()
    const names = receiver.requests[0]?.rawHeaders.map(([name]) => name)
    expect(names?.filter((name) => !/^(host|connection|content-length)$/i.test(name))).toEqual([
      ...['Content-Type', 'User-Agent', 'traceparent', 'Webhook-Id'],
    ])
    expect(receiver.requests[0]?.header('webhook-id')).toBe('mine')
  })

  it('is what a webhook sends again once signing is turned off', async () => {
    const { secret } = await registerSigned()
    const change = (signing: boolean) =>
      updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', signing })
    expect(await change(true)).toEqual({})
    expect(await change(false)).toEqual({})
    await send()
    expect(receiver.requests[0]?.header('webhook-signature')).toBeUndefined()
    const again = await change(true)
    expect(again.signingSecret).toMatch(/^whsec_/)
    await send()
    verify(again.signingSecret ?? '')
    expect(fits(secret)).toBe(false)
  })
})

describe('[contract 10] rotateSigningSecret', () => {
  it('has old and new sign side by side for 24 hours', async () => {
    const { key, secret } = await registerSigned()
    const { signingSecret, formerUntil } = await rotate(key)
    expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await send()
    expect(headersOf(receiver.requests[0])['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    verify(secret)
    verify(signingSecret)
    const ends = { now: () => formerUntil } as typeof world.clock
    await world.record(newEvent())
    const late = await world.dispatcher({ clock: ends })
    await late.runOnce()
    const last = receiver.requests.at(-1)
    expect(last?.header('webhook-signature')).toMatch(/^v1,\S+$/)
    // Its time is tomorrow's, which no receiver takes today.
    expect(last?.header('webhook-timestamp')).toBe(String(Math.floor(formerUntil.getTime() / 1000)))
    const signature = new Webhook(signingSecret).sign(
      last?.header('webhook-id') ?? '',
      formerUntil,
      last?.body.toString() ?? '',
    )
    expect(last?.header('webhook-signature')).toBe(signature)
  })

  it('keeps each of several former secrets for its day, and refuses a seventh', async () => {
    const { key, secret } = await registerSigned()
    const secrets = [secret]
    for (let i = 0; i < 5; i += 1) secrets.push((await rotate(key)).signingSecret)
    await expect(rotate(key)).rejects.toMatchObject({ code: 'conflict' })
    await send()
    for (const one of secrets) verify(one)
    const later = (ms: number) => ({ now: () => new Date(Date.now() + ms) }) as typeof world.clock
    const dayMs = 24 * 3_600_000
    await expect(rotate(key, later(dayMs - 60_000))).rejects.toMatchObject({ code: 'conflict' })
    expect((await rotate(key, later(dayMs + 1_000))).signingSecret).toMatch(/^whsec_/)
  })

  it('gives two calls at once a secret each, both of which sign', async () => {
    const { key, secret } = await registerSigned()
    const made = await Promise.all([rotate(key), rotate(key)])
    await send()
    for (const one of [secret, ...made.map(({ signingSecret }) => signingSecret)]) verify(one)
  })

  it('sends nothing under load that the secret from before does not fit', async () => {
    const { key, secret } = await registerSigned()
    const dispatcher = await world.dispatcher({ batchEventsMax: 1 })
    await dispatcher.start()
    const known = [{ secret, from: 0 }]
    for (let i = 0; i < 5; i += 1) {
      const begun = receiver.requests.length
      await world.record(...Array.from({ length: 20 }, () => newEvent()))
      await receiver.waitForRequests(begun + 5)
      const { signingSecret } = await rotate(key)
      // The request under way may have begun before; it is the only one.
      known.push({ secret: signingSecret, from: receiver.requests.length + 1 })
    }
    await receiver.waitForRequests(100)
    await dispatcher.stop()
    expect(receiver.requests).toHaveLength(100)
    for (const [n, request] of receiver.requests.entries())
      for (const one of known.filter(({ from }) => from <= n))
        expect(fits(one.secret, request), `request ${n}`).toBe(true)
  })

  it('refuses an unknown webhook, and one that is not signed', async () => {
    const unsigned = await world.register(receiver.origin)
    await expect(rotate(unsigned)).rejects.toMatchObject({
      ...{ code: 'conflict', message: expect.stringContaining('signing: true') },
    })
    for (const key of [
      { ...unsigned, tenantId: 'tn_b' },
      { ...unsigned, webhookId: 'wh_0' },
    ])
      await expect(rotate(key)).rejects.toMatchObject({ code: 'webhook_not_found' })
  })

  it('is not shared between two webhooks', async () => {
    const { key, secret } = await registerSigned()
    const other = await createWebhookReceiver()
    const second = await registerWebhook(world.deps, 'tn_b', {
      ...{ webhook_url: other.origin, event: 'EMAIL_EVENT', method: 'POST', signing: true },
      webhook_options: { events: { delivery: true } },
    })
    const { signingSecret } = await rotate(key)
    await world.record(newEvent({ tenantId: 'tn_b' }))
    await (await world.dispatcher()).runOnce()
    const [request] = other.requests
    await other.close()
    expect(fits(second.signingSecret ?? '', request)).toBe(true)
    for (const one of [secret, signingSecret]) expect(fits(one, request)).toBe(false)
  })
})
