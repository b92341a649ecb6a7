/**
 * [D7] Each statement of an operation on routes fails once, as databases fail. Whatever it was, domain,
 * claim, usernames and webhooks agree at every moment, and the next call does what this one could not.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failingOnce } from '../../../test/failing-once.ts'
import {
  createInboundWorld,
  type InboundOperation,
  type InboundWorld,
} from '../../../test/inbound-world.ts'

let world: InboundWorld
beforeAll(async () => {
  world = await createInboundWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'in.example.com'
const STATEMENTS_MAX = 60

/** The owners of all webhooks are the routes that have one, and verified is who has the claim. */
async function expectAgreement(where: string): Promise<void> {
  const { rows: routes } = await world.db.query<{ owner: string }>(
    `select domain || '/' as owner from inbound_domain
     union all select domain || '/' || username from inbound_username where has_webhook
     order by 1`,
  )
  const { rows: webhooks } = await world.db.query<{ owner: string }>(
    `select s.owner from webhooks_subscription s
       join webhooks_stream t on t.tenant_id = s.tenant_id and t.webhook_id = s.webhook_id
      order by 1`,
  )
  expect(webhooks, where).toEqual(routes)
  const { rows: verified } = await world.db.query(
    `select domain, tenant_id from inbound_domain where verified_at is not null order by 1`,
  )
  const { rows: claims } = await world.db.query(
    'select domain, tenant_id from inbound_ownership order by 1',
  )
  expect(claims, where).toEqual(verified)
  // A username that has headers alone follows its domain.
  const { rows: apart } = await world.db.query(
    `select u.username from inbound_username u
       join webhooks_subscription own on own.owner = u.domain || '/' || u.username
       join webhooks_subscription d on d.owner = u.domain || '/'
      where u.url is null and own.url <> d.url`,
  )
  expect(apart, where).toEqual([])
}

async function failEach(
  id: InboundOperation,
  o: {
    readonly prepare: () => Promise<unknown>
    readonly body?: object
    /** Whether what was asked for is so. */
    readonly isDone: () => Promise<boolean>
  },
): Promise<void> {
  const call = {
    domain: NAME,
    username: 'support',
    ...(o.body === undefined ? {} : { body: o.body }),
  }
  for (let n = 1; ; n++) {
    if (n > STATEMENTS_MAX) throw new Error('no end of statements')
    await world.clear()
    await o.prepare()
    const { db, seen } = failingOnce(world.db, n, '40001', { isEvery: true })
    const { status } = await world.callWith({ db }, id, call)
    const where = `${id}, statement ${n}: ${status}`
    await expectAgreement(where)
    expect(await o.isDone(), where).toBe(status < 300)
    if (!seen.hasFailed) {
      expect(status, where).toBeLessThan(300)
      expect(n).toBeGreaterThan(2)
      return
    }
    expect(status, where).toBeGreaterThanOrEqual(500)
    expect((await world.call(id, call)).status, where).toBeLessThan(300)
    expect(await o.isDone(), where).toBe(true)
    await expectAgreement(where)
  }
}

const count = async (table: string, where = 'true') =>
  (await world.db.query(`select 1 from ${table} where ${where}`)).rowCount

describe('[D7] a statement that fails', () => {
  it('a statement that fails in configureInboundRouting leaves nothing; the next call makes the domain', async () => {
    await failEach('configureInboundRouting', {
      prepare: async () => world.dns.set(NAME, 'MX', ['10 mx.example.net']),
      body: { domain: NAME, url: world.url(), headers: { 'X-A': 'a' } },
      isDone: async () => (await count('inbound_domain')) === 1,
    })
  })

  it('a statement that fails in getInboundDomain proves nothing; the next call does', async () => {
    await failEach('getInboundDomain', {
      prepare: async () => world.publish(await world.configure(NAME)),
      isDone: async () => (await count('inbound_ownership')) === 1,
    })
  })

  it('a statement that fails in getInboundDomain of a domain that changes hands leaves it with its tenant', async () => {
    await failEach('getInboundDomain', {
      prepare: async () => {
        await world.configureVerified(NAME, { key: 'b' })
        world.dns.clear()
        world.publish(await world.configure(NAME), 'TXT')
      },
      isDone: async () => (await count('inbound_ownership', `tenant_id = 'tn_a'`)) === 1,
    })
  })

  const withUsernames = async () => {
    world.publish(await world.configure(NAME))
    await world.addUsername(NAME, { username: 'support', headers: { 'X-A': 'a' } })
    await world.addUsername(NAME, { username: 'own', url: world.url('own') })
    world.woken.length = 0
  }

  it('a statement that fails in updateInboundDomain changes nothing; the next call changes all', async () => {
    await failEach('updateInboundDomain', {
      prepare: withUsernames,
      body: { url: world.url('moved'), headers: { 'X-B': 'b' } },
      isDone: async () => (await count('webhooks_subscription', `url like '%/moved'`)) === 2,
    })
  })

  it('a statement that fails in deleteInboundDomain leaves the domain whole, or deletes all of it', async () => {
    await failEach('deleteInboundDomain', {
      prepare: withUsernames,
      isDone: async () => (await count('inbound_domain')) === 0,
    })
  })

  it('a statement that fails in createInboundUsername leaves nothing; the next call makes the username', async () => {
    await failEach('createInboundUsername', {
      prepare: () => world.configure(NAME),
      body: { username: 'support', headers: { 'X-A': 'a' } },
      isDone: async () => (await count('inbound_username')) === 1,
    })
  })

  it.each([
    ['that gives it a webhook', {}, { url: 'moved' }],
    ['that changes its webhook', { headers: { 'X-A': 'a' } }, { url: 'moved' }],
  ])(
    'a statement that fails in updateInboundUsername %s changes nothing',
    async (_what, given, { url }) => {
      await failEach('updateInboundUsername', {
        prepare: async () => {
          await world.configure(NAME)
          await world.addUsername(NAME, { username: 'support', ...given })
        },
        body: { url: world.url(url) },
        isDone: async () => (await count('webhooks_subscription', `url like '%/moved'`)) === 1,
      })
    },
  )

  it('a statement that fails in updateInboundUsername that removes its webhook changes nothing', async () => {
    await failEach('updateInboundUsername', {
      prepare: async () => {
        await world.configure(NAME)
        await world.addUsername(NAME, { username: 'support', url: world.url('own') })
      },
      body: { url: null },
      isDone: async () => (await count('webhooks_subscription')) === 1,
    })
  })

  it('a statement that fails in deleteInboundUsername leaves the username whole', async () => {
    await failEach('deleteInboundUsername', {
      prepare: withUsernames,
      isDone: async () => (await count('inbound_username', `username = 'support'`)) === 0,
    })
  })
})
