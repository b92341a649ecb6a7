/**
 * The operations of inbound routing behind the real HTTP application, with a name server and a webhook
 * receiver on loopback. The clock stands still; everything that is answered or logged is in `seen`.
 */

import {
  configureInboundRoutingAnswer,
  createInboundUsernameAnswer,
  deleteInboundDomainAnswer,
  deleteInboundUsernameAnswer,
  getInboundDomainAnswer,
  getInboundUsernameAnswer,
  type InboundDomain,
  type InboundUsername,
  listInboundDomainsAnswer,
  listInboundUsernamesAnswer,
  type OperationId,
  operations,
  updateInboundDomainAnswer,
  updateInboundUsernameAnswer,
} from '@postrider/contract'
import { createDnsResolver } from '@postrider/runtime/dns'
import {
  createClock,
  createDnsServer,
  createWebhookReceiver,
  type DnsServer,
  type TestClock,
  type WebhookReceiver,
} from '@postrider/testkit'
import { expect } from 'vitest'
import { createRouteFinder, type RouteFinder } from '../src/inbound/domains/find-routes.ts'
import {
  createDomainProver,
  type DomainProver,
  type DomainProverDeps,
} from '../src/inbound/domains/ownership/prove-domain.ts'
import { type InboundRoutesDeps, inboundRoutes } from '../src/inbound/domains/routes.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createRateLimit } from '../src/platform/limits/rate-limit.ts'
import { createReturnPathTokens } from '../src/sending/index.ts'
import { createSendingDatabase } from './sending.ts'
import { type Answer, type CallOptions, createTestApi, type Key } from './test-api.ts'
import { createTestEgress, testKeyRing, testLimiter, testReceivers } from './webhook-api.ts'

const returnPaths = createReturnPathTokens(testKeyRing)

const ANSWERS = {
  configureInboundRouting: configureInboundRoutingAnswer,
  listInboundDomains: listInboundDomainsAnswer,
  getInboundDomain: getInboundDomainAnswer,
  updateInboundDomain: updateInboundDomainAnswer,
  deleteInboundDomain: deleteInboundDomainAnswer,
  createInboundUsername: createInboundUsernameAnswer,
  listInboundUsernames: listInboundUsernamesAnswer,
  getInboundUsername: getInboundUsernameAnswer,
  updateInboundUsername: updateInboundUsernameAnswer,
  deleteInboundUsername: deleteInboundUsernameAnswer,
} as const satisfies Partial<Record<OperationId, unknown>>
export type InboundOperation = keyof typeof ANSWERS

export interface InboundWorld {
  readonly db: Db
  readonly clock: TestClock
  readonly dns: DnsServer
  readonly receiver: WebhookReceiver
  /** That looks nothing up. */
  readonly finder: RouteFinder
  /** Before a clock that stands still, if no other is given. */
  prover(o?: Partial<DomainProverDeps>): DomainProver
  readonly seen: string[]
  /** Ids of webhooks whose streams were woken. */
  readonly woken: string[]
  /** What succeeds is held against the contract. */
  call(id: InboundOperation, o?: CallOptions): Promise<Answer>
  /** The same in a service that is made otherwise. */
  callWith(
    change: Partial<InboundRoutesDeps>,
    id: InboundOperation,
    o?: CallOptions,
  ): Promise<Answer>
  url(path?: string): string
  configure(
    domain: string,
    o?: { readonly key?: Key; readonly body?: object },
  ): Promise<InboundDomain>
  /** Checked on the way while it is not verified. */
  get(domain: string, key?: Key): Promise<InboundDomain>
  /** Publishes the records, all of them or those of one type. */
  publish(domain: InboundDomain, type?: 'TXT' | 'MX'): void
  /** Configured, published and verified. */
  configureVerified(domain: string, o?: { readonly key?: Key }): Promise<InboundDomain>
  addUsername(domain: string, body: object, o?: { readonly key?: Key }): Promise<InboundUsername>
  /** Everything is gone. */
  clear(): Promise<void>
  close(): Promise<void>
}

export const INBOUND_HOST = 'mx.example.net'

export async function createInboundWorld(
  o: { readonly checksMax?: number } = {},
): Promise<InboundWorld> {
  const database = await createSendingDatabase()
  const { db } = database
  const dnsServer = await createDnsServer()
  const receiver = await createWebhookReceiver()
  const clock = createClock(new Date())
  const egress = createTestEgress()
  const dns = createDnsResolver({ servers: [dnsServer.address], tryMs: 200 })
  const woken: string[] = []
  const { log, seen, createApp, call } = createTestApi<InboundOperation>(ANSWERS)
  const limit = createRateLimit({ name: 'test', usesMax: o.checksMax ?? 10_000, windowS: 60 })
  const deps: InboundRoutesDeps = {
    db,
    dns,
    clock,
    log,
    keyRing: testKeyRing,
    receivers: testReceivers(egress),
    wakeups: { wake: (streams) => woken.push(...streams.map(({ webhookId }) => webhookId)) },
    inboundHost: INBOUND_HOST,
    verifications: { limit, limiter: testLimiter },
  }
  const app = createApp()
  inboundRoutes(app, deps)
  await app.ready()
  const succeed = async (id: InboundOperation, o: CallOptions) => {
    const { status, body } = await world.call(id, o)
    expect({ id, status, body }).toMatchObject({ id, status: operations[id].status })
    return body
  }

  const world: InboundWorld = {
    db,
    clock,
    dns: dnsServer,
    receiver,
    finder: createRouteFinder({ returnPaths, db, prover: { prove: async () => 'unproven' } }),
    prover: (o = {}) => createDomainProver({ ...deps, monotonicMs: () => 0, ...o }),
    seen,
    woken,
    call: (id, o) => call(app, id, o),
    async callWith(change, id, o) {
      const other = createApp()
      inboundRoutes(other, { ...deps, ...change })
      try {
        return await call(other, id, o)
      } finally {
        await other.close()
      }
    },
    url: (path = 'inbound') => `${receiver.origin}/${path}`,
    configure: async (domain, { key = 'a', body = {} } = {}) =>
      (
        await succeed('configureInboundRouting', {
          key,
          body: { domain, url: world.url(), ...body },
        })
      ).inbound_domain,
    get: async (domain, key = 'a') =>
      (await succeed('getInboundDomain', { key, domain })).inbound_domain,
    publish({ records }, type) {
      dnsServer.publish(records.filter((record) => type === undefined || record.type === type))
    },
    async configureVerified(domain, o = {}) {
      world.publish(await world.configure(domain, o))
      const verified = await world.get(domain, o.key)
      expect(verified.verified).toBe(true)
      return verified
    },
    addUsername: async (domain, body, { key = 'a' } = {}) =>
      (await succeed('createInboundUsername', { key, domain, body })).inbound_username,
    async clear() {
      for (const table of [
        'inbound_domain',
        'domains_ownership',
        'domains_domain',
        'webhooks_pending',
        'webhooks_stream',
        'webhooks_subscription',
      ])
        await db.query(`delete from ${table}`)
      dnsServer.clear()
      dnsServer.setScript(undefined)
      woken.length = 0
    },
    async close() {
      await app.close()
      dns.close()
      await egress.close()
      await receiver.close()
      await dnsServer.close()
      await database.close()
    },
  }
  return world
}
