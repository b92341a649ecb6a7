import type { WebhookReceiver } from '@postrider/testkit'
import { Webhook } from 'standardwebhooks'
import { beforeEach, describe, expect, it } from 'vitest'
import { newEvent, useWebhookDispatch, type WebhookDispatch } from '../../test/webhook-dispatch.ts'
import { runCli } from '../cli.ts'
import { changeSubscription } from '../webhooks/index.ts'

const SECRET_KEYS = `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`

describe('postrider webhook', () => {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  let webhookId: string
  useWebhookDispatch((...made) => {
    ;[world, receiver] = made
  })
  beforeEach(async () => {
    await world.db.query(
      `insert into tenants_tenant (tenant_id, name) values ('tn_a', 'A'), ('tn_b', 'B')
       on conflict do nothing`,
    )
    ;({ webhookId } = await world.register(receiver.origin, { headers: { 'X-Secret': 's3cret' } }))
  })

  async function run(...args: string[]) {
    let [out, err] = ['', '']
    const env = {
      POSTRIDER_DATABASE_URL: world.database.url,
      POSTRIDER_SECRET_KEYS: SECRET_KEYS,
      POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
      POSTRIDER_ALLOW_HTTP_WEBHOOKS: 'true',
    }
    const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) }
    const code = await runCli(['webhook', ...args], io)
    return { code, out, err, json: () => JSON.parse(out) }
  }
  const ofA = (...args: string[]) => run(...args, '--tenant', 'tn_a')

  it('lists webhooks, shows the status of one, pauses and resumes it', async () => {
    await world.record(newEvent())
    expect((await ofA('list', '--json')).json().webhooks).toMatchObject([{ webhook_id: webhookId }])
    expect((await ofA('list')).out).toContain(webhookId)
    expect((await ofA('status', webhookId, '--json')).json()).toMatchObject({
      webhook_id: webhookId,
      status: { state: 'active', backlog: 1 },
    })
    expect((await run('status', webhookId)).out).toMatch(/state +active/)
    expect((await ofA('pause', webhookId)).out).toContain(`Paused ${webhookId} of tn_a`)
    expect((await run('status', webhookId)).out).toMatch(/state +paused/)
    expect((await run('resume', webhookId)).out).toContain(`Resumed ${webhookId} of tn_a`)
    await (await world.dispatcher()).runOnce()
    expect((await ofA('deliveries', '--json')).json().deliveries).toMatchObject([
      { webhook_id: webhookId, status: 'delivered' },
    ])
    expect((await ofA('deliveries')).out).toContain('delivered')
    expect((await ofA('deliveries', '--status', 'parked')).out).toBe('No deliveries\n')
  })

  it('sends a test event, and shows what the receiver answers', async () => {
    receiver.setScript([{ status: 500, body: 'not now s3cret' }])
    const { code, json } = await ofA('test', webhookId, 'MAIL_BOUNCE', '--json')
    expect(code).toBe(1)
    expect(json()).toMatchObject({ test: { accepted: false, status: 500 } })
    expect(JSON.stringify(json())).not.toContain('s3cret')
    expect(receiver.requests[0]?.header('x-secret')).toBe('s3cret')
    const accepted = await ofA('test', webhookId, 'MAIL_BOUNCE')
    expect([accepted.code, accepted.out]).toEqual([0, expect.stringMatching(/accepted +yes/)])
    expect(accepted.out).not.toContain('POSTRIDER_')
    expect((await ofA('test', webhookId, 'NONE')).err).toContain('event must be one of')
  })

  it('replaces the signing secret of a webhook that is signed', async () => {
    expect((await ofA('secret', webhookId)).err).toContain('The webhook is not signed')
    const name = { tenantId: 'tn_a', event: 'EMAIL_EVENT', owner: '' } as const
    const { db, keyRing } = world.deps
    await db.transaction((tx) => changeSubscription(tx, keyRing, name, { signing: true }))
    const { code, out } = await ofA('secret', webhookId)
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^whsec_.{43}=\n\nShown only now.*signs, too, until 2/),
    ])
    const { signing_secret } = (await ofA('secret', webhookId, '--json')).json()
    expect((await ofA('test', webhookId, 'MAIL_BOUNCE')).code).toBe(0)
    const [request] = receiver.requests
    const headers = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        request?.header(name) ?? '',
      ]),
    )
    const verified = new Webhook(signing_secret).verify(request?.body.toString() ?? '', headers)
    expect(verified).toEqual(request?.json)
  })

  it('knows no webhook of another tenant', async () => {
    for (const args of [['status'], ['pause'], ['resume']])
      expect(await run(...args, webhookId, '--tenant', 'tn_b')).toMatchObject({
        code: 1,
        err: `tn_b has no webhook ${webhookId}\n`,
      })
    const test = await run('test', webhookId, 'MAIL_BOUNCE', '--tenant', 'tn_b')
    expect([test.code, test.err]).toEqual([1, `tn_b has no webhook ${webhookId}\n`])
    expect(receiver.requests).toHaveLength(0)
    expect(await run('status', 'wh_x')).toMatchObject({
      code: 1,
      err: 'There is no webhook wh_x\n',
    })
  })
})
