/**
 * Mail from strangers that is made to exhaust authentication, through the SMTP door of a whole
 * service: the processor time of its event loop is read from the kernel.
 */
import { readFileSync } from 'node:fs'
import { createDnsServer, type DnsServer, findFreePort, signatureBombs } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createInboundScene, incomingOf } from './inbound-scene.ts'
import { sendSmtpTo } from './send-smtp.ts'
import { createWorld, type World } from './world.ts'

/** On the event loop they took 230 to 750 ms each; an ordinary message takes some 5 ms. */
const CPU_MS_MAX_EACH = 120
const TICKS_PER_S = 100

let world: World
let dns: DnsServer
let port: number
beforeAll(async () => {
  const httpPort = await findFreePort()
  ;[dns, port] = await Promise.all([createDnsServer(), findFreePort()])
  dns.set('sender.test', 'TXT', ['v=spf1 ip4:127.0.0.1 -all'])
  world = createWorld({
    PORT: String(httpPort),
    PUBLIC_URL: `http://127.0.0.1:${httpPort}`,
    DNS_SERVERS: dns.address,
    INBOUND_PORT: String(port),
    INBOUND_HOST: 'mx.postrider.test',
  })
  await world.start()
})
afterAll(async () => {
  await world.closePeers()
  await world.destroy()
  await dns.close()
})

/** Of the thread that bears the process's id: the event loop. */
function eventLoopCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1')
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(user) + Number(system)) / TICKS_PER_S) * 1_000
}

const SIGNATURE = 'DKIM-Signature: v=1; a=rsa-sha256; d=sender.test; s=s1; h=from; bh=x; b=x'

describe.skipIf(process.platform !== 'linux')(
  '[P5] mail that is made to exhaust authentication',
  () => {
    it('[P5] leaves the event loop free, is reported, and has its client checked', async () => {
      const { domain, receiver } = await createInboundScene({ world, dns })
      const to = [`desk@${domain}`]
      const send = (subject: string, header: string) =>
        sendSmtpTo(port, {
          from: 'ada@sender.test',
          to,
          raw: `${header}\r\nFrom: ada@sender.test\r\nSubject: ${subject}\r\n\r\nHello\r\n`,
        })
      // Threads and connections are there.
      await send('first', SIGNATURE)
      await receiver.waitForRequests(1)
      const pid = world.service().process.pid ?? 0
      const before = eventLoopCpuMs(pid)
      for (const { name, text } of signatureBombs)
        expect((await send(name, text)).message).toMatch(/^250 /)
      const requests = await receiver.waitForRequests(signatureBombs.length + 1)
      expect(eventLoopCpuMs(pid) - before).toBeLessThan(signatureBombs.length * CPU_MS_MAX_EACH)
      for (const request of requests) {
        const { spf, dmarc, dkim } = incomingOf(request).details
        expect(spf.result).toBe('pass')
        expect(dmarc.result).not.toBe('temperror')
        expect(dkim).not.toContainEqual(expect.objectContaining({ result: 'pass' }))
      }
    }, 60_000)
  },
)
