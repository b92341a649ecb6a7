/**
 * Mail by relay providers over a real process: an account, a sending domain whose records a name server
 * has, mail that the provider takes, and its reports; the providers judge what they are sent as their
 * documents say.
 */
import {
  type CallbackBatch,
  createDnsServer,
  type DnsServer,
  findFreePort,
} from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createRelayScene, type ProviderKind } from './relay-scene.ts'
import { createWorld, eventsOf, type World } from './world.ts'

const providers = ['sparkpost', 'sendgrid'] as const
const ZERO_TRACKING = { time: '', ip: '', bot: false }

let dns: DnsServer
let world: World
beforeAll(async () => {
  dns = await createDnsServer()
  world = createWorld({
    DNS_SERVERS: dns.address,
    PORT: String(await findFreePort()),
    SEND_RETRY_SCHEDULE: '2s',
  })
  await world.start()
})
afterEach(async () => {
  dns.setScript(undefined)
  await world.closePeers()
})
afterAll(async () => {
  await world.destroy()
  await dns.close()
})

const scene = (kind: ProviderKind, o?: { readonly isVerified: boolean }) =>
  createRelayScene({ world, dns, kind }, o)

describe.each(providers)('%s', (kind) => {
  it('[2.7] sends for a domain once its records are published, and reports each verification', async () => {
    const { client, domain, from, domainReceiver, send, provider } = await scene(kind, {
      isVerified: false,
    })
    expect(domain).toMatchObject({ verified: false, relay: kind, custom_args: expect.anything() })
    expect(domain.records.filter(({ required }) => required).length).toBeGreaterThan(1)
    await expect(send(['ada'])).rejects.toMatchObject({ status: 422, code: 'no_mailer' })
    const early = await client.verifyDomain(domain.domain)
    expect(early.domain.verified).toBe(false)

    dns.publish(domain.records)
    const late = await client.verifyDomain(domain.domain)
    expect(late.domain).toMatchObject({ verified: true, state: 'verified' })
    const needed = late.domain.records.filter(({ required }) => required)
    expect(needed.map(({ status }) => status)).toEqual(needed.map(() => 'valid'))

    await domainReceiver.waitForRequests(2)
    expect(domainReceiver.requests.map(({ json }) => json)).toEqual(
      [false, true].map((verified) => ({
        event: 'DOMAIN_VERIFICATION',
        details: {
          domain: domain.domain,
          verified,
          mailer_id: domain.mailer_id,
          custom_args: domain.custom_args,
          webhook_id: expect.stringMatching(/^wh_/),
        },
      })),
    )
    await send(['ada'])
    await provider.waitForMails(1)
    expect(provider.mails[0]).toMatchObject({
      to: 'ada@recipient.test',
      from: { email: from, name: 'The News' },
      subject: 'Hello',
      text: 'Hi there.',
      html: '<p>Hi {{there}}.</p>',
    })
  })

  it('[6.1] turns reports into events, statuses and suppressions, with their details', async () => {
    const { client, domain, provider, receiver, send, told, statusesOf } = await scene(kind)
    provider.setFates({
      bob: ['taken up', 'deferred', 'bounced for good'],
      cleo: ['taken up', 'bounced for now'],
      dora: ['taken up', 'delivered', 'complained'],
      eve: ['taken up', 'delivered', 'unsubscribed'],
    })
    const refId = await send(['ada', 'bob', 'cleo', 'dora', 'eve'])
    expect((await told(refId, 7)).toSorted()).toEqual([
      'MAIL_BOUNCE bob',
      'MAIL_BOUNCE cleo',
      'MAIL_DELIVERED ada',
      'MAIL_DELIVERED dora',
      'MAIL_DELIVERED eve',
      'MAIL_SPAM dora',
      'MAIL_UNSUBSCRIBED eve',
    ])
    expect(await statusesOf(refId)).toEqual({
      ada: 'delivered',
      bob: 'bounced',
      cleo: 'bounced',
      dora: 'delivered',
      eve: 'delivered',
    })
    const detailsOf = (event: string, who: string) =>
      eventsOf(receiver.requests).find(
        (one) => one.event === event && String(one.details.email).startsWith(who),
      )
    expect(detailsOf('MAIL_DELIVERED', 'ada')).toMatchObject({
      success: true,
      details: {
        ref_id: refId,
        mailer_id: domain.mailer_id,
        custom_args: { order: 12 },
        message_id: provider.mails.find(({ to }) => to.startsWith('ada'))?.id,
        failed_reason: '',
        tracking: ZERO_TRACKING,
      },
    })
    const bounce = detailsOf('MAIL_BOUNCE', 'bob')
    expect(bounce).toMatchObject({
      success: false,
      details: { failed_reason: expect.stringContaining('550 5.1.1') },
    })
    // Of provider A alone (docs/reference/events.md#fields).
    if (kind === 'sparkpost')
      expect(bounce?.details).toMatchObject({ error_code: '550', num_retries: '2' })
    else expect(Object.keys(bounce?.details ?? {})).not.toContain('error_code')
    expect(detailsOf('MAIL_UNSUBSCRIBED', 'eve')).toMatchObject({
      success: true,
      details: { tracking: { time: expect.stringMatching(/Z$/), bot: false } },
    })

    const { suppressions } = await client.listSuppressions()
    expect(suppressions.map(({ email, reason }) => `${email} ${reason}`).toSorted()).toEqual([
      'bob@recipient.test bounced',
      'dora@recipient.test complained',
      'eve@recipient.test unsubscribed',
    ])
    const { recipients } = await client.sendEmail({
      from: { email: `a@${domain.domain}` },
      to: ['ada', 'bob'].map((who) => ({ email: `${who}@recipient.test` })),
      subject: 'Again',
      content: [{ type: 'text/plain', value: 'Hi.' }],
    })
    expect(recipients.map(({ status }) => status)).toEqual(['queued', 'suppressed'])
  })

  it('counts each report once, single, repeated, out of order, from several servers', async () => {
    const { provider, send, told, statusesOf, receiver } = await scene(kind)
    provider.setFates({
      bob: ['taken up', 'delivered', 'bounced later'],
      dora: ['taken up', 'deferred', 'delivered', 'complained'],
    })
    provider.setCallbacks('manual')
    const refId = await send(['ada', 'bob', 'dora'])
    await provider.waitForMails(3)
    const shape = { batchMax: 1, repeats: 2, parallel: 4 }
    await provider.callBack({ ...shape, arrange: (events) => [...events].reverse() })
    const expected = [
      'MAIL_BOUNCE bob',
      'MAIL_DELIVERED ada',
      'MAIL_DELIVERED bob',
      'MAIL_DELIVERED dora',
      'MAIL_SPAM dora',
    ]
    expect((await told(refId, 5)).toSorted()).toEqual(expected)
    // What was told is not told again: what comes after it has come after all repetitions.
    await provider.callBack({ events: provider.eventsOf('ada', ['complained']) })
    expect((await told(refId, 6)).toSorted()).toEqual([...expected, 'MAIL_SPAM ada'].toSorted())
    expect(await statusesOf(refId)).toEqual({
      ada: 'delivered',
      bob: 'bounced',
      dora: 'delivered',
    })
    for (const { json } of receiver.requests) {
      const times = (json as { details: { event_at: string } }[]).map((one) => one.details.event_at)
      expect(times).toEqual(times.toSorted())
    }
  })

  it('loses no report that comes before the answer to the request', async () => {
    const { provider, send, told, statusesOf } = await scene(kind)
    const gate = Promise.withResolvers<void>()
    provider.setScript(() => ({ isCarriedOut: true, after: gate.promise }))
    const refId = await send(['ada'])
    await provider.waitForMails(1)
    await provider.callbacksSettled()
    expect(provider.batches.at(-1)).toMatchObject({ isAccepted: true, events: { length: 2 } })
    gate.resolve()
    expect(await told(refId, 1)).toEqual(['MAIL_DELIVERED ada'])
    expect(await statusesOf(refId)).toEqual({ ada: 'delivered' })
  })

  it('does not repeat a mail without an answer once the provider has reported it', async () => {
    const { provider, send, told, statusesOf } = await scene(kind)
    provider.setCallbacks('manual')
    provider.setScript(() => ({ isCarriedOut: true, ending: 'rst' }))
    const refId = await send(['ada'])
    expect(await told(refId, 1)).toEqual(['SMTP_ERROR 1 retry ada'])
    await provider.callBack()
    expect(await told(refId, 2)).toEqual(['SMTP_ERROR 1 retry ada', 'MAIL_DELIVERED ada'])
    expect(await statusesOf(refId)).toEqual({ ada: 'delivered' })
    // Neither then nor by the time that another mail has gone through.
    provider.setScript(undefined)
    await send(['bob'])
    await provider.waitForMails(2)
    expect(provider.mails.map(({ to }) => to)).toEqual(
      ['ada', 'bob'].map((who) => `${who}@recipient.test`),
    )
  })

  it('[6.4] records a refused request as an ordinary attempt', async () => {
    const { provider, send, told, receiver } = await scene(kind)
    const refusals = [429, 503]
    provider.setScript(() => {
      const status = refusals.shift()
      return status === undefined ? undefined : { status, json: { errors: [{ message: 'Later' }] } }
    })
    const refId = await send(['ada'])
    expect(await told(refId, 3)).toEqual([
      'SMTP_ERROR 1 retry ada',
      'SMTP_ERROR 2 retry ada',
      'MAIL_DELIVERED ada',
    ])
    const [first] = eventsOf(receiver.requests)
    expect(first?.details).toMatchObject({
      attempt: 1,
      max_attempts: 5,
      provider_error: expect.stringContaining('Later'),
    })
    expect(first?.details).not.toHaveProperty('error_code')
  })

  it('[3 6.3] deactivates domains whose key is refused, and sends their mail with another key', async () => {
    const { client, provider, send, told, receiver, domain } = await scene(kind)
    const good = provider.apiKey()
    provider.setApiKey(`${good}-revoked`)
    const refId = await send(['ada'])
    expect(await told(refId, 1)).toEqual(['SMTP_ERROR 1 final ada'])
    await receiver.waitUntil((requests) =>
      eventsOf(requests).some(({ event }) => event === 'MAILER_DEACTIVATED'),
    )
    const notice = receiver.requests.find(({ body }) => body.includes('MAILER_DEACTIVATED'))
    expect(notice?.json).toEqual([
      {
        event: 'MAILER_DEACTIVATED',
        success: false,
        details: {
          mailer_id: domain.mailer_id,
          config_type: 'domain',
          failed_reason: 'provider_auth_error',
          provider_error: expect.any(String),
        },
      },
    ])
    expect(JSON.stringify(notice?.json)).not.toContain(good)
    await expect(send(['bob'])).rejects.toMatchObject({ status: 409, code: 'mailer_inactive' })
    const api_key = provider.apiKey()
    await client.configureRelay({ kind, api_key })
    const again = await send(['bob'])
    expect(await told(again, 1)).toEqual(['MAIL_DELIVERED bob'])
  })

  it('tells a tenant nothing of reports to the address of another', async () => {
    const [mine, theirs] = [await scene(kind), await scene(kind)]
    mine.provider.setCallbacks('manual')
    theirs.provider.setCallbacks('manual')
    const refId = await mine.send(['ada'])
    await mine.provider.waitForMails(1)
    await theirs.provider.callBack({
      events: mine.provider.eventsOf('ada', ['bounced for good', 'complained']),
    })
    await mine.provider.callBack()
    expect(await mine.told(refId, 1)).toEqual(['MAIL_DELIVERED ada'])
    expect(await mine.statusesOf(refId)).toEqual({ ada: 'delivered' })
    expect(eventsOf(theirs.receiver.requests)).toEqual([])
  })

  it('keeps the relay of a domain in use; a deleted domain sends nothing, and is deleted at the provider', async () => {
    const { client, provider, domain, send } = await scene(kind)
    await expect(client.deleteRelay(kind)).rejects.toMatchObject({ status: 409, code: 'conflict' })
    await client.deleteDomain(domain.domain)
    await expect(send(['ada'])).rejects.toMatchObject({ status: 422, code: 'no_mailer' })
    await expect(client.getDomain(domain.domain)).rejects.toMatchObject({ status: 404 })
    expect(provider.requests.at(-1)).toMatchObject({ method: 'DELETE', status: 204 })
    await client.deleteRelay(kind)
    await expect(client.getRelay(kind)).rejects.toMatchObject({ status: 404 })
  })
})

describe('a domain', () => {
  it('[contract 3.4] belongs to the one of two tenants who proves it', async () => {
    const first = await scene('sparkpost', { isVerified: false })
    const second = await scene('sendgrid', { isVerified: false })
    const name = first.domain.domain
    const { domain: wanted } = await second.client.addDomain({ domain: name })
    dns.publish(wanted.records)
    expect((await second.client.verifyDomain(name)).domain.verified).toBe(true)
    const refusal = { status: 409, code: 'domain_taken' }
    expect((await first.client.verifyDomain(name)).domain).toMatchObject({
      verified: false,
      state: 'taken',
    })
    const { client } = await scene('sparkpost')
    await expect(client.addDomain({ domain: name })).rejects.toMatchObject(refusal)
    await expect(first.send(['ada'])).rejects.toMatchObject({ status: 422, code: 'no_mailer' })
  })

  it('is signed with another key once its record is published, without a pause', async () => {
    const { client, domain, provider, send, told } = await scene('sparkpost')
    const { domain: rotating } = await client.rotateDomainKey(domain.domain)
    const next = rotating.records.filter(({ rotation }) => rotation === 'next')
    expect(next).toHaveLength(1)
    expect((await client.verifyDomain(domain.domain)).domain).toMatchObject({
      verified: true,
      selector: domain.selector,
    })
    dns.publish(next)
    const { domain: rotated } = await client.verifyDomain(domain.domain)
    expect(rotated).toMatchObject({ verified: true })
    expect(rotated.selector).not.toBe(domain.selector)
    expect(next[0]?.name).toContain(`${rotated.selector}._domainkey`)
    const change = provider.requests.find(({ method }) => method === 'PUT')
    expect(change?.json).toMatchObject({ dkim: { selector: rotated.selector } })
    expect(await told(await send(['ada']), 1)).toEqual(['MAIL_DELIVERED ada'])
  })

  it('keeps its status while name servers do not answer, and loses it once they deny it', async () => {
    const { client, domain, domainReceiver } = await scene('sendgrid')
    const verify = async () => (await client.verifyDomain(domain.domain)).domain.verified
    const isOurs = (name: string) => name.endsWith(domain.domain)
    dns.setScript(({ name }) => (isOurs(name) ? { rcode: 2 } : undefined))
    expect(await verify()).toBe(true)
    dns.setScript(({ name }) => (isOurs(name) ? { rcode: 3 } : undefined))
    expect(await verify()).toBe(false)
    dns.setScript(undefined)
    expect(await verify()).toBe(true)
    await domainReceiver.waitForRequests(3)
    const told = domainReceiver.requests.map(
      ({ json }) => json as { details: { verified: boolean } },
    )
    expect(told.map(({ details }) => details.verified)).toEqual([true, false, true])
  })
})

describe('callbacks', () => {
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers }).then(({ status }) => status)
  const answerOf = async (posted: Promise<readonly CallbackBatch[]>) =>
    (await posted)[0]?.attempts.map(({ status }) => status)

  it('[5] callbacks of SparkPost need the secret header where one is configured', async () => {
    const one = await scene('sparkpost')
    await one.send(['ada'])
    await one.provider.waitForMails(1)
    const forge = (headers: Record<string, string | undefined>) =>
      answerOf(
        one.provider.callBack({
          events: one.provider.eventsOf('ada', ['complained']),
          headers,
          attemptsMax: 1,
        }),
      )
    expect(await forge({ 'X-Callback-Secret': undefined })).toEqual([401])
    expect(await forge({ 'X-Callback-Secret': 'wrong' })).toEqual([401])
    expect(await forge({})).toEqual([200])
  })

  it('[5] callbacks of SendGrid need a current signature over their bytes', async () => {
    const one = await scene('sendgrid')
    await one.send(['ada'])
    await one.provider.waitForMails(1)
    const events = one.provider.eventsOf('ada', ['complained'])
    const forge = (o: object) => answerOf(one.provider.callBack({ events, attemptsMax: 1, ...o }))
    const unsigned = { 'X-Twilio-Email-Event-Webhook-Signature': undefined }
    expect(await forge({ headers: unsigned })).toEqual([401])
    expect(await forge({ tamper: (body: string) => body.replace('ada', 'bob') })).toEqual([401])
    expect(await forge({ tamper: (body: string) => body.trim() })).toEqual([401])
    expect(await forge({ timestamp: 1_600_000_000 })).toEqual([401])
    expect(await forge({})).toEqual([200])
  })

  it('[5] callbacks of other senders are refused, and pings are answered', async () => {
    const { callbackUrl } = await scene('sparkpost')
    const secret = { 'X-Callback-Secret': 'a-secret-that-only-the-provider-knows' }
    expect(await post(`${callbackUrl}x`, '[]', secret)).toBe(404)
    expect(await post(callbackUrl.replace('/sparkpost/', '/sendgrid/'), '[]', secret)).toBe(404)
    expect(await post(callbackUrl, 'not JSON', secret)).toBe(400)
    expect(await post(callbackUrl, '{"a":1}', secret)).toBe(400)
    expect(await post(callbackUrl, '[]', { ...secret, 'content-encoding': 'gzip' })).toBe(415)
    expect(await post(callbackUrl, `[${' '.repeat(4 * 1024 * 1024)}]`, secret)).toBe(413)
    expect(await post(callbackUrl, '[{"msys":{}}]', secret)).toBe(200)
    expect(await post(callbackUrl, '[]', secret)).toBe(200)
  })
})
