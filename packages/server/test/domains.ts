/**
 * The operations on sending domains and relays behind the real HTTP application, with both providers
 * and a name server on loopback, and the work that the janitor does on domains. The clock stands
 * still; everything that is answered or logged is kept in `seen`.
 */
import {
  addDomainAnswer,
  type Domain,
  type DomainVerification,
  deleteDomainAnswer,
  domainVerification,
  getDomainAnswer,
  listDomainsAnswer,
  type OperationId,
  type RelayKind,
  rotateDomainKeyAnswer,
  updateDomainAnswer,
  verifyDomainAnswer,
} from '@postrider/contract'
import { createDnsResolver } from '@postrider/runtime/dns'
import {
  createClock,
  createDnsServer,
  createSendGridServer,
  createSparkPostServer,
  type DnsServer,
  type SendGridServer,
  type SparkPostServer,
  type TestClock,
} from '@postrider/testkit'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { expect } from 'vitest'
import { createDomainWork, type DomainWorkDeps } from '../src/domains/check/worker.ts'
import { type DomainRoutesDeps, domainRoutes } from '../src/domains/routes.ts'
import { listDomainsOfRelay } from '../src/mailers/index.ts'
import type { Db } from '../src/platform/db/index.ts'
import type { Egress } from '../src/platform/egress/index.ts'
import { createRateLimit } from '../src/platform/limits/rate-limit.ts'
import type { PeriodicTask } from '../src/platform/work/periodic-task.ts'
import { adapterOf, createRelayCalls } from '../src/relays/index.ts'
import { relayRoutes } from '../src/relays/routes.ts'
import { BODY_JSON } from '../src/webhooks/events/short-body.ts'
import { emptyTables } from './empty-tables.ts'
import { createSendingDatabase } from './sending.ts'
import { type Answer, type CallOptions, createTestApi, type Key } from './test-api.ts'
import { createTestEgress, testKeyRing, testLimiter } from './webhook-api.ts'

const ANSWERS = {
  addDomain: addDomainAnswer,
  getDomain: getDomainAnswer,
  listDomains: listDomainsAnswer,
  verifyDomain: verifyDomainAnswer,
  deleteDomain: deleteDomainAnswer,
  rotateDomainKey: rotateDomainKeyAnswer,
  updateDomain: updateDomainAnswer,
} as const satisfies Partial<Record<OperationId, unknown>>
export type DomainOperation = keyof typeof ANSWERS

export interface DomainWorld {
  readonly db: Db
  readonly clock: TestClock
  readonly dns: DnsServer
  readonly sparkpost: SparkPostServer
  readonly sendgrid: SendGridServer
  readonly seen: string[]
  /** Mailers whose mail was woken, and how often webhooks were. */
  readonly wokenMail: string[]
  readonly wokenStreams: string[]
  /** What the janitor does; another one is another process. */
  readonly work: PeriodicTask
  createWork(change?: Partial<DomainWorkDeps>): PeriodicTask
  /** What succeeds is held against the contract. */
  call(id: DomainOperation, o?: CallOptions): Promise<Answer>
  /** The same in a service that is made otherwise. */
  callWith(change: Partial<DomainRoutesDeps>, id: DomainOperation, o?: CallOptions): Promise<Answer>
  configureRelay(kind: 'sparkpost' | 'sendgrid' | 'simulator', key?: Key): Promise<void>
  /** Added by the relay that there is, or by the one that is named. */
  add(domain: string, o?: { readonly key?: Key; readonly body?: object }): Promise<Domain>
  get(domain: string, key?: Key): Promise<Domain>
  verify(domain: string, key?: Key): Promise<Domain>
  /** Added, published and verified. */
  addVerified(domain: string, o?: { readonly key?: Key; readonly body?: object }): Promise<Domain>
  /** Publishes the records, all of them or those that fit. */
  publish(domain: Domain, fits?: (record: Domain['records'][number]) => boolean): void
  /** Everything that waits for its time is due, and is done. */
  workAll(): Promise<void>
  /** Bodies of DOMAIN_VERIFICATION, as recorded, in order. */
  events(tenantId?: string): Promise<DomainVerification[]>
  /** Everything is gone, also at new providers. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function createDomainWorld(
  o: { readonly verificationsMax?: number } = {},
): Promise<DomainWorld> {
  const database = await createSendingDatabase()
  const { db } = database
  const dnsServer = await createDnsServer()
  const providers = async () => ({
    sparkpost: await createSparkPostServer({ dnsServer: dnsServer.address }),
    sendgrid: await createSendGridServer({ dnsServer: dnsServer.address }),
  })
  let { sparkpost, sendgrid } = await providers()
  const clock = createClock(new Date())
  const egress = createTestEgress()
  const dns = createDnsResolver({ servers: [dnsServer.address], tryMs: 200 })
  const wokenMail: string[] = []
  const wokenStreams: string[] = []
  const { log, seen, createApp, call } = createTestApi<DomainOperation>(ANSWERS)
  const deps: DomainRoutesDeps & DomainWorkDeps = {
    ...{ db, keyRing: testKeyRing, dns, clock, log },
    relays: createRelayCalls({ egress, clock, adapterOf, deliverCallback: async () => undefined }),
    random: () => 0.5,
    wakeups: { wake: (streams) => wokenStreams.push(...streams.map(({ webhookId }) => webhookId)) },
    wakeMail: ({ mailerId }) => wokenMail.push(mailerId),
    checks: boundsOf(1_000),
    verifications: boundsOf(o.verificationsMax ?? 1_000),
    observe: () => undefined,
  }
  const app = createApp()
  addRelayRoutes(app, deps, egress)
  domainRoutes(app, deps)
  await app.ready()
  const work = createDomainWork(deps)
  return {
    ...{ db, clock, dns: dnsServer, seen, wokenMail, wokenStreams, work },
    get sparkpost() {
      return sparkpost
    },
    get sendgrid() {
      return sendgrid
    },
    createWork: (change = {}) => createDomainWork({ ...deps, ...change }),
    ...callsOf((id, given) => call(app, id, given), dnsServer),
    async callWith(change, id, given) {
      const other = createApp()
      domainRoutes(other, { ...deps, ...change })
      await other.ready()
      try {
        return await call(other, id, given)
      } finally {
        await other.close()
      }
    },
    configureRelay: (kind, key = 'a') =>
      configureRelay(app, kind, kind === 'sparkpost' ? sparkpost : sendgrid, key),
    async workAll() {
      await db.query('update domains_domain set due_at = now(), busy_until = null')
      await work.runOnce()
    },
    events: (tenantId = 'tn_a') => readEvents(db, tenantId),
    async clear() {
      await emptyTables(
        db,
        'domains_domain',
        'domains_ownership',
        'mailers_mailer',
        'relays_account',
        'webhooks_event',
      )
      dnsServer.clear()
      dnsServer.setScript(undefined)
      await sparkpost.close()
      await sendgrid.close()
      ;({ sparkpost, sendgrid } = await providers())
      seen.length = wokenMail.length = wokenStreams.length = 0
    },
    async close() {
      await app.close()
      dns.close()
      await egress.close()
      await sparkpost.close()
      await sendgrid.close()
      await dnsServer.close()
      await database.close()
    },
  }
}

function boundsOf(usesMax: number) {
  return { limit: createRateLimit({ name: 'test', usesMax, windowS: 60 }), limiter: testLimiter }
}

function addRelayRoutes(
  app: FastifyInstance,
  { db, keyRing, checks }: Pick<DomainRoutesDeps, 'db' | 'keyRing' | 'checks'>,
  egress: Egress,
): void {
  relayRoutes(app, {
    ...{ db, keyRing, egress, adapterOf, checks },
    publicUrl: 'https://mail.example.com',
    domainsOf: (key, limit) => listDomainsOfRelay(db, key, limit),
    onChanged: async () => () => undefined,
  })
}

async function configureRelay(
  app: FastifyInstance,
  kind: RelayKind,
  { apiKey, apiBase }: SparkPostServer | SendGridServer,
  key: Key,
): Promise<void> {
  const response = await app.inject({
    method: 'PUT',
    url: `/v1/relay/${kind}`,
    headers: { authorization: `Bearer ${key}` },
    payload: kind === 'simulator' ? {} : { api_key: apiKey, api_base: apiBase },
  })
  expect([response.statusCode, response.payload]).toEqual([200, expect.anything()])
}

/** The operations on one domain, which succeed. */
function callsOf(
  call: DomainWorld['call'],
  dns: DnsServer,
): Pick<DomainWorld, 'call' | 'add' | 'get' | 'verify' | 'addVerified' | 'publish'> {
  const named = (domain: string, key: Key | undefined) => ({
    domain,
    ...(key === undefined ? {} : { key }),
  })
  const add: DomainWorld['add'] = async (domain, { key, body = {} } = {}) => {
    const by = key === undefined ? {} : { key }
    const answer = await call('addDomain', { ...by, body: { domain, ...body } })
    expect(answer).toMatchObject({ status: 201 })
    return answer.body.domain
  }
  const verify: DomainWorld['verify'] = async (domain, key) => {
    const answer = await call('verifyDomain', named(domain, key))
    expect(answer).toMatchObject({ status: 200 })
    return answer.body.domain
  }
  const publish: DomainWorld['publish'] = (domain, fits = () => true) =>
    dns.publish(domain.records.filter(fits))
  return {
    call,
    add,
    async get(domain, key) {
      const answer = await call('getDomain', named(domain, key))
      expect(answer).toMatchObject({ status: 200 })
      return answer.body.domain
    },
    verify,
    async addVerified(name, given = {}) {
      publish(await add(name, given))
      const domain = await verify(name, given.key)
      expect(domain).toMatchObject({ verified: true, state: 'verified' })
      return domain
    },
    publish,
  }
}

async function readEvents(db: Db, tenantId: string): Promise<DomainVerification[]> {
  const { rows } = await db.query<{ body: string }>(
    `select ${BODY_JSON} as body from webhooks_event where tenant_id = $1 and event = 'DOMAIN_VERIFICATION'
      order by event_at, event_id`,
    [tenantId],
  )
  const events = rows.map(({ body }) => JSON.parse(body) as DomainVerification)
  for (const event of events) expect(Check(domainVerification, event)).toBe(true)
  return events
}
