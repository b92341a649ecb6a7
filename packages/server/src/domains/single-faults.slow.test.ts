/**
 * [D7] Each statement of an operation on domains fails once, as databases fail. Whatever it was,
 * domain, mailer, ownership and event agree at every moment, and what was begun at the provider is gone on
 * with or begun anew.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../test/domains.ts'
import { failingOnce } from '../../test/failing-once.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'mail.example.com'
const STATEMENTS_MAX = 60

/** The rows that have to agree. */
async function expectAgreement(where: string): Promise<void> {
  const { rows } = await world.db.query(
    `select d.domain, d.stage, d.mailer_id, m.mailer_id as mailer, m.domain_verified,
            d.verified_at is not null as verified, c.tenant_id as owned_by
       from domains_domain d
       full join mailers_mailer m on m.tenant_id = d.tenant_id and m.mailer_id = d.mailer_id
       left join domains_ownership c on c.domain = d.domain`,
  )
  for (const row of rows as Record<string, unknown>[]) {
    expect(row.domain, where).toBe(NAME)
    if (row.stage === 'deleting') expect(row, where).toMatchObject({ mailer: null, owned_by: null })
    else
      expect(row, where).toMatchObject({
        mailer: row.mailer_id,
        domain_verified: row.verified,
        ...(row.verified === true ? { owned_by: 'tn_a' } : {}),
      })
  }
}

/** Of the n-th statement, for every n there is; `play` answers the status. */
async function failEach(
  play: (fault: { readonly db: DomainWorld['db'] }) => Promise<number>,
  check: (status: number, where: string) => Promise<void>,
): Promise<void> {
  for (let n = 1; ; n++) {
    if (n > STATEMENTS_MAX) throw new Error('no end of statements')
    await world.clear()
    await world.configureRelay('sparkpost')
    const { db, seen } = failingOnce(world.db, n, '40001', { isEvery: true })
    const status = await play({ db })
    const where = `statement ${n}: ${status}`
    await expectAgreement(where)
    await check(status, where)
    await expectAgreement(where)
    if (!seen.hasFailed) {
      expect(status).toBeLessThan(300)
      expect(n).toBeGreaterThan(2)
      return
    }
    expect(status, where).toBeGreaterThanOrEqual(500)
  }
}

describe('[D7] a statement that fails', () => {
  it('a statement that fails in addDomain leaves nothing, or a creation that continues', async () => {
    await failEach(
      async (fault) => {
        const body = { domain: NAME }
        return (await world.callWith(fault, 'addDomain', { body })).status
      },
      async (status, where) => {
        await world.workAll()
        const { body, ...found } = await world.call('getDomain', { domain: NAME })
        if (status < 300 || found.status === 200)
          expect(body.domain, where).toMatchObject({ state: 'pending' })
        else await world.add(NAME)
        const domain = await world.get(NAME)
        expect(world.sparkpost.domains.find(NAME)?.dkim.selector, where).toBe(domain.selector)
      },
    )
  })

  it('a statement that fails in verifyDomain changes and reports nothing; the next call does both', async () => {
    await failEach(
      async (fault) => {
        world.publish(await world.add(NAME))
        return (await world.callWith(fault, 'verifyDomain', { domain: NAME })).status
      },
      async (status, where) => {
        const isDone = status < 300
        expect((await world.get(NAME)).verified, where).toBe(isDone)
        expect(await world.events(), where).toHaveLength(isDone ? 1 : 0)
        expect(await world.verify(NAME), where).toMatchObject({ verified: true })
        expect(await world.events(), where).toHaveLength(isDone ? 2 : 1)
      },
    )
  })

  it('a statement that fails in deleteDomain leaves the domain whole, or deletes it everywhere', async () => {
    await failEach(
      async (fault) => {
        await world.addVerified(NAME)
        return (await world.callWith(fault, 'deleteDomain', { domain: NAME })).status
      },
      async (status, where) => {
        const { status: found } = await world.call('getDomain', { domain: NAME })
        if (status < 300) expect(found, where).toBe(404)
        if (found === 200) {
          expect(await world.verify(NAME), where).toMatchObject({ verified: true })
          expect(world.sparkpost.domains.all, where).toHaveLength(1)
          await world.call('deleteDomain', { domain: NAME })
        }
        await world.workAll()
        expect(world.sparkpost.domains.all, where).toEqual([])
        expect((await world.db.query('select 1 from domains_domain')).rows, where).toEqual([])
      },
    )
  })
})
