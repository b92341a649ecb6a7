/** What was accepted goes on after the service ended, in order or not, on the same data directory. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createWorld, type World, waitForEvents } from './world.ts'

let world: World
beforeEach(async () => {
  world = createWorld({ SEND_RETRY_SCHEDULE: '3s', SEND_LEASE: '3s' })
  await world.start()
})
afterEach(() => world.destroy())

const mail = (to: string) => ({
  from: { email: 'news@sender.test' },
  to: [{ email: to }],
  subject: 'Hello',
  content: [{ type: 'text/plain' as const, value: 'Hi.' }],
})

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  describe(`after ${signal}`, () => {
    it('mail that waits for a retry is sent, and waiting events are delivered', async () => {
      const smtp = await world.newSmtpServer({
        script: { 'later@recipient.test': ['450 4.2.0 later', 'ok'] },
      })
      const receiver = await world.newReceiver()
      const { client, apiKey } = await world.newTenant()
      await client.registerWebhook({
        webhook_url: `${receiver.origin}/`,
        event: 'EMAIL_EVENT',
        method: 'POST',
        webhook_options: { events: { delivery: true, smtp_error: true } },
      })
      await client.configureSMTP({
        name: 'News',
        email: 'news@sender.test',
        config_type: 'smtp',
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      })
      await client.sendEmail(mail('later@recipient.test'))
      const [failed] = await waitForEvents(receiver, 1)
      expect(failed?.event).toBe('SMTP_ERROR')
      receiver.setScript(() => 503)
      await client.sendEmail(mail('now@recipient.test'))
      await receiver.waitForRequests(2)
      expect(await endAndCheck(signal)).toBe(true)

      receiver.clear()
      receiver.setScript(undefined)
      await world.start()
      const events = await waitForEvents(receiver, 2)
      const told = events.map(({ event, details }) => `${event} ${details.email}`)
      expect(told.sort()).toEqual([
        'MAIL_DELIVERED later@recipient.test',
        'MAIL_DELIVERED now@recipient.test',
      ])
      expect(smtp.messages).toHaveLength(2)

      const response = await fetch(`${world.service().origin}/v1/webhook`, {
        headers: { authorization: `Bearer ${apiKey}` },
      })
      expect(response.status).toBe(200)
    })
  })
}

/** Whether it ended the way it was told to. */
async function endAndCheck(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
  const { process } = world.service()
  await world.end(signal)
  const end = process.end()
  return signal === 'SIGKILL' ? end?.signal === 'SIGKILL' : end?.code === 0
}
