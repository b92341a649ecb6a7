/**
 * Whose an inbound domain is where several tenants have configured it (docs/reference/inbound.md#ownership):
 * an MX names no tenant, a TXT record names one.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createInboundWorld,
  INBOUND_HOST,
  type InboundWorld,
} from '../../../../test/inbound-world.ts'
import { addMailer } from '../../../../test/sending.ts'
import type { Key } from '../../../../test/test-api.ts'
import { testKeyRing } from '../../../../test/webhook-api.ts'
import { createReturnPathTokens } from '../../../sending/index.ts'
import { UNVERIFIED_MAX } from '../configure-routing.ts'
import { createRouteFinder } from '../find-routes.ts'

const returnPaths = createReturnPathTokens(testKeyRing)

let world: InboundWorld
beforeAll(async () => {
  world = await createInboundWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'in.example.com'
const codeOf = ({ status, body }: { status: number; body: { code: string } }) => [status, body.code]
const get = (key: Key = 'a', domain = NAME) => world.call('getInboundDomain', { key, domain })
const holders = async () =>
  (await world.db.query<{ tenant_id: string }>('select tenant_id from inbound_ownership')).rows.map(
    ({ tenant_id }) => tenant_id,
  )
/** Whose mail for the domain is, found as the listener finds it. */
async function receiver(local = 'a', name = NAME) {
  const finder = createRouteFinder({ returnPaths, db: world.db, prover: world.prover() })
  const found = await finder.find(`${local}@${name}`)
  return found.kind === 'route' ? found.route.tenantId : found.kind
}
const logged = (line: string, tenantId: string) =>
  world.seen.some((seen) => seen.includes(line) && seen.includes(`"tenant_id":"${tenantId}"`))

describe('[7.4] an MX alone', () => {
  it('proves a domain that one tenant has configured', async () => {
    world.publish(await world.configure(NAME), 'MX')
    expect(await receiver()).toBe('tn_a')
  })

  it.each(['a', 'b'] as const)(
    'proves a domain for neither of two tenants, whoever asks first: %s',
    async (first) => {
      const own = await world.configure(NAME)
      await world.configure(NAME, { key: 'b' })
      world.publish(own, 'MX')
      for (const key of [first, first === 'a' ? 'b' : 'a'] as const)
        expect(await world.get(NAME, key)).toMatchObject({
          verified: false,
          state: 'pending',
          records: [
            { type: 'MX', status: 'valid', required: true },
            { type: 'TXT', status: 'pending', required: true },
          ],
        })
      expect(await receiver()).toBe('unproven_domain')
      expect(await holders()).toEqual([])
      expect(logged('inbound_domain.mx_not_enough', 'tn_a')).toBe(true)
    },
  )

  it('proves nothing for a tenant that configures the name again to come first', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.configure(NAME, { key: 'b' })
    await world.call('deleteInboundDomain', { key: 'b', domain: NAME })
    await world.configure(NAME, { key: 'b' })
    expect(await receiver()).toBe('unproven_domain')
    await world.call('deleteInboundDomain', { key: 'b', domain: NAME })
    expect(await receiver()).toBe('tn_a')
  })

  it('proves nothing for another spelling of a name that another tenant has configured', async () => {
    world.publish(await world.configure('bücher.example.com'), 'MX')
    for (const spelling of ['BÜCHER.example.com.', 'XN--bcher-KVA.example.com']) {
      const { domain, verified } = await world.configure(spelling, { key: 'b' })
      expect({ domain, verified }).toEqual({ domain: 'xn--bcher-kva.example.com', verified: false })
      await world.call('deleteInboundDomain', { key: 'b', domain: spelling })
    }
  })

  it('proves nothing for a name below a proven domain of another tenant', async () => {
    await world.configureVerified(NAME)
    const below = await world.configure(`a.b.${NAME}`, { key: 'b' })
    world.publish(below, 'MX')
    expect(await world.get(below.domain, 'b')).toMatchObject({
      verified: false,
      records: [{ status: 'valid' }, { type: 'TXT', required: true }],
    })
    world.publish(await world.configure(`c.${NAME}`), 'MX')
    expect(await world.get(`c.${NAME}`)).toMatchObject({ verified: true })
    world.publish(below, 'TXT')
    expect(await world.get(below.domain, 'b')).toMatchObject({ verified: true })
  })

  it('proves a name above a proven domain of another tenant, which keeps it', async () => {
    await world.configureVerified(`a.${NAME}`)
    world.publish(await world.configure(NAME, { key: 'b' }), 'MX')
    expect(await world.get(NAME, 'b')).toMatchObject({ verified: true })
    expect(await receiver('x', `a.${NAME}`)).toBe('tn_a')
  })

  it('proves a domain for the first of many tenants that configure it at once, and no other', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.call('deleteInboundDomain', { domain: NAME })
    const keys: Key[] = ['a', 'b', 'a', 'b', 'a', 'b']
    const answers = await Promise.all(
      keys.map(async (key) => {
        const body = { domain: NAME, url: world.url() }
        const answer = await world.call('configureInboundRouting', { key, body })
        return { key, answer }
      }),
    )
    const made = answers.filter(({ answer }) => answer.status === 201)
    expect(made.map(({ key }) => `tn_${key}`).sort()).toEqual(['tn_a', 'tn_b'])
    const verified = made.filter(({ answer }) => answer.body.inbound_domain.verified)
    expect(await holders()).toEqual(verified.map(({ key }) => `tn_${key}`))
    expect(verified).toHaveLength(1)
    for (const { answer } of answers) expect([201, 409]).toContain(answer.status)
  })
})

describe('[7.4] a TXT record', () => {
  it('proves a domain for the tenant that it names, even if another was first', async () => {
    world.publish(await world.configure(NAME), 'MX')
    world.publish(await world.configure(NAME, { key: 'b' }), 'TXT')
    expect(await receiver()).toBe('tn_b')
    expect(codeOf(await get())).toEqual([409, 'domain_taken'])
  })

  it('takes over a domain that an MX has proven, at the next check', async () => {
    const first = await world.configure(NAME)
    world.publish(first, 'MX')
    expect(await receiver()).toBe('tn_a')
    const second = await world.configure(NAME, { key: 'b' })
    expect(second).toMatchObject({
      verified: false,
      state: 'taken',
      records: [{ type: 'MX' }, { type: 'TXT', status: 'pending', required: true }],
    })
    expect(await receiver()).toBe('tn_a')
    expect(await world.get(NAME)).toMatchObject({ verified: true, state: 'verified' })
    world.publish(second, 'TXT')
    expect(await world.get(NAME, 'b')).toMatchObject({ verified: true, state: 'verified' })
    expect(await receiver()).toBe('tn_b')
    expect(logged('inbound_domain.lost', 'tn_a')).toBe(true)
    expect(logged('inbound_domain.won', 'tn_b')).toBe(true)
    const { body } = await world.call('listInboundDomains')
    expect(body.inbound_domains).toMatchObject([
      { state: 'taken', verified: false, records: [{ status: 'pending' }, { required: true }] },
    ])
    expect(codeOf(await get())).toEqual([409, 'domain_taken'])
  })

  it('clears the return path of mailers of the tenant that loses the domain', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.get(NAME)
    const returnPath = `bounces@${NAME}`
    const { mailerId } = await addMailer(world.db, { returnPath })
    const { mailerId: kept } = await addMailer(world.db, { tenantId: 'tn_c', returnPath })
    const second = await world.configure(NAME, { key: 'b' })
    world.publish(second, 'TXT')
    await world.get(NAME, 'b')
    const paths = await world.db.query(
      'select mailer_id from mailers_mailer where return_path is not null',
    )
    expect(paths.rows).toEqual([{ mailer_id: kept }])
    const lost = world.seen.filter((line) => line.includes('inbound_domain.lost'))
    expect(lost.at(-1)).toContain(mailerId)
  })

  it('takes over a domain at its configuration when the record exists already', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.get(NAME)
    const second = await world.configure(NAME, { key: 'b' })
    world.publish(second, 'TXT')
    const body = { active: true }
    const updated = await world.call('updateInboundDomain', { key: 'b', domain: NAME, body })
    expect(updated.body.inbound_domain).toMatchObject({ verified: true })
    expect(await holders()).toEqual(['tn_b'])
  })

  it('takes nothing from a tenant whose own TXT record exists as well', async () => {
    const first = await world.configure(NAME)
    world.publish(first, 'MX')
    await world.get(NAME)
    const second = await world.configure(NAME, { key: 'b' })
    world.publish(first)
    world.publish(second, 'TXT')
    expect(codeOf(await get('b'))).toEqual([409, 'domain_taken'])
    expect(await receiver()).toBe('tn_a')
  })

  it('takes a domain over once with many concurrent checks', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.get(NAME)
    world.publish(await world.configure(NAME, { key: 'b' }), 'TXT')
    const keys: Key[] = ['a', 'b', 'b', 'a', 'b', 'a', 'b']
    const answers = await Promise.all(keys.map((key) => get(key)))
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    expect(await holders()).toEqual(['tn_b'])
  })

  it('gives a second tenant the domain while the first deletes it', async () => {
    world.publish(await world.configure(NAME), 'MX')
    await world.get(NAME)
    world.publish(await world.configure(NAME, { key: 'b' }), 'TXT')
    const [took, deleted] = await Promise.all([
      get('b'),
      world.call('deleteInboundDomain', { domain: NAME }),
    ])
    expect([took.status, deleted.status]).toEqual([200, 200])
    expect(await holders()).toEqual(['tn_b'])
  })
})

describe('[7.4] names that are not proven', () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}.example.com`)
  const insertUnproven = (count: number) =>
    world.db.query(
      `insert into inbound_domain (tenant_id, domain, id, ownership_token)
       select 'tn_a', name, name, name from unnest($1::text[]) name`,
      [names(count)],
    )

  it('are at most 100 for a tenant: 409 too_many_unverified', async () => {
    await insertUnproven(UNVERIFIED_MAX - 1)
    await world.configure('last.example.com')
    const body = { domain: 'more.example.com', url: world.url() }
    const refused = await world.call('configureInboundRouting', { body })
    expect(codeOf(refused)).toEqual([409, 'too_many_unverified'])
    expect(refused.body.message).toMatch(/100/)
    await world.configure('more.example.com', { key: 'b' })
    await world.call('deleteInboundDomain', { domain: 'last.example.com' })
    await world.configure('more.example.com')
  })

  it('do not block a name that is proven at its configuration', async () => {
    await insertUnproven(UNVERIFIED_MAX)
    world.dns.publish([{ type: 'MX', name: NAME, value: INBOUND_HOST, priority: 10 }])
    expect(await world.configure(NAME)).toMatchObject({ verified: true })
  })

  it('are at most 100 for a tenant with concurrent configurations', async () => {
    await insertUnproven(UNVERIFIED_MAX - 2)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        world.call('configureInboundRouting', {
          body: { domain: `at-once${i}.example.com`, url: world.url() },
        }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, 201, 409, 409, 409, 409, 409, 409])
  })
})

it('[7.4] clears the return path of mailers when its domain is deleted', async () => {
  await world.configureVerified(NAME)
  const { mailerId } = await addMailer(world.db, { returnPath: `bounces@${NAME}` })
  await world.call('deleteInboundDomain', { domain: NAME })
  const { rows } = await world.db.query(
    'select return_path from mailers_mailer where mailer_id = $1',
    [mailerId],
  )
  expect(rows).toEqual([{ return_path: null }])
  expect(world.seen.join('')).toContain('without_return_path')
})
