/**
 * What is looked up when mail for a domain arrives that nobody has proven
 * (docs/reference/inbound.md#ownership).
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failingOnce } from '../../../../test/failing-once.ts'
import {
  createInboundWorld,
  INBOUND_HOST,
  type InboundWorld,
} from '../../../../test/inbound-world.ts'
import { testKeyRing } from '../../../../test/webhook-api.ts'
import { createReturnPathTokens } from '../../../sending/index.ts'
import { createRouteFinder } from '../find-routes.ts'
import { AGAIN_AFTER_MS, LOOKUPS_AT_ONCE_MAX } from './prove-domain.ts'

const returnPaths = createReturnPathTokens(testKeyRing)

let world: InboundWorld
beforeAll(async () => {
  world = await createInboundWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'in.example.com'
const PROOF = `_postrider.${NAME}`
const holder = async () =>
  (await world.db.query<{ tenant_id: string }>('select * from inbound_ownership')).rows[0]
    ?.tenant_id
const publishMx = (name = NAME) => world.dns.set(name, 'MX', [`10 ${INBOUND_HOST}`])
/** How often each record of a name is asked for from here on. */
function counting() {
  const before = world.dns.questions.length
  return (name = NAME) =>
    world.dns.questions
      .slice(before)
      .filter(({ name: asked, type }) => asked === name && ['MX', 'TXT'].includes(type)).length
}

describe('a domain that is configured but not proven', () => {
  it.each(['TXT', 'MX'] as const)(
    '[3.5] accepts the first mail after its %s was published',
    async (type) => {
      const domain = await world.configure(NAME)
      world.publish(domain, type)
      const finder = createRouteFinder({ returnPaths, db: world.db, prover: world.prover() })
      expect(await finder.find(`a@${NAME}`)).toMatchObject({
        kind: 'route',
        route: { tenantId: 'tn_a', owner: `${NAME}/` },
      })
      expect(await world.get(NAME)).toMatchObject({ state: 'verified' })
    },
  )

  it('[3.5] has no route while nothing is published or no name server answers', async () => {
    await world.configure(NAME)
    const find = () =>
      createRouteFinder({ returnPaths, db: world.db, prover: world.prover() }).find(`a@${NAME}`)
    expect(await find()).toEqual({ kind: 'unproven_domain' })
    world.dns.setScript(() => ({ rcode: 2 }))
    expect(await find()).toEqual({ kind: 'unsure_domain' })
  })

  it('[7.4] belongs to the tenant that its TXT record names, however many configured it before', async () => {
    await world.configure(NAME)
    await world.db.query(
      `insert into inbound_domain (tenant_id, domain, id, ownership_token, created_at)
       select 'tn_' || i, $1, i::text, i::text, '2020-01-01' from generate_series(1, 50) i`,
      [NAME],
    )
    const other = await world.configure(NAME, { key: 'b' })
    publishMx()
    expect(await world.prover().prove(NAME)).toBe('unproven')
    world.publish(other, 'TXT')
    expect(await world.prover().prove(NAME)).toBe('proven')
    expect(await holder()).toBe('tn_b')
  })

  it('defers mail right after its deletion, and does not refuse it', async () => {
    world.publish(await world.configure(NAME), 'MX')
    const finder = createRouteFinder({ returnPaths, db: world.db, prover: world.prover() })
    expect(await finder.find(`a@${NAME}`)).toMatchObject({ kind: 'route' })
    await world.call('deleteInboundDomain', { domain: NAME })
    await world.configure(NAME, { key: 'b' })
    await world.db.query('delete from inbound_ownership')
    await world.db.query('update inbound_domain set verified_at = null')
    expect(await finder.find(`a@${NAME}`)).toEqual({ kind: 'unsure_domain' })
  })

  it('is looked up with two questions, however many ask', async () => {
    await world.configure(NAME)
    await world.configure(NAME, { key: 'b' })
    const asked = counting()
    const prover = world.prover()
    await Promise.all(Array.from({ length: 50 }, () => prover.prove(NAME)))
    expect([asked(NAME), asked(PROOF)]).toEqual([1, 1])
  })

  it('is looked up once in ten seconds', async () => {
    await world.configure(NAME)
    let nowMs = 0
    const asked = counting()
    const prover = world.prover({ monotonicMs: () => nowMs })
    expect(await prover.prove(NAME)).toBe('unproven')
    publishMx()
    nowMs = AGAIN_AFTER_MS - 1
    expect(await prover.prove(NAME)).toBe('unproven')
    expect(asked()).toBe(1)
    nowMs = AGAIN_AFTER_MS
    expect(await prover.prove(NAME)).toBe('proven')
  })

  it('[I11] defers mail while many others are looked up, and when name servers are silent', async () => {
    const names = Array.from({ length: LOOKUPS_AT_ONCE_MAX + 1 }, (_, i) => `in${i}.example.com`)
    for (const name of names) await world.configure(name)
    const silence = Promise.withResolvers<void>()
    world.dns.setScript(() => ({ rcode: 2, after: silence.promise }))
    const asked = counting()
    const prover = world.prover({ lookUpMsMax: 20 })
    const answers = await Promise.all(names.map((name) => prover.prove(name)))
    expect(new Set(answers)).toEqual(new Set(['unknown']))
    expect(asked(names.at(-1))).toBe(0)
    silence.resolve()
  })

  it('defers mail when the database fails', async () => {
    await world.configure(NAME)
    const { db } = failingOnce(world.db, 1, '57014')
    expect(await world.prover({ db }).prove(NAME)).toBe('unknown')
  })
})

it('does not look up a domain that nobody has configured', async () => {
  const asked = counting()
  const finder = createRouteFinder({ returnPaths, db: world.db, prover: world.prover() })
  expect(await finder.find('a@elsewhere.example.com')).toEqual({ kind: 'unknown_domain' })
  expect(asked('elsewhere.example.com')).toBe(0)
})
