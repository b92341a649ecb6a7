/** A listener on loopback before routes and a store in memory, and what came of it. */
import { createRawClient, type RawClient } from '@postrider/testkit'
import { afterEach } from 'vitest'
import { makeSelfSigned } from '../../platform/certificates/self-signed.ts'
import { createLogger } from '../../platform/log.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { ListenerLimits } from '../../platform/smtp-server/limits.ts'
import type { FoundRoute } from '../domains/find-routes.ts'
import type { SmtpMail } from '../ingest/received-mail.ts'
import { createInboundListener, type InboundListener, type ListenerOptions } from './listener.ts'
import { createListenerObserver } from './observe-listener.ts'

export const certificate = makeSelfSigned({
  host: 'mx.postrider.test',
  nowMs: Date.now(),
  validMs: 86_400_000,
})

export interface TestListener {
  readonly listener: InboundListener
  readonly port: number
  readonly stored: readonly SmtpMail[]
  log(): string
  metrics(): Promise<string>
  /** Greeted, and having greeted. */
  open(from?: string): Promise<RawClient>
  /** Having named a sender and these recipients, all of them accepted. */
  openFor(...to: readonly string[]): Promise<RawClient>
  stop(): Promise<void>
}

/** Takes anyone at each domain but `nobody`; other.test is another tenant's. */
async function findInMemory(address: string): Promise<FoundRoute> {
  const [local = '', domain = ''] = address.toLowerCase().split('@')
  if (domain === 'unproven.test') return { kind: 'unproven_domain' }
  if (domain === 'unsure.test') return { kind: 'unsure_domain' }
  if (!['routed.test', 'relayed.test', 'other.test'].includes(domain))
    return { kind: 'unknown_domain' }
  if (local.startsWith('nobody')) return { kind: 'unknown_user' }
  if (local === 'trouble') throw new Error('the database is away')
  const tenantId = domain === 'other.test' ? 'tn_other' : 'tn_one'
  return { kind: 'route', route: { tenantId, domain, username: '', owner: `${domain}/` } }
}

export async function startListener(
  o: Partial<Omit<ListenerOptions, 'limits'>> & { readonly limits?: Partial<ListenerLimits> } = {},
): Promise<TestListener> {
  const stored: SmtpMail[] = []
  const lines: string[] = []
  const metrics = createMetrics()
  const clients: RawClient[] = []
  const listener = createInboundListener({
    host: '127.0.0.1',
    port: 0,
    name: 'mx.postrider.test',
    bytesMax: 1024 * 1024,
    recipientsMax: 100,
    certificate,
    findRoute: findInMemory,
    async store(mail) {
      // The buffer is the listener's own, and ends with the answer.
      stored.push({ ...mail, raw: Buffer.from(mail.raw) })
      return { inboundIds: [`in_${stored.length}`] }
    },
    disk: { isOpen: () => true, admit: (_bytes, work) => work() },
    nowMicros: () => BigInt(Date.now()) * 1000n,
    monotonicMs: () => performance.now(),
    observe: createListenerObserver(metrics),
    log: createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } }),
    ...o,
    limits: { sweepMs: 20, ...o.limits },
  })
  await listener.start()
  const { port } = listener.address()
  const open = async (from?: string) => {
    const client = createRawClient(port, '127.0.0.1', from)
    clients.push(client)
    await client.see(/^220 .*\r\n/)
    await client.ask('EHLO client.test')
    return client
  }
  return {
    listener,
    port,
    stored,
    log: () => lines.join(''),
    metrics: () => metrics.registry.metrics(),
    open,
    async openFor(...to) {
      const client = await open()
      await client.ask('MAIL FROM:<ada@sender.test>')
      for (const one of to) await client.ask(`RCPT TO:<${one}>`)
      return client
    },
    async stop() {
      for (const client of clients) client.close()
      await listener.stop()
    },
  }
}

/** All of it, and the answer to its final dot. */
export async function sendData(client: RawClient, message: string | Buffer): Promise<string> {
  await client.ask('DATA')
  client.send(message)
  client.send(message.toString('latin1').endsWith('\r\n') ? '.\r\n' : '\r\n.\r\n')
  return client.see(/^\d{3} .*\r\n/)
}

/** Starts listeners for a file of tests; after each test they end. */
export function useListeners(): typeof startListener {
  let started: TestListener[] = []
  afterEach(async () => {
    await Promise.all(started.map((one) => one.stop()))
    started = []
  })
  return async (...o) => {
    const one = await startListener(...o)
    started.push(one)
    return one
  }
}
