/**
 * The client library's receiver behind node:http takes what the real service sends
 * (docs/reference/client.md#webhooks).
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WebhookDelivery } from '@postrider/client'
import {
  createWebhookHandler,
  dedupKey,
  isTerminal,
  type ReceivedEvent,
  type WebhookContext,
} from '@postrider/client/webhooks'
import { toNodeHandler } from '@postrider/client/webhooks/node'
import type { SmtpServerOptions } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createWorld, type World } from './world.ts'

const HEADER = 'X-Webhook-Secret'
const FROM = 'news@sender.test'
const waiting = { timeout: 20_000, interval: 50 }

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

interface Receiver {
  readonly url: string
  readonly events: readonly ReceivedEvent[]
  readonly contexts: readonly WebhookContext[]
  readonly statuses: readonly number[]
  readonly errors: readonly unknown[]
}

interface ReceiverOptions {
  readonly secrets?: readonly string[]
  readonly maxBytes?: number
  /** Before an event counts as received: what throws makes the service repeat it. */
  readonly before?: (event: ReceivedEvent) => unknown
}

/** Notes every event that it has acknowledged, and every status that it has answered. */
async function startReceiver(o: ReceiverOptions = {}): Promise<Receiver> {
  const events: ReceivedEvent[] = []
  const contexts: WebhookContext[] = []
  const statuses: number[] = []
  const errors: unknown[] = []
  const handler = createWebhookHandler({
    header: HEADER,
    secrets: o.secrets ?? ['first'],
    async onEvents(batch, context) {
      for (const event of batch) await o.before?.(event)
      events.push(...batch)
      contexts.push(context)
    },
    onError: (error) => void errors.push(error),
    ...(o.maxBytes === undefined ? {} : { maxBytes: o.maxBytes }),
  })
  const counted = async (request: Request) => {
    const response = await handler(request)
    statuses.push(response.status)
    return response
  }
  const server = createServer(toNodeHandler(counted))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, events, contexts, statuses, errors }
}

/** A tenant whose webhook goes to this receiver. */
async function getReady(receiver: Receiver, smtpOptions: SmtpServerOptions = {}) {
  const [{ client }, smtp] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer(smtpOptions),
  ])
  await client.registerWebhook({
    webhook_url: receiver.url,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { [HEADER]: 'first' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  await client.configureSMTP({
    name: 'News',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  const send = async (...to: string[]) => {
    const { ref_id } = await client.sendEmail({
      from: { email: FROM },
      to: to.map((email) => ({ email })),
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hi there.' }],
      custom_args: { order: { id: 7 } },
    })
    return ref_id
  }
  return { client, smtp, send }
}

const received = (receiver: Receiver, count: number) =>
  vi.waitFor(() => expect(receiver.events.length).toBeGreaterThanOrEqual(count), waiting)

describe('a webhook receiver of the client library', () => {
  it('[6.2 6.4] receives every event at the first attempt, with its trace', async () => {
    const receiver = await startReceiver()
    const { send } = await getReady(receiver, {
      script: { 'late@recipient.test': ['450 4.2.1 later', 'ok'], 'no@recipient.test': ['550 no'] },
    })
    const refId = await send('ada@recipient.test', 'late@recipient.test', 'no@recipient.test')
    await received(receiver, 4)
    expect(new Set(receiver.statuses)).toEqual(new Set([200]))
    const seen = receiver.events.map((event) => {
      if (event.event !== 'SMTP_ERROR' && event.event !== 'MAIL_DELIVERED') throw new Error()
      expect(event.details).toMatchObject({ ref_id: refId, custom_args: { order: { id: 7 } } })
      return `${event.details.email} ${event.event} ${isTerminal(event) ? 'at last' : 'so far'}`
    })
    expect(seen.toSorted()).toEqual([
      'ada@recipient.test MAIL_DELIVERED at last',
      'late@recipient.test MAIL_DELIVERED at last',
      'late@recipient.test SMTP_ERROR so far',
      'no@recipient.test SMTP_ERROR at last',
    ])
    expect(new Set(receiver.events.map(dedupKey)).size).toBe(4)
    for (const { traceparent } of receiver.contexts) expect(traceparent).toMatch(/^00-/)
  })

  it('[6.2.6] gets the same events again when it throws', async () => {
    const tries: string[] = []
    const receiver = await startReceiver({
      before(event) {
        tries.push(dedupKey(event))
        if (tries.length <= 2) throw new Error('the database is away')
      },
    })
    const { send } = await getReady(receiver)
    await send('ada@recipient.test')
    await received(receiver, 1)
    expect(receiver.statuses.slice(0, 3)).toEqual([500, 500, 200])
    expect(new Set(tries).size).toBe(1)
  })

  it('[5.2] misses no event while its secret is replaced', async () => {
    const receiver = await startReceiver({ secrets: ['second'] })
    const { client, send } = await getReady(receiver)
    await send('ada@recipient.test')
    await vi.waitFor(() => expect(receiver.statuses).toContain(401), waiting)
    expect(receiver.events).toEqual([])
    await client.updateWebhook({ event: 'EMAIL_EVENT', headers: { [HEADER]: 'second' } })
    await received(receiver, 1)
    expect(receiver.errors).toMatchObject([{ code: 'unauthorized' }])
  })

  it('gets all events once in smaller requests when it accepts small bodies only', async () => {
    let isOpen = false
    const receiver = await startReceiver({
      maxBytes: 2_500,
      before() {
        if (!isOpen) throw new Error('closed')
      },
    })
    const { send, smtp } = await getReady(receiver)
    await send(...Array.from({ length: 12 }, (_, i) => `r${i}@recipient.test`))
    await smtp.waitForMessages(12)
    // One delivery is repeated meanwhile; the events that follow it gather behind it.
    const sofar = receiver.statuses.length
    await vi.waitFor(() => expect(receiver.statuses.length).toBeGreaterThan(sofar + 1), waiting)
    isOpen = true
    await received(receiver, 12)
    expect(receiver.statuses).toContain(413)
    expect(new Set(receiver.events.map(dedupKey)).size).toBe(12)
  })
})

describe('the record of deliveries', () => {
  it('[6.2.6] shows what was received, and sends it again on demand', async () => {
    const receiver = await startReceiver()
    const { client, send } = await getReady(receiver)
    const refId = await send('ada@recipient.test')
    await received(receiver, 1)
    const [event] = receiver.events
    if (event === undefined) throw new Error('nothing received')
    const key = dedupKey(event)

    const settled = () =>
      vi.waitFor(async () => {
        const { deliveries } = await client.listWebhookDeliveries({ ref_id: refId })
        expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true)
        expect(deliveries).toHaveLength(receiver.statuses.length)
        return deliveries
      }, waiting)
    const [delivery] = await settled()
    expect(delivery).toMatchObject({
      events: [{ event: 'MAIL_DELIVERED', ref_id: refId }],
      attempts: [{ status: 200, error: null }],
    })
    const id = delivery?.delivery_id ?? ''
    const { delivery: shown } = await client.getWebhookDelivery(id)
    expect(JSON.parse(shown.request.body ?? '')).toEqual([event])
    expect(shown.request.headers).toContain(HEADER)

    expect(await client.redeliver(id)).toMatchObject({ replayed: 1 })
    await received(receiver, 2)
    await settled()
    expect(await client.replayWebhookEvents({ ref_id: refId })).toMatchObject({ replayed: 1 })
    await received(receiver, 3)
    await settled()
    expect(receiver.events.map(dedupKey)).toEqual([key, key, key])
    expect(await client.replayWebhookEvents({ ref_id: refId, undelivered: true })).toMatchObject({
      replayed: 0,
    })

    const all: WebhookDelivery[] = []
    for await (const one of client.listWebhookDeliveries({ ref_id: refId, pageSize: 1 })) {
      all.push(one)
    }
    expect(all.map(({ delivery_id }) => delivery_id).at(-1)).toBe(id)
    expect(all).toHaveLength(3)
  })
})
