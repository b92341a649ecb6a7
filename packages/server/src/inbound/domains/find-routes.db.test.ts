/** By which route a recipient's mail comes (docs/reference/inbound.md#routes). */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import { explaining, type SeenPlan } from '../../../test/explain.ts'
import { failingOnce } from '../../../test/failing-once.ts'
import { insertRoutes } from '../../../test/inbound-routes.ts'
import { testKeyRing } from '../../../test/webhook-api.ts'
import type { Db, Tx } from '../../platform/db/index.ts'
import { newUlid } from '../../platform/ids.ts'
import { createReturnPathTokens } from '../../sending/index.ts'
import { createRouteFinder } from './find-routes.ts'
import type { DomainProver } from './ownership/prove-domain.ts'

const returnPaths = createReturnPathTokens(testKeyRing)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => emptyTables(database.db, 'inbound_domain'))

/** Finds no proof. */
const prover: DomainProver = { prove: async () => 'unproven' }
const find = (address: string) =>
  createRouteFinder({ returnPaths, ...database, prover }).find(address)
const routeOf = (username: string, owner = `example.com/${username}`) => ({
  kind: 'route',
  route: { tenantId: 'tn_a', domain: 'example.com', username, owner },
})

describe('the route of a recipient', () => {
  it('[7.4] is the tenant of a return path, whatever usernames there are', async () => {
    const usernames = [{ username: 'support', hasWebhook: true }]
    await insertRoutes(database.db, { domain: 'example.com', usernames })
    const local = returnPaths.make({ tenantId: 'tn_a', refId: newUlid(), n: 3 })
    for (const spelling of [local, local.toUpperCase()])
      expect(await find(`${spelling}@example.com`)).toEqual(routeOf(''))
    const foreign = returnPaths.make({ tenantId: 'tn_b', refId: newUlid(), n: 3 })
    for (const other of [foreign, `${local}x`, local.slice(0, -2), 'bounces', 'bounces+x'])
      expect(await find(`${other}@example.com`), other).toEqual({ kind: 'unknown_user' })
  })

  it('[3.5] is the domain without usernames, whatever the local part is', async () => {
    await insertRoutes(database.db, { domain: 'example.com' })
    for (const local of ['anybody', 'any.body+tag', '"any body"', 'jos\u00e9', '+'])
      expect(await find(`${local}@example.com`), local).toEqual(routeOf(''))
  })

  it('[3.5] is one of the usernames of the domain, and nothing else when it has any', async () => {
    const usernames = [
      { username: 'support', hasWebhook: true },
      { username: 'sales', hasWebhook: false },
    ]
    await insertRoutes(database.db, { domain: 'example.com', usernames })
    for (const local of ['support', 'SUPPORT', 'support+17', '"support"'])
      expect(await find(`${local}@example.com`), local).toEqual(routeOf('support'))
    expect(await find('sales@example.com')).toEqual(routeOf('sales', 'example.com/'))
    for (const local of ['anybody', 'sup.port', '', '+support', 'postmaster'])
      expect(await find(`${local}@example.com`), local).toEqual({ kind: 'unknown_user' })
  })

  it('[3.5] tells a domain that nobody has proven from an unknown domain', async () => {
    await insertRoutes(database.db, { domain: 'example.com', isProven: false })
    expect(await find('a@example.com')).toEqual({ kind: 'unproven_domain' })
    for (const address of ['a@sub.example.com', 'a', '', 'a@', 'a@[192.0.2.1]'])
      expect(await find(address), address).toEqual({ kind: 'unknown_domain' })
  })

  it.each(['EXAMPLE.com', 'example.com.', 'b\u00fccher.example', 'XN--BCHER-KVA.example'])(
    'is found by the domain in any spelling: %s',
    async (domain) => {
      for (const name of ['example.com', 'xn--bcher-kva.example'])
        await insertRoutes(database.db, { domain: name })
      expect(await find(`a@${domain}`)).toMatchObject({ kind: 'route' })
    },
  )

  it('is not found for an address that PostgreSQL cannot store, and others are', async () => {
    await insertRoutes(database.db, { domain: 'example.com' })
    const finder = createRouteFinder({ returnPaths, ...database, prover })
    const found = await Promise.all(
      ['a\u0000b@example.com', 'a@example.com', 'a@exa\u0000mple.com', 'a\ud800@example.com'].map(
        (address) => finder.find(address),
      ),
    )
    expect(found.map(({ kind }) => kind)).toEqual([
      'unknown_user',
      'route',
      'unknown_domain',
      'unknown_user',
    ])
  })

  it('belongs to the tenant that has proven the domain, and to no other', async () => {
    const usernames = [{ username: 'support', hasWebhook: true }]
    await insertRoutes(database.db, { domain: 'example.com' })
    const other = { tenantId: 'tn_b', domain: 'example.com', isProven: false, usernames }
    await insertRoutes(database.db, other)
    expect(await find('support@example.com')).toEqual(routeOf(''))
  })
})

/** For how many addresses each statement is. */
function counting(tx: Tx, sizes: number[]): Tx {
  return {
    ...tx,
    query(s, values = []) {
      if (Array.isArray(values[0])) sizes.push(values[0].length)
      return tx.query(s, values)
    },
  }
}

describe('looking up many recipients', () => {
  /** Each transaction waits until it is let go. */
  function holding() {
    const sizes: number[] = []
    const holds: (() => void)[] = []
    const db: Db = {
      ...database.db,
      async transaction(work, o) {
        await new Promise<void>((resolve) => holds.push(resolve))
        return database.db.transaction((tx) => work(counting(tx, sizes)), o)
      },
    }
    return { db, sizes, letGo: () => holds.shift()?.() }
  }

  it('collects the recipients of the next statement, 500 at a time', async () => {
    await insertRoutes(database.db, { domain: 'example.com' })
    const { db, sizes, letGo } = holding()
    const finder = createRouteFinder({ returnPaths, db, prover })
    const first = finder.find('a@example.com')
    const rest = Array.from({ length: 501 }, (_, i) =>
      finder.find(`a@${i === 7 ? 'other.test' : 'example.com'}`),
    )
    letGo()
    expect(await first).toEqual(routeOf(''))
    letGo()
    const found = await Promise.all(rest.slice(0, 500))
    expect(found.flatMap(({ kind }, i) => (kind === 'route' ? [] : [i]))).toEqual([7])
    letGo()
    await rest[500]
    expect(sizes).toEqual([1, 500, 1])
  })

  it('fails when the database fails, and answers the next recipient', async () => {
    await insertRoutes(database.db, { domain: 'example.com' })
    const { db } = failingOnce(database.db, 2, '57014')
    const finder = createRouteFinder({ returnPaths, db, prover })
    await expect(finder.find('a@example.com')).rejects.toThrow()
    expect(await finder.find('a@example.com')).toEqual(routeOf(''))
  })

  it('uses indexes only', async () => {
    await database.db.transaction(async (tx) => {
      const plans: SeenPlan[] = []
      const db: Db = {
        ...database.db,
        transaction: (work) => work(explaining(tx, plans, 'force_generic_plan')),
      }
      await createRouteFinder({ returnPaths, db, prover }).find('a@b.test')
      const tables = plans.flatMap(({ nodes }) => nodes.filter((node) => 'Relation Name' in node))
      expect(tables.map((node) => node['Node Type'])).not.toContain('Seq Scan')
      expect(tables.length).toBeGreaterThanOrEqual(4)
    })
  })
})
