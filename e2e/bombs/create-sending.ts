/** A tenant with a mail server and a webhook that is told how each of its mails ended. */
import { eventsOf } from '../world.ts'
import { type DoorDeps, isRead, WAIT_MS } from './door.ts'

export async function createSending({ world }: DoorDeps) {
  const [{ client }, smtp, receiver] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer(),
    world.newReceiver(),
  ])
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true, smtp_error: true, phishing: true } },
  })
  let taken = 0
  return {
    smtp,
    addMailer: (email: string) =>
      client.configureSMTP({
        name: 'News',
        email,
        config_type: 'smtp',
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      }),
    async send(
      email: string,
      o: { readonly name?: string; readonly value: string; readonly more?: object },
    ) {
      const { name = 'News', value, more = {} } = o
      const sent = client.sendEmail({
        from: { email, name: name.slice(0, 100) },
        to: [{ email: 'ada@recipient.test' }],
        subject: name.slice(0, 500),
        content: [{ type: 'text/html' as const, value }],
        ...more,
      })
      sent.then(
        () => {
          taken += 1
        },
        () => undefined,
      )
      return isRead(sent)
    },
    settle: () => receiver.waitUntil((requests) => eventsOf(requests).length >= taken, WAIT_MS),
  }
}
