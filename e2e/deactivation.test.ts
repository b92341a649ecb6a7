/**
 * A mailer whose password is changed at its server: found out, told, fixed
 * (docs/reference/mailers.md#deactivation).
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorld, type World, waitForEvents } from './world.ts'

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterAll(() => world.destroy())

it('[interface 3, 6.3] a mailer is deactivated once, keeps its mail, and sends it after re-authentication', async () => {
  const username = 'news@sender.test'
  const users: Record<string, string> = { [username]: 'first' }
  const [{ client }, smtp, receiver] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer({ auth: { users } }),
    world.newReceiver(),
  ])
  await client.registerWebhook({
    webhook_url: receiver.origin,
    event: 'EMAIL_EVENT',
    method: 'POST',
    // MAILER_DEACTIVATED has no switch.
    webhook_options: { events: { bounce: true } },
  })
  const { mailer } = await client.configureSMTP({
    name: 'News',
    email: username,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None', username, password: 'first' },
  })
  users[username] = 'second'
  const mail = {
    from: { email: username },
    to: Array.from({ length: 6 }, (_, i) => ({ email: `r${i}@example.test` })),
    subject: 'Hello',
    content: [{ type: 'text/plain' as const, value: 'Hi there.' }],
  }
  await client.sendEmail(mail)

  expect(await waitForEvents(receiver, 1)).toEqual([
    {
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: mailer.mailer_id,
        config_type: 'smtp',
        failed_reason: 'provider_auth_error',
        provider_error: expect.stringMatching(/^535 /),
      },
    },
  ])
  expect(await client.getSMTPConfig(mailer.mailer_id)).toMatchObject({
    mailer: { state: 'deactivated', state_reason: 'provider_auth_error' },
  })
  await expect(client.sendEmail(mail)).rejects.toMatchObject({ code: 'mailer_inactive' })

  const config = { password: 'second' }
  expect(await client.updateSMTP({ mailer_id: mailer.mailer_id, config })).toMatchObject({
    mailer: { state: 'active', state_reason: null },
  })
  await smtp.waitForMessages(5)
  expect(new Set(smtp.messages.map(({ recipients }) => recipients.join())).size).toBe(5)
  expect(await waitForEvents(receiver, 1)).toHaveLength(1)
})
