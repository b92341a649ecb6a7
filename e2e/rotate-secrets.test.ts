/**
 * Secret keys are replaced while processes send mail and change mailers
 * (docs/reference/running.md#secret-keys): nothing defers for lack of a key, and the old key can be removed.
 */
import { randomBytes } from 'node:crypto'
import { Postrider } from '@postrider/client'
import { programs, startProcess } from '@postrider/testkit'
import { createDatabase } from '@postrider/testkit/database'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { createWorld, eventsOf, type World } from './world.ts'

const { serverUrl, templateWithDays: template } = inject('testDatabase')
const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2] = [keyOf('k1'), keyOf('k2')]
const mailers = 30

let database: Awaited<ReturnType<typeof createDatabase>>
let world: World
beforeEach(async () => {
  database = await createDatabase({ serverUrl, template })
  world = createWorld({ DATABASE_URL: database.url, SECRET_KEYS: k1 })
})
afterEach(async () => {
  await world.destroy()
  await database.close()
})

async function rotate(): Promise<string> {
  const env = { POSTRIDER_DATABASE_URL: database.url, POSTRIDER_SECRET_KEYS: `${k2},${k1}` }
  const running = await startProcess({ script: programs.cli, args: ['secrets', 'rotate'], env })
  await running.exited
  return running.lines.join('\n')
}

it('sends mail during a rotation, and without the old key afterwards', async () => {
  await world.start()
  const smtp = await world.newSmtpServer({ auth: { users: { news: 'right' } } })
  const receiver = await world.newReceiver()
  const { client, apiKey } = await world.newTenant()
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { 'X-Key': 'secret-value' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  const emailOf = (n: number) => `news-${n}@sender.test`
  const configOf = (n: number) => ({
    name: `News ${n}`,
    email: emailOf(n),
    connection_type: 'basic' as const,
    config: {
      host: '127.0.0.1',
      port: smtp.port,
      secure: 'None' as const,
      username: 'news',
      password: 'right',
    },
  })
  const made = await Promise.all(
    Array.from({ length: mailers }, (_, n) =>
      client.configureSMTP({ ...configOf(n), config_type: 'smtp', verify: false }),
    ),
  )
  await world.end()

  // Without the first step: all processes stop and start at once.
  await world.start({ SECRET_KEYS: `${k2},${k1}` })
  const beside = await world.startBeside({
    SECRET_KEYS: `${k2},${k1}`,
    ROLES: 'sender,dispatcher',
  })
  const clientNow = () => new Postrider({ apiKey, basePath: world.service().origin })
  const send = (n: number) =>
    clientNow().sendEmail({
      from: { email: emailOf(n) },
      to: [{ email: `to-${n}@recipient.test` }],
      subject: 'Hello',
      content: [{ type: 'text/plain' as const, value: 'Hi.' }],
    })
  const sendAndChange = async (mailerId: string, n: number) => {
    await send(n)
    const changed = { mailer_id: mailerId, name: `Changed ${n}`, email: emailOf(n), verify: false }
    await clientNow().updateSMTP(changed)
  }
  const [first] = await Promise.all([
    rotate(),
    ...made.map(({ mailer }, n) => sendAndChange(mailer.mailer_id, n)),
  ])
  expect(first).not.toContain('that no configured key opens')
  expect(await rotate()).toContain('No longer needed: k1')
  await world.end()
  await beside.stop()
  await world.start({ SECRET_KEYS: k2 })
  await Promise.all(made.map((_, n) => send(n)))
  await receiver.waitUntil((requests) => eventsOf(requests).length >= 2 * mailers)
  const events = eventsOf(receiver.requests).map(({ event }) => event)
  expect(new Set(events)).toEqual(new Set(['MAIL_DELIVERED']))
  expect(receiver.requests.at(-1)?.header('X-Key')).toBe('secret-value')
}, 90_000)

it('retries mail that a process without the new key cannot send, and sends it with the key', async () => {
  const retries = Array.from({ length: 40 }, () => '500ms').join(',')
  const sending = { ROLES: 'api,sender', SEND_RETRY_SCHEDULE: retries }
  await world.start(sending)
  const smtp = await world.newSmtpServer({ auth: { users: { news: 'right' } } })
  const receiver = await world.newReceiver()
  const { client } = await world.newTenant()
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    connection_type: 'basic',
    config_type: 'smtp',
    verify: false,
    config: {
      host: '127.0.0.1',
      port: smtp.port,
      secure: 'None',
      username: 'news',
      password: 'right',
    },
  })
  // The process that sends has the old key alone: the order of the steps was not kept.
  await world.startBeside({ SECRET_KEYS: `${k2},${k1}`, ROLES: 'dispatcher' })
  await rotate()
  await client.sendEmail({
    from: { email: 'news@sender.test' },
    to: [{ email: 'ada@recipient.test' }],
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hi.' }],
  })
  await receiver.waitUntil((requests) => eventsOf(requests).length >= 2)
  const errors = eventsOf(receiver.requests)
  expect(errors.map(({ event }) => event)).toEqual(errors.map(() => 'SMTP_ERROR'))
  expect(errors[0]?.details).toMatchObject({
    failed_reason: 'Mailer configuration could not be loaded',
  })
  await world.end()
  await world.start({ ...sending, SECRET_KEYS: `${k2},${k1}` })
  const isDelivered = ({ event }: { readonly event: string }) => event === 'MAIL_DELIVERED'
  await receiver.waitUntil((requests) => eventsOf(requests).some(isDelivered))
  expect(smtp.transactions).toHaveLength(1)
}, 90_000)
