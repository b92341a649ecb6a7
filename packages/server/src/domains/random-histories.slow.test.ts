/**
 * What two tenants, two providers, name servers and the janitor do in any order, with faults: domain,
 * mailer, ownership and events agree after every step, and when all is well again and everything is
 * deleted, nothing is left.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../test/domains.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())

const NAME = 'mail.example.com'
const HOUR_MS = 3_600_000
const RUNS = 10
const TENANTS = ['a', 'b'] as const
type Tenant = (typeof TENANTS)[number]

/** What is told, by tenant, of domains that there were: by verifyDomain, and as the janitor finds it. */
interface Told {
  calls: number
}

const tenant = fc.constantFrom(...TENANTS)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), tenant }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('verify' as const), tenant }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rotate' as const), tenant }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('publish' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unpublish' as const), tenant }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('work' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('name servers fail' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('name servers work' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('provider fails' as const), tenant }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('answers get lost' as const), tenant }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('provider works' as const), tenant }) },
)
type Step = (typeof step extends fc.Arbitrary<infer S> ? S : never)['do']

const providerOf = (key: Tenant) => (key === 'a' ? world.sparkpost : world.sendgrid)
const call = (id: Parameters<DomainWorld['call']>[0], key: Tenant) =>
  world.call(id, { key, domain: NAME, ...(id === 'addDomain' ? { body: { domain: NAME } } : {}) })

async function publishedOf(key: Tenant) {
  const { status, body } = await call('getDomain', key)
  return status === 200 ? body.domain : undefined
}

async function take(what: Step, key: Tenant, told: Record<Tenant, Told>): Promise<void> {
  switch (what) {
    case 'add':
      expect([201, 409, 422]).toContain((await call('addDomain', key)).status)
      break
    case 'verify': {
      const { status } = await call('verifyDomain', key)
      expect([200, 404, 409, 422]).toContain(status)
      if (status === 200) told[key].calls += 1
      break
    }
    case 'delete':
      expect([200, 404]).toContain((await call('deleteDomain', key)).status)
      break
    case 'rotate':
      expect([200, 404, 409]).toContain((await call('rotateDomainKey', key)).status)
      break
    case 'publish': {
      const domain = await publishedOf(key)
      if (domain === undefined) break
      for (const { name, type } of domain.records) world.dns.remove(name, type)
      world.publish(domain)
      break
    }
    case 'unpublish':
      world.dns.clear()
      break
    case 'work':
      await world.workAll()
      world.clock.advance(3 * HOUR_MS)
      break
    case 'name servers fail':
      world.dns.setScript(() => ({ rcode: 2 }))
      break
    case 'name servers work':
      world.dns.setScript(undefined)
      break
    case 'provider fails':
      providerOf(key).setScript(() => ({ status: 503, json: {} }))
      break
    case 'answers get lost':
      providerOf(key).setScript(() => ({ isCarriedOut: true, ending: 'rst' }))
      break
    case 'provider works':
      providerOf(key).setScript(undefined)
      break
  }
}

interface Row {
  readonly tenant_id: string | null
  readonly stage: string | null
  readonly mailer_id: string | null
  readonly mailer: string | null
  readonly domain_verified: boolean | null
  readonly verified: boolean
  readonly owned_by: string | null
}

async function expectAgreement(told: Record<Tenant, Told>): Promise<void> {
  const { rows } = await world.db.query<Row>(
    `select d.tenant_id, d.stage, d.mailer_id, m.mailer_id as mailer, m.domain_verified,
            d.verified_at is not null as verified, c.tenant_id as owned_by
       from domains_domain d
       full join mailers_mailer m on m.tenant_id = d.tenant_id and m.mailer_id = d.mailer_id
       left join domains_ownership c on c.domain = d.domain`,
  )
  for (const row of rows) {
    if (row.stage === 'deleting') expect(row).toMatchObject({ mailer: null, verified: false })
    else expect(row).toMatchObject({ mailer: row.mailer_id, domain_verified: row.verified })
    if (row.verified) expect(row.owned_by).toBe(row.tenant_id)
  }
  expect(rows.filter(({ verified }) => verified).length).toBeLessThanOrEqual(1)
  for (const key of TENANTS) {
    const events = await world.events(`tn_${key}`)
    expect(events.length).toBeGreaterThanOrEqual(told[key].calls)
    const last = events.at(-1)
    const row = rows.find(({ tenant_id: id, stage }) => id === `tn_${key}` && stage !== 'deleting')
    // What was told last of a domain is what it is.
    if (row !== undefined && last?.details.mailer_id === row.mailer_id)
      expect(last?.details.verified).toBe(row.verified)
  }
}

it('keeps domains, mailers, ownership and events consistent over random histories', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
      async (steps) => {
        await world.clear()
        await world.configureRelay('sparkpost', 'a')
        await world.configureRelay('sendgrid', 'b')
        const told = { a: { calls: 0 }, b: { calls: 0 } }
        for (const { do: what, tenant: key } of steps) {
          await take(what, key, told)
          await expectAgreement(told)
        }
        world.dns.setScript(undefined)
        for (const key of TENANTS) {
          providerOf(key).setScript(undefined)
          await call('deleteDomain', key)
        }
        await world.workAll()
        for (const table of ['domains_domain', 'domains_ownership', 'mailers_mailer'])
          expect((await world.db.query(`select * from ${table}`)).rows).toEqual([])
        expect(world.sparkpost.domains.all).toEqual([])
      },
    ),
    { numRuns: RUNS },
  )
}, 300_000)
