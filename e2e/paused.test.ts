/**
 * `POSTRIDER_SENDING=paused`: what is accepted waits, and goes out once sending is on
 * (docs/reference/running.md#pausing).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createWorld, type World, waitForEvents } from './world.ts'

let world: World
beforeEach(() => {
  world = createWorld({})
})
afterEach(() => world.destroy())

async function metrics(): Promise<string> {
  const response = await fetch(`${world.service().origin}/metrics`)
  return response.text()
}

describe('a service whose sending is paused', () => {
  it('accepts mail, shows that it waits, sends nothing, and sends it once sending is on', async () => {
    await world.start({ SENDING: 'paused' })
    const smtp = await world.newSmtpServer({})
    const receiver = await world.newReceiver()
    const { client } = await world.newTenant()
    await client.registerWebhook({
      webhook_url: `${receiver.origin}/`,
      event: 'EMAIL_EVENT',
      method: 'POST',
      webhook_options: { events: { delivery: true } },
    })
    const checks = receiver.requests.length
    await client.configureSMTP({
      name: 'News',
      email: 'news@sender.test',
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const { ref_id } = await client.sendEmail({
      from: { email: 'news@sender.test' },
      to: [{ email: 'one@recipient.test' }],
      subject: 'Hello',
      content: [{ type: 'text/plain' as const, value: 'Hi.' }],
    })
    const ready = await fetch(`${world.service().origin}/readyz`)
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({
      details: { sending: expect.stringContaining('paused') },
    })
    expect(world.service().process.lines.join('\n')).toContain('config.sending_paused')
    // The first look after a start is at once, and sees what waited before it.
    await world.end()
    await world.start({ SENDING: 'paused' })
    await expect
      .poll(metrics, { timeout: 20_000 })
      .toContain('postrider_send_queue{state="due"} 1\n')
    expect(await metrics()).toMatch(/^postrider_send_queue_oldest_due_seconds \d/m)
    // An orderly end finishes what is under way, so whatever had begun would have arrived.
    await world.end()
    expect([smtp.messages.length, receiver.requests.length]).toEqual([0, checks])

    await world.start({ SENDING: 'on' })
    const [delivered] = await waitForEvents(receiver, 1)
    expect(delivered).toMatchObject({ event: 'MAIL_DELIVERED', details: { ref_id } })
    expect(smtp.messages).toHaveLength(1)
  }, 60_000)
})
