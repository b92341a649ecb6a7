import type { WebhookReceiver } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { newEvent, useWebhookDispatch, type WebhookDispatch } from '../../test/webhook-dispatch.ts'
import { runCli } from '../cli.ts'
import { newUlid } from '../platform/ids.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

async function run(...args: string[]) {
  let [out, err] = ['', '']
  const code = await runCli(['webhook', ...args], {
    env: { POSTRIDER_DATABASE_URL: world.database.url },
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err, json: () => JSON.parse(out) }
}

const bodies = () => receiver.requests.map((request) => request.body.toString())
const received = () => receiver.requests.flatMap((request) => request.json as object[])

/** As if everything had happened so long ago. */
async function age(interval: string): Promise<void> {
  await world.db.query('update webhooks_pending set queued_at = queued_at - $1::interval', [
    interval,
  ])
  await world.db.query('update webhooks_open set created_at = created_at - $1::interval', [
    interval,
  ])
  await world.db.query(
    `update webhooks_stream
        set first_failure_at = first_failure_at - $1::interval, paused_at = paused_at - $1::interval`,
    [interval],
  )
}

describe('webhook pause and resume', () => {
  it('send nothing to a paused webhook, and everything after the resume', async () => {
    const { webhookId } = await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    await run('pause', webhookId)
    await world.record(newEvent(), newEvent())
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(0)
    await age('9 days')
    expect((await run('resume', webhookId)).code).toBe(0)
    await dispatcher.runOnce()
    expect(received()).toHaveLength(2)
  })

  it('keep a failed delivery through the pause, which is repeated byte for byte', async () => {
    const { webhookId } = await world.register(receiver.origin)
    receiver.setScript([500, 200, 200])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await world.record(newEvent())
    await run('pause', webhookId)
    await age('9 days')
    await world.due()
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
    await run('resume', webhookId)
    await dispatcher.runOnce()
    expect(bodies()[1]).toBe(bodies()[0])
    expect(received()).toHaveLength(3)
  })

  it('do not give up a delivery of a failing webhook for the time of the pause', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 500)
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await run('pause', key.webhookId)
    await world.record(newEvent(), newEvent())
    await age('9 days')
    await run('resume', key.webhookId)
    await dispatcher.runOnce()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'retrying', attempts: 2 }])
    await age('3 days')
    await world.due()
    await dispatcher.runOnce()
    // From the end of the pause on its time is counted as ever.
    const [first] = await world.deliveries(key)
    expect(first).toMatchObject({ status: 'exhausted', attempts: 3 })
  })

  it('do not give up a parked event for the time of the pause', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 400)
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await age('1 day')
    await run('pause', key.webhookId)
    await age('9 days')
    await run('resume', key.webhookId)
    await dispatcher.runOnce()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'parked', attempts: 2 }])
    // It has used up one day of three.
    await age('2 days')
    await run('resume', key.webhookId)
    await dispatcher.runOnce()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'exhausted', attempts: 3 }])
  })

  it('end a back-off: a receiver that was fixed is tried at once', async () => {
    const { webhookId } = await world.register(receiver.origin)
    receiver.setScript([500, 200])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await run('resume', webhookId)
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(2)
  })
})

describe('webhook resume with parked events', () => {
  it('tries them at once', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript([422, 200])
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect((await run('resume', key.webhookId)).out).toContain(
      'within a second, 1 parked events too.',
    )
    await dispatcher.runOnce()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 2 }])
  })
})

describe('webhook replay', () => {
  it('queues for a paused webhook until the end of the pause, and says so', async () => {
    const { webhookId } = await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    await run('pause', webhookId)
    const { out } = await run('replay', webhookId, '--since', '1h')
    expect(out).toMatch(/^Replayed 1 event .* they wait until postrider webhook resume/)
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
  })

  it('sends the events of a time range again, unchanged', async () => {
    const { webhookId } = await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    const start = world.clock.now()
    await world.record(newEvent(), newEvent())
    await dispatcher.runOnce()
    const { code, out } = await run('replay', webhookId, '--since', '1h')
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(`^Replayed 2 events to ${webhookId} of tn_a: `),
    })
    await dispatcher.runOnce()
    expect(bodies()[1]).toBe(bodies()[0])
    const until = ['--until', new Date(start.getTime() - 1).toISOString()]
    const none = await run('replay', webhookId, '--since', '2026-01-01', ...until, '--json')
    expect(none.json()).toEqual({
      webhook_id: webhookId,
      tenant_id: 'tn_a',
      replayed: 0,
      paused_at: null,
    })
  })

  it('sends undelivered events since the beginning', async () => {
    const { webhookId } = await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await dispatcher.runOnce()
    receiver.setScript(() => 500)
    await world.record(newEvent())
    await dispatcher.runOnce()
    await age('9 days')
    await world.due()
    await dispatcher.runOnce()
    expect(await world.pending({ tenantId: 'tn_a', webhookId })).toEqual([])
    const { json } = await run('replay', webhookId, '--undelivered', '--json')
    expect(json()).toMatchObject({ replayed: 1 })
  })

  it('sends the events of one email, and of one webhook only', async () => {
    const { webhookId } = await world.register(receiver.origin)
    const other = await world.register(receiver.origin, { tenantId: 'tn_b' })
    const refId = newUlid()
    await world.record(newEvent({ refId }), newEvent(), newEvent({ tenantId: 'tn_b' }))
    await (await world.dispatcher()).runOnce()
    const { json } = await run('replay', webhookId, '--ref-id', refId, '--json')
    expect(json()).toMatchObject({ replayed: 1 })
    expect(await world.pending({ tenantId: 'tn_a', webhookId })).toHaveLength(1)
    expect(await world.pending(other)).toEqual([])
  })

  it.each([
    [[], 2, 'say what to replay: --since, --undelivered or --ref-id'],
    [['--since', 'yesterday'], 2, 'such as 6h'],
    [['--since', '1h', '--ref-id', newUlid()], 2, 'cannot be used with'],
    [['--since', '1h', '--until', '2h'], 1, 'must not be after end'],
    [['--ref-id', 'x'], 1, 'must be the reference id of an email'],
  ])('%j ends with %d and says why', async (options, code, message) => {
    const { webhookId } = await world.register(receiver.origin)
    const result = await run('replay', webhookId, ...options)
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toContain(message)
  })

  it('ends with 1 for a webhook that is unknown or not active', async () => {
    const { webhookId } = await world.register(receiver.origin)
    expect(await run('replay', 'wh_absent', '--since', '1h')).toMatchObject({
      ...{ code: 1, err: 'There is no webhook wh_absent\n' },
    })
    await world.db.query('update webhooks_subscription set active = false')
    expect(await run('replay', webhookId, '--since', '1h')).toMatchObject({
      ...{ code: 1, err: `${webhookId} is not active\n` },
    })
  })
})
