/** The submission listener over real sockets, before a store in memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRawClient, type RawClient } from '@postrider/testkit'
import { afterAll, afterEach, expect } from 'vitest'
import { createClock } from '../platform/clock.ts'
import type { TenantIdentity } from '../platform/http/bounds/admission.ts'
import { newUlid } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { noDiskGuard } from '../platform/process/disk-guard.ts'
import type { Submitted } from '../sending/index.ts'
import { createSubmission, type SubmissionDeps } from './create.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'postrider-submission-'))
/** What a test has opened. */
export const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

interface Started {
  readonly port: number
  readonly tlsPort: number
  readonly taken: Submitted[]
  /** What each key stands for. */
  readonly keys: Map<string, Omit<TenantIdentity, 'keyId'>>
  /** Greeted, and having greeted. */
  open(from?: string): Promise<RawClient>
  metrics(): Promise<string>
}

export async function start(
  o: Partial<Pick<SubmissionDeps, 'authenticateKey' | 'disk' | 'submit' | 'limits'>> & {
    readonly host?: string
  } = {},
): Promise<Started> {
  const taken: Submitted[] = []
  const keys: Started['keys'] = new Map([
    ['one', { tenantId: 'tn_one', scopes: [] }],
    ['other', { tenantId: 'tn_other', scopes: ['send'] }],
  ])
  const metrics = createMetrics()
  const { host = '127.0.0.1', ...given } = o
  const submission = createSubmission({
    clock: createClock(),
    log: createLogger({ level: 'silent' }),
    metrics,
    disk: noDiskGuard,
    ehloName: 'mx.postrider.test',
    authenticateKey: (key) => {
      const found = keys.get(key)
      return found && { keyId: key, ...found }
    },
    async submit(submitted) {
      taken.push({ ...submitted, raw: Buffer.from(submitted.raw) })
      return { kind: 'accepted', refId: newUlid() }
    },
    rawReader: { name: 'none', start: async () => undefined, stop: async () => undefined },
    certificateHost: 'mx.postrider.test',
    isListening: true,
    config: {
      ...{ host, dataDir, inboundTlsCert: undefined, inboundTlsKey: undefined },
      ...{ submissionPort: 0, submissionTlsPort: 0, inboundHost: 'mx.postrider.test' },
      ...{ submissionPublicPort: undefined, submissionPublicTlsPort: undefined },
    },
    ...given,
  })
  for (const service of submission.services) await service.start()
  ends.push(() => Promise.all(submission.services.map((service) => service.stop())))
  const [port = 0, tlsPort = 0] = submission.addresses().map((address) => address.port)
  return {
    ...{ port, tlsPort, taken, keys },
    async open(from) {
      const client = createRawClient(port, host, from)
      ends.push(() => client.close())
      await client.see(/^220 .*\r\n/)
      await client.ask('EHLO client.test')
      return client
    },
    metrics: () => metrics.registry.metrics(),
  }
}

export const plain = (key: string) =>
  `AUTH PLAIN ${Buffer.from(`\0any\0${key}`).toString('base64')}`
export const base64 = (text: string) => Buffer.from(text).toString('base64')

export async function logIn({ open }: Started, key = 'one', from?: string): Promise<RawClient> {
  const client = await open(from)
  expect(await client.ask(plain(key))).toMatch(/^235 /)
  return client
}

/** Up to the 354. */
export async function begin(client: RawClient, command = 'DATA'): Promise<void> {
  await client.ask('MAIL FROM:<news@sender.test>')
  await client.ask('RCPT TO:<ada@example.test>')
  if (command === 'DATA') await client.ask(command)
}

export async function overTls(client: RawClient): Promise<RawClient> {
  expect(await client.ask('STARTTLS')).toMatch(/^220 /)
  const secure = await client.startTls({ rejectUnauthorized: false })
  await secure.ask('EHLO client.test')
  return secure
}

export const RAW = 'From: news@sender.test\r\n\r\nHello\r\n'
