import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { createWebhookHandler } from './create-webhook-handler.ts'
import { exampleEvent, exampleRequest } from './examples.ts'
import { exampleSignature, verifyWebhook } from './verify-signature.ts'

const secretOf = (n: number) => `whsec_${Buffer.alloc(32, n).toString('base64')}`
const [secret, other] = [secretOf(1), secretOf(2)]
const events = [exampleEvent('SMTP_ERROR'), exampleEvent('MAIL_DELIVERED')]
const body = JSON.stringify(events)
const signingSecrets = [secret]
const unauthorized = expect.objectContaining({ name: 'WebhookError', code: 'unauthorized' })
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)

describe('verifyWebhook', () => {
  it('[contract 10] gives the events of a request that Standard Webhooks has signed', async () => {
    const at = new Date()
    const headers = {
      'Webhook-Id': 'dlv_1',
      'Webhook-Timestamp': String(Math.floor(at.getTime() / 1000)),
      'Webhook-Signature': new Webhook(secret).sign('dlv_1', at, body),
    }
    for (const given of [headers, new Headers(headers)])
      for (const octets of [body, new TextEncoder().encode(body)])
        expect(await verifyWebhook(octets, given, { signingSecrets })).toStrictEqual(events)
  })

  it('makes the same signature as Standard Webhooks for an example', async () => {
    const headers = await exampleSignature(events, secret)
    expect(new Webhook(secret).verify(body, headers)).toStrictEqual(events)
  })

  it('accepts one fitting signature of several, and one fitting secret of several', async () => {
    const headers = await exampleSignature(events, secret)
    const wrong = (await exampleSignature(events, other))['webhook-signature']
    const both = { ...headers, 'webhook-signature': `${wrong} ${headers['webhook-signature']}` }
    expect(await verifyWebhook(body, both, { signingSecrets })).toHaveLength(2)
    const secrets = { signingSecrets: [other, secret] }
    expect(await verifyWebhook(body, headers, secrets)).toHaveLength(2)
  })

  it.each([4.9, -4.9])('accepts a request of %s minutes ago', async (minutes) => {
    const headers = await exampleSignature(events, secret, { at: minutesAgo(minutes) })
    expect(await verifyWebhook(body, headers, { signingSecrets })).toHaveLength(2)
  })

  it.each([5.1, -5.1])('refuses a request of %s minutes ago', async (minutes) => {
    const headers = await exampleSignature(events, secret, { at: minutesAgo(minutes) })
    await expect(verifyWebhook(body, headers, { signingSecrets })).rejects.toEqual(unauthorized)
    const wide = { signingSecrets, toleranceMs: 600_000 }
    expect(await verifyWebhook(body, headers, wide)).toHaveLength(2)
  })

  it.each<[string, object]>([
    ['another secret', { 'webhook-signature': 'v1,AAAA' }],
    ['another version', { 'webhook-signature': 'v2,AAAA' }],
    ['what is no base64', { 'webhook-signature': 'v1,*' }],
    ['another id', { 'webhook-id': 'dlv_2' }],
    ['an absent id', { 'webhook-id': undefined }],
    ['an absent signature', { 'webhook-signature': undefined }],
    ['a repeated signature', { 'webhook-signature': ['v1,AAAA', 'v1,AAAA'] }],
    ['a time that is none', { 'webhook-timestamp': 'now' }],
    ['an empty time', { 'webhook-timestamp': '' }],
  ])('refuses %s', async (_, change) => {
    const headers = { ...(await exampleSignature(events, secret)), ...change }
    await expect(verifyWebhook(body, headers, { signingSecrets })).rejects.toEqual(unauthorized)
  })

  it('refuses a body of other bytes, also where its JSON is the same', async () => {
    const headers = await exampleSignature(events, secret)
    const spaced = JSON.stringify(events, null, 1)
    await expect(verifyWebhook(spaced, headers, { signingSecrets })).rejects.toEqual(unauthorized)
  })

  it.each([[[]], [['a long random value']], [['whsec_']], [['whsec_AAAA']], [undefined]])(
    'refuses %j as secrets, without quoting them',
    async (secrets) => {
      const verified = verifyWebhook(body, {}, { signingSecrets: secrets as string[] })
      const error = await verified.catch((e: unknown) => e)
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).not.toContain('AAAA')
    },
  )
})

describe('a handler with signing secrets', () => {
  async function receive(headers: Record<string, string>) {
    const seen: string[] = []
    const errors: unknown[] = []
    const handler = createWebhookHandler({
      signingSecrets: [other, secret],
      onEvent: ({ event }) => void seen.push(event),
      onError: (error) => void errors.push(error),
    })
    const { status } = await handler(exampleRequest(events, { headers }))
    return { status, seen, errors }
  }

  it('handles what is signed by one of them', async () => {
    const taken = await receive(await exampleSignature(events, secret))
    expect(taken).toEqual({ status: 200, seen: ['SMTP_ERROR', 'MAIL_DELIVERED'], errors: [] })
  })

  it.each([
    ['not signed', {}],
    ['signed by another secret', secretOf(3)],
  ])('refuses with 401, and tells once, what is %s', async (_, by) => {
    const headers = typeof by === 'string' ? await exampleSignature(events, by) : by
    const refused = await receive(headers)
    expect(refused).toMatchObject({ status: 401, seen: [], errors: [{ code: 'unauthorized' }] })
    expect(JSON.stringify(refused.errors)).not.toContain('whsec_')
  })

  it('needs the header secret besides, where both are configured', async () => {
    const handler = createWebhookHandler({
      ...{ header: 'X-Secret', secrets: ['s'], signingSecrets, onEvents: () => undefined },
      onError: () => undefined,
    })
    const signed = await exampleSignature(events, secret)
    const status = async (headers: Record<string, string>) =>
      (await handler(exampleRequest(events, { headers }))).status
    expect(await status(signed)).toBe(401)
    expect(await status({ 'x-secret': 's' })).toBe(401)
    expect(await status({ ...signed, 'x-secret': 's' })).toBe(200)
  })
})
