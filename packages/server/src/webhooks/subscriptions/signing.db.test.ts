/** What the operations take, answer and store of signing; what is sent is in signed-requests.db.test.ts. */
import {
  listWebhooksAnswer,
  registerWebhookAnswer,
  rotateSigningSecretAnswer,
  updateWebhookAnswer,
} from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'

let api: WebhookApi
let receiver: WebhookReceiver
beforeAll(async () => {
  api = await createWebhookApi()
  receiver = await createWebhookReceiver()
})
afterEach(() => api.clear())
afterAll(async () => {
  await api.close()
  await receiver.close()
})

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const register = (change: object = {}) =>
  api.register({
    ...{ webhook_url: receiver.origin, event: 'EMAIL_EVENT', method: 'POST' },
    webhook_options: { events: { delivery: true } },
    ...change,
  })
const update = (change: object) => api.update({ event: 'EMAIL_EVENT', ...change })
const rotate = (webhookId: unknown, key = 'a') =>
  api.call('POST', `/v1/webhook/${webhookId}/secret`, { key })
const listed = async () => {
  const { body } = await api.list()
  expect(Check(listWebhooksAnswer, body)).toBe(true)
  return (body.webhooks as Record<string, unknown>[])[0]
}
const errorsOf = ({ status, body }: Awaited<ReturnType<typeof update>>) => [status, body.errors]

describe('[contract 10] signing', () => {
  it('shows the secret once, in the answer that makes it, and stores it sealed', async () => {
    const { status, body } = await register({ signing: true })
    expect([status, Check(registerWebhookAnswer, body)]).toEqual([201, true])
    const secret = String(body.signing_secret)
    expect(secret).toMatch(SECRET)
    expect(await listed()).toMatchObject({ signing: true })
    const { body: updated } = await update({ signing: true })
    expect(updated).toEqual({ success: true, message: 'Webhook Updated' })
    expect(api.seen.filter((text) => text.includes(secret.slice(6)))).toHaveLength(1)
    const { rows } = await api.database.db.query('select * from webhooks_subscription')
    expect(JSON.stringify(rows)).not.toContain(secret.slice(6, 20))
  })

  it('is off, unless it is asked for, and answers what it answered before', async () => {
    for (const given of [{}, { signing: false }]) {
      const { body } = await register(given)
      expect(body).toEqual({ ...body, message: 'Webhook Created', webhook_id: body.webhook_id })
      expect(body).not.toHaveProperty('signing_secret')
      expect(await listed()).not.toHaveProperty('signing')
      await api.clear()
    }
  })

  it('is turned on and off by updates, with another secret each time', async () => {
    await register()
    const on = await update({ signing: true })
    expect(Check(updateWebhookAnswer, on.body)).toBe(true)
    expect(on.body.signing_secret).toMatch(SECRET)
    expect(await listed()).toMatchObject({ signing: true })
    await update({ signing: false })
    expect(await listed()).not.toHaveProperty('signing')
    const again = await update({ signing: true })
    expect(again.body.signing_secret).not.toBe(on.body.signing_secret)
    await update({ active: false, headers: { 'X-A': 'b' } })
    expect(await listed()).toMatchObject({ signing: true })
  })

  it.each(['Webhook-Id', 'webhook-timestamp', 'WEBHOOK-SIGNATURE'])(
    'does not go together with the custom header %s',
    async (name) => {
      const message = 'is a header that signing sets: give it another name'
      const refused = [400, [{ path: `/headers/${name}`, message }]]
      const headers = { [name]: 'mine' }
      expect(errorsOf(await register({ signing: true, headers }))).toEqual(refused)
      expect((await register({ headers })).status).toBe(201)
      const on = await update({ signing: true })
      expect(errorsOf(on)).toMatchObject([400, [{ path: '/signing' }]])
      expect(errorsOf(await update({ signing: true, headers }))).toEqual(refused)
      expect(await listed()).not.toHaveProperty('signing')
      expect((await update({ signing: true, headers: {} })).status).toBe(200)
      expect(errorsOf(await update({ headers }))).toEqual(refused)
      expect((await update({ signing: false, headers })).status).toBe(200)
    },
  )

  it.each([['yes'], [1], [null]])('refuses %j', async (signing) => {
    await register()
    expect(errorsOf(await update({ signing }))).toMatchObject([400, [{ path: '/signing' }]])
  })
})

describe('[contract 10] rotateSigningSecret', () => {
  it('answers another secret, and until when the one before signs', async () => {
    const { body: made } = await register({ signing: true })
    const { status, body } = await rotate(made.webhook_id)
    expect([status, Check(rotateSigningSecretAnswer, body)]).toEqual([200, true])
    expect(body.signing_secret).toMatch(SECRET)
    expect(body.signing_secret).not.toBe(made.signing_secret)
    expect(body.former_until).toMatch(/Z$/)
  })

  it('is 409 without a secret, 404 for others, and needs the scope webhooks', async () => {
    const { body: made } = await register()
    expect((await rotate(made.webhook_id)).status).toBe(409)
    expect((await rotate(made.webhook_id, 'b')).status).toBe(404)
    expect((await rotate('wh_0')).status).toBe(404)
    expect((await rotate(made.webhook_id, 'reader')).status).toBe(403)
    await update({ signing: true })
    expect((await rotate(made.webhook_id, 'webhooks')).status).toBe(200)
  })
})
