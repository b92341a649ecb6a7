/**
 * Mail that is handed in and mail that is received do not starve each other: while one listener has all
 * connections that it lets in, and large messages without end, the other answers everybody.
 */
import { createDnsServer, createRawClient, type DnsServer, findFreePort } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createInboundScene, letterOf } from '../inbound-scene.ts'
import { openSmtp, sendSmtp } from '../send-smtp.ts'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  logIn,
  type SubmissionWorld,
  submit,
} from '../submission-scene.ts'

const MAILS = 30
/** More than a listener lets in, of addresses that have nearly as many as one may have. */
const IDLE = 1_100
const FLOODING = 12
const LARGE = 'x'.repeat(998).concat('\r\n').repeat(2_000)

let world: SubmissionWorld
let dns: DnsServer
let inboundPort: number
beforeAll(async () => {
  ;[dns, inboundPort] = await Promise.all([createDnsServer(), findFreePort()])
  world = await createSubmissionWorld({
    DNS_SERVERS: dns.address,
    INBOUND_PORT: String(inboundPort),
    INBOUND_HOST: 'mx.postrider.test',
  })
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
})

interface Flood {
  /** Messages that were answered, whatever the answer. */
  readonly answered: () => number
  end(): Promise<void>
}

/** Holds what connections it can get at a port, and hands in one message after another on some. */
function flood(
  port: number,
  idleOfAddress: number,
  sendOne: (address: string) => Promise<void>,
): Flood {
  let isOver = false
  let answered = 0
  const idle = Array.from({ length: IDLE }, (_, i) =>
    createRawClient(port, '127.0.0.1', `127.0.1.${1 + Math.floor(i / idleOfAddress)}`),
  )
  const sending = Array.from({ length: FLOODING }, async (_, i) => {
    while (!isOver) {
      // A connection that is refused or ended comes again.
      const isAnswered = await sendOne(`127.0.2.${1 + i}`).then(
        () => true,
        () => false,
      )
      if (isAnswered) answered += 1
    }
  })
  return {
    answered: () => answered,
    async end() {
      isOver = true
      for (const client of idle) client.close()
      await Promise.all(sending)
    },
  }
}

/** Each is answered 250, and the flood goes on after the last. */
async function passThrough(flooding: Flood, sendAll: () => Promise<void>): Promise<void> {
  try {
    await expect.poll(flooding.answered, { timeout: 60_000 }).toBeGreaterThan(FLOODING)
    await sendAll()
    const before = flooding.answered()
    await expect.poll(flooding.answered, { timeout: 60_000 }).toBeGreaterThan(before)
  } finally {
    await flooding.end()
  }
}

it('[contract 8] takes each mail that is handed in while received mail floods it', {
  timeout: 180_000,
}, async () => {
  const { domain } = await createInboundScene({ world, dns })
  const { apiKey } = await createScene(world)
  let number = 0
  const flooding = flood(inboundPort, 95, async (address) => {
    const client = await openSmtp(inboundPort, address)
    number += 1
    const raw = letterOf(`flood${number}`, { body: LARGE })
    const letter = { from: 'ada@sender.test', to: [`desk@${domain}`], raw }
    await sendSmtp(client, letter).finally(() => client.close())
  })
  await passThrough(flooding, async () => {
    const client = await logIn(world.port, apiKey)
    for (let i = 0; i < MAILS; i++) {
      const raw = lines(`From: ${FROM}`, `Message-ID: <${i}@a.test>`, '', 'Hello')
      expect(await submit(client, raw)).toMatch(/^250 /)
    }
    client.close()
  })
})

it('[contract 8] takes each mail of others while mail that is handed in floods it', {
  timeout: 180_000,
}, async () => {
  const { domain } = await createInboundScene({ world, dns })
  const { apiKey } = await createScene(world, { record: 'count' })
  const flooding = flood(world.port, 240, async (address) => {
    const client = await logIn(world.port, apiKey, address)
    const raw = lines(`From: ${FROM}`, '', LARGE)
    await submit(client, raw).finally(() => client.close())
  })
  const other = await createScene(world)
  await passThrough(flooding, async () => {
    const client = await openSmtp(inboundPort)
    const others = await logIn(world.port, other.apiKey)
    for (let i = 0; i < MAILS; i++) {
      expect(await submit(others, lines(`From: ${FROM}`, '', 'Hello'))).toMatch(/^250 /)
      const letter = { from: 'ada@sender.test', to: [`desk@${domain}`], raw: letterOf(`in${i}`) }
      expect((await sendSmtp(client, letter)).message).toMatch(/^250 /)
    }
    for (const one of [client, others]) one.close()
  })
})
