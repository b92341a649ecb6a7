/**
 * Test mode over a real process (docs/reference/test-mode.md): what a key of test mode sends is told like any other
 * mail, and its mail server and its provider see no connection.
 */
import { Postrider, PostriderError } from '@postrider/client'
import type { SmtpServer } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { inShort } from './relay-scene.ts'
import { createWorld, type World, waitForEvents } from './world.ts'

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

const FROM = 'hello@shop.test'
const events = {
  delivery: true,
  open: true,
  click: true,
  bounce: true,
  spam: true,
  unsubscribe: true,
  smtp_error: true,
}

interface Scene {
  readonly live: Postrider
  readonly test: Postrider
  readonly smtp: SmtpServer
  readonly mailerId: string
  readonly waitFor: (count: number) => Promise<string[]>
  readonly details: (count: number) => Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** A tenant with a mailer of limits that no test may use up, and a key of test mode. */
async function setUp(): Promise<Scene> {
  const [{ client: live }, receiver, smtp] = await Promise.all([
    world.newTenant(),
    world.newReceiver(),
    world.newSmtpServer(),
  ])
  const { mailer } = await live.configureSMTP({
    name: 'shop',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    verify: false,
    limits: { per_day: 1 },
  })
  await live.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events },
  })
  const key = await live.createKey({ name: 'ci', mode: 'test' })
  expect(key.api_key).toMatch(/^pr_test_/)
  const { origin } = world.service()
  const test = new Postrider({ apiKey: key.api_key, basePath: origin })
  const wait = (count: number) => waitForEvents(receiver, count)
  return {
    ...{ live, test, smtp, mailerId: mailer.mailer_id },
    waitFor: async (count) => (await wait(count)).map(inShort),
    details: async (count) => (await wait(count)).map(({ details }) => details),
  }
}

const mailTo = (to: readonly string[], more: object = {}) => ({
  from: { email: FROM },
  to: to.map((email) => ({ email })),
  subject: 'Hello',
  content: [
    { type: 'text/html' as const, value: '<p>See <a href="https://example.com/a">a</a></p>' },
  ],
  ...more,
})

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof PostriderError ? error.code : String(error)),
  )

describe('mail of a key of test mode', () => {
  it('is told with its mark and reaches no mail server', async () => {
    const { live, test, smtp, mailerId, details } = await setUp()
    const { ref_id: refId, recipients } = await test.sendEmail(
      mailTo(['ada@example.com', 'bounce-hard@example.com', 'refused@example.com'], {
        custom_args: { order: 17 },
      }),
    )
    expect(recipients.map(({ status }) => status)).toEqual(['queued', 'queued', 'queued'])
    const told = await details(3)
    for (const one of told)
      expect(one).toMatchObject({
        ref_id: refId,
        test: true,
        custom_args: { order: 17 },
        mailer_id: `test_${mailerId.slice(-26)}`,
      })
    const { email } = await test.getEmail(refId)
    expect(email.test).toBe(true)
    expect(email.recipients.map(({ status }) => status)).toEqual(['delivered', 'bounced', 'failed'])
    expect(email.recipients.map(({ attempts }) => attempts.length)).toEqual([1, 1, 1])

    // The mailer may send one mail a day: it is still there for real mail, whose events have no mark.
    const { ref_id: real } = await live.sendEmail(mailTo(['bounce-hard@example.com']))
    const after = await details(4)
    expect(after.at(-1)).toMatchObject({ ref_id: real, mailer_id: mailerId })
    expect(after.at(-1)).not.toHaveProperty('test')
    expect(smtp.messages).toHaveLength(1)
    expect(smtp.connections).toHaveLength(1)
  })

  it('is in the logs, and in no statistics, overview, usage or suppression', async () => {
    const { live, test, waitFor } = await setUp()
    const settings = { open_tracking: true, click_tracking: true, unsubscribe: true }
    const { ref_id: refId } = await test.sendEmail(
      mailTo(['complaint@example.com', 'unsubscribe@example.com', 'bounce-hard@example.com'], {
        settings,
      }),
    )
    await waitFor(5)
    const { logs } = await live.getEmailLogs({ test: true })
    expect(logs.map((log) => [log.ref_id, log.test])).toEqual([
      [refId, true],
      [refId, true],
      [refId, true],
    ])
    expect((await live.getEmailLogs({ test: false })).logs).toEqual([])
    expect((await live.listSuppressions()).suppressions).toEqual([])
    const { overview } = await live.getOverview()
    expect(Object.values(overview.counts).every((n) => n === 0)).toBe(true)
    expect(overview.top_recipient_domains).toEqual([])
    expect((await live.getStatistics()).statistics.totals).toMatchObject({
      accepted: 0,
      delivered: 0,
    })
    const { tenants } = await world.operator().listTenants()
    expect(tenants[0]?.usage).toMatchObject({ emails_today: 0, queued: 0 })
  })

  it('opens, clicks, bounces and complains when it is asked to, and not before', async () => {
    const { live, test, waitFor, details } = await setUp()
    const settings = { open_tracking: true, click_tracking: true }
    const { ref_id: refId } = await test.sendEmail(mailTo(['ada@example.com'], { settings }))
    expect(await waitFor(1)).toEqual(['MAIL_DELIVERED ada'])
    await test.simulateEvent(refId, { event: 'open' })
    const clicked = await live.simulateEvent(refId, {
      event: 'click',
      recipient: 'ADA@example.com',
    })
    expect(clicked.simulated).toEqual({
      event: 'click',
      recipient: 'ada@example.com',
      url: 'https://example.com/a',
    })
    await waitFor(3)
    await test.simulateEvent(refId, { event: 'complaint' })
    await waitFor(4)
    // It bounces once, also where several calls find it delivered.
    const bounces = [1, 2, 3].map(() => test.simulateEvent(refId, { event: 'bounce' }))
    await Promise.allSettled(bounces)
    expect((await waitFor(5)).map((short) => short.split(' ')[0])).toEqual([
      'MAIL_DELIVERED',
      'MAIL_OPENED',
      'MAIL_CLICKED',
      'MAIL_SPAM',
      'MAIL_BOUNCE',
    ])
    expect((await details(5)).every((one) => one.test === true)).toBe(true)
    expect((await live.getEmail(refId)).email.recipients[0]?.status).toBe('bounced')
    expect((await live.listSuppressions()).suppressions).toEqual([])

    const [plain, real] = await Promise.all([
      test.sendEmail(mailTo(['ada@example.com', 'bob@example.com'])),
      live.sendEmail(mailTo(['ada@example.com'])),
    ])
    const told = await waitFor(8)
    expect(told.filter((short) => short.startsWith('MAIL_BOUNCE'))).toHaveLength(1)
    const refused = (id: string, body: Parameters<Postrider['simulateEvent']>[1]) =>
      codeOf(live.simulateEvent(id, body))
    const recipient = 'bob@example.com'
    expect(await refused(refId, { event: 'open' })).toBe('conflict')
    expect(await refused(real.ref_id, { event: 'open' })).toBe('conflict')
    expect(await refused(plain.ref_id, { event: 'open', recipient })).toBe('conflict')
    expect(await refused(plain.ref_id, { event: 'click', recipient })).toBe('conflict')
    expect(await refused(plain.ref_id, { event: 'bounce' })).toBe('validation_failed')
    expect(await refused(plain.ref_id, { event: 'bounce', recipient: 'x@example.com' })).toBe(
      'validation_failed',
    )
    expect(await refused('01ARZ3NDEKTSV4RRFFQ69G5FAV', { event: 'open' })).toBe('not_found')
  })

  it('does it with the custom_args and the links of each recipient', async () => {
    const { test, waitFor, details } = await setUp()
    const { ref_id: refId } = await test.sendEmail({
      from: { email: FROM },
      to: [
        {
          email: 'ada@example.com',
          template_data: { name: 'ada' },
          custom_args: { order: 1, vip: true },
        },
        { email: 'bob@example.com', template_data: { name: 'bob' }, custom_args: { order: 2 } },
        { email: 'cy@example.com' },
      ],
      subject: 'Hello {{ name }}',
      content: [
        { type: 'text/html', value: '<a href="https://example.com/{{ name }}">{{ name }}</a>' },
      ],
      template_data: { name: 'friend' },
      custom_args: { order: 0, list: 'all' },
      settings: { open_tracking: true, click_tracking: true },
    })
    await waitFor(3)
    const args = [
      { order: 1, list: 'all', vip: true },
      { order: 2, list: 'all' },
      { order: 0, list: 'all' },
    ]
    const links = ['ada', 'bob', 'friend'].map((name) => `https://example.com/${name}`)
    const recipients = ['ada@example.com', 'bob@example.com', 'cy@example.com']
    for (const [n, recipient] of recipients.entries()) {
      await test.simulateEvent(refId, { event: 'open', recipient })
      const clicked = await test.simulateEvent(refId, { event: 'click', recipient })
      expect(clicked.simulated.url).toBe(links[n])
      await test.simulateEvent(refId, { event: 'bounce', recipient })
      await waitFor(3 + 3 * (n + 1))
    }
    const told = await details(12)
    for (const [n, recipient] of recipients.entries()) {
      const own = told.filter((one) => String(one.email) === recipient)
      expect(own.map((one) => one.custom_args)).toEqual(Array.from({ length: 4 }, () => args[n]))
    }
  })

  it('stays test mail when it is rescued by a real mailer', async () => {
    const { live, test, smtp, mailerId, waitFor, details } = await setUp()
    const { ref_id: refId } = await test.sendEmail(mailTo(['refused@example.com']))
    await waitFor(1)
    const rescued = await live.rescueEmails({ ref_ids: [refId], mailer_id: mailerId })
    expect(rescued.rescued).toBe(1)
    const [, again] = await details(2)
    expect(again).toMatchObject({ attempt: 2, test: true })
    expect(smtp.connections).toEqual([])
  })
})

describe('a key of test mode', () => {
  it('is refused what a live key is refused', async () => {
    const { live, test, mailerId } = await setUp()
    const other = { from: { email: 'else@shop.test' } }
    expect(await codeOf(test.sendEmail(mailTo(['ada@example.com'], other)))).toBe('no_mailer')
    await live.setMailerActive({ mailer_id: mailerId, active: false })
    expect(await codeOf(test.sendEmail(mailTo(['ada@example.com'])))).toBe('mailer_inactive')
  })

  it('has idempotency keys of its own', async () => {
    const { live, test } = await setUp()
    const mail = mailTo(['ada@example.com'])
    const [a, b, c] = [
      await test.sendEmail(mail, { idempotencyKey: 'one' }),
      await live.sendEmail(mail, { idempotencyKey: 'one' }),
      await test.sendEmail(mail, { idempotencyKey: 'one' }),
    ]
    expect(a.ref_id).not.toBe(b.ref_id)
    expect(c.ref_id).toBe(a.ref_id)
  })

  it('reads, takes back test mail alone, and changes nothing', async () => {
    const { live, test, mailerId } = await setUp()
    const send_at = new Date(Date.now() + 3_600_000)
    const [real, tried] = await Promise.all([
      live.sendEmail(mailTo(['ada@example.com'], { send_at })),
      test.sendEmail(mailTo(['ada@example.com'], { send_at })),
    ])
    const { overview } = await live.getOverview()
    expect(overview.queue.scheduled).toBe(1)
    expect(await codeOf(test.cancelScheduledEmail(real.ref_id))).toBe('not_found')
    expect((await test.cancelScheduledEmail(tried.ref_id)).cancelled).toBe(1)
    expect((await test.listMailers()).mailers).toHaveLength(1)
    const { keys } = await test.listKeys()
    expect(keys.map(({ mode }) => mode)).toEqual(['test', 'live'])
    const changes = [
      test.createKey({ name: 'more' }),
      test.cancelEmails({ ref_ids: [real.ref_id] }),
      test.rescueEmails({ ref_ids: [real.ref_id] }),
      test.unsubscribeEmail('ada@example.com'),
      test.setMailerActive({ mailer_id: mailerId, active: false }),
      test.deleteWebhook({ event: 'EMAIL_EVENT' }),
    ]
    expect(await Promise.all(changes.map(codeOf))).toEqual(changes.map(() => 'forbidden'))
  })
})
