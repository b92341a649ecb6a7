/** What a mail may hold, and when it is sent, over a real process and a real SMTP server. */
import { Postrider, PostriderError } from '@postrider/client'
import type { SmtpServer } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createWorld, type Tenant, type World, waitForEvents } from './world.ts'

const FROM = 'news@sender.test'
const ADA = 'ada@recipient.test'

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

async function getReady(): Promise<Tenant & { readonly smtp: SmtpServer }> {
  const [tenant, smtp] = await Promise.all([world.newTenant(), world.newSmtpServer()])
  await tenant.client.configureSMTP({
    name: 'News',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  return { ...tenant, smtp }
}

const mail = (change: Partial<Parameters<Postrider['sendEmail']>[0]> = {}) => ({
  from: { email: FROM },
  to: [{ email: ADA }],
  subject: 'Hello',
  content: [{ type: 'text/plain' as const, value: 'Hi there.' }],
  ...change,
})
const ahead = (ms: number) => new Date(Date.now() + ms).toISOString()

it('a template is rendered, and HTML alone gets a text part', async () => {
  const { client, smtp } = await getReady()
  await client.sendEmail(
    mail({
      subject: 'Order {{ id }}',
      content: [{ type: 'text/html', value: '<p>Hello <b>{{ name }}</b></p>' }],
      template_data: { id: 7, name: 'A & B' },
    }),
  )
  const [message] = await smtp.waitForMessages(1)
  const raw = message?.raw.toString('utf8') ?? ''
  expect(raw).toMatch(/^Subject: Order 7\r\n/m)
  expect(raw).toContain('<p>Hello <b>A &amp; B</b></p>')
  expect(raw).toMatch(/\r\n\r\nHello A & B\r\n/)
})

it('[6.4.6] a template that cannot be rendered fails for good, for every recipient', async () => {
  const { client, smtp } = await getReady()
  const receiver = await world.newReceiver()
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { smtp_error: true } },
  })
  const to = [{ email: ADA }, { email: 'bob@recipient.test' }]
  const { ref_id } = await client.sendEmail(
    mail({ to, subject: '{{ name | nope }}', template_data: {} }),
  )
  const events = await waitForEvents(receiver, 2)
  expect(events.map(({ details }) => details.email).sort()).toEqual([[ADA], ['bob@recipient.test']])
  for (const { event, details } of events) {
    expect(event).toBe('SMTP_ERROR')
    expect(details).toMatchObject({
      ref_id,
      attempt: 1,
      max_attempts: 5,
      retry_scheduled: false,
      failed_reason: 'The template could not be rendered',
      provider_error: 'subject: undefined filter: nope, line:1, col:1',
      message_id: '',
      thread_id: '',
    })
  }
  expect(smtp.transactions).toEqual([])
})

it('[contract 5] a scheduled email survives a restart, and is sent at its time', async () => {
  const { apiKey, client, smtp } = await getReady()
  const { recipients } = await client.sendEmail(mail({ send_at: ahead(4_000) }))
  expect(recipients).toEqual([{ email: ADA, type: 'to', status: 'scheduled' }])
  await world.end('SIGKILL')
  await world.start()
  const messages = await smtp.waitForMessages(1)
  expect(messages).toHaveLength(1)
  const again = new Postrider({ apiKey, basePath: world.service().origin })
  await again.sendEmail(mail({ subject: 'second' }))
  expect(await smtp.waitForMessages(2)).toHaveLength(2)
})

it('[contract 5] a cancelled email is not sent', async () => {
  const { client, smtp } = await getReady()
  const { ref_id } = await client.sendEmail(mail({ subject: 'first', send_at: ahead(2_000) }))
  const rejected = [{ email: ADA, type: 'to', status: 'rejected' }]
  expect(await client.cancelScheduledEmail(ref_id)).toMatchObject({
    cancelled: 1,
    recipients: rejected,
  })
  expect(await client.cancelScheduledEmail(ref_id)).toMatchObject({
    cancelled: 0,
    recipients: rejected,
  })
  await client.sendEmail(mail({ subject: 'second', send_at: ahead(2_500) }))
  const [message] = await smtp.waitForMessages(1)
  expect(message?.raw.toString()).toMatch(/^Subject: second\r\n/m)
  const unknown = client.cancelScheduledEmail('01JD4M8W6ZQ3V5T7X9Y2A4C6E8')
  await expect(unknown).rejects.toThrow(PostriderError)
})
