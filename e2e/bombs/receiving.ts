/** A domain of a tenant that mail is received for, and what sends to it. */
import { createInboundScene } from '../inbound-scene.ts'
import { openSmtp } from '../send-smtp.ts'
import { type DoorDeps, WAIT_MS } from './door.ts'
import { latin1 } from './send-http.ts'

/** What is sent twice is told of once. */
export async function createReceiving(deps: DoorDeps) {
  const { domain, receiver } = await createInboundScene(deps)
  let settled = 0
  /** Whether it was stored, or refused for its content. */
  async function deliver(raw: string, from = 'a@sender.test'): Promise<boolean> {
    const client = await openSmtp(deps.world.service().inboundPort ?? 0)
    try {
      await client.ask(`MAIL FROM:<${from}>`)
      await client.ask(`RCPT TO:<desk@${domain}>`)
      const goAhead = await client.ask('DATA')
      if (!goAhead.startsWith('354')) return false
      client.send(latin1(`${raw.replace(/^\./gm, '..')}\r\n.\r\n`))
      const answer = await client.see(/^\d{3} .*\r\n/m)
      return /^(?:250|554) /m.test(String(answer))
    } finally {
      client.close()
    }
  }
  return {
    deliver,
    /** Messages of one tenant are read in their order, two at a time. */
    async settle() {
      settled += 1
      const last = `<settled-${settled}@sender.test>`
      const isLast = (json: unknown) => JSON.stringify(json).includes(last)
      // Waited for from the beginning: another that settles forgets what has come.
      await Promise.all([
        receiver.waitUntil((requests) => requests.some(({ json }) => isLast(json)), WAIT_MS),
        deliver(`Message-ID: ${last}\r\nFrom: a@sender.test\r\n\r\nlast\r\n`),
      ])
      receiver.clear()
    },
  }
}
