/** What happens to domains by themselves: checks, changes that are told, creations and deletions gone on with. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../../test/domains.ts'
import { createKeyRing } from '../../platform/secrets/index.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  await world.clear()
  await world.configureRelay('sparkpost')
})

const NAME = 'mail.example.com'
const HOUR_MS = 3_600_000
const told = async () => (await world.events()).map(({ details }) => details.verified)
/** Until the next check, as a person would say it. */
async function waitOf(domain = NAME): Promise<number> {
  const { rows } = await world.db.query<{ minutes: number }>(
    `select round(extract(epoch from due_at - now()) / 60)::int as minutes
       from domains_domain where domain = $1`,
    [domain],
  )
  return rows[0]?.minutes ?? -1
}
const removeKey = async () => {
  const { records } = await world.get(NAME)
  world.dns.remove(records.find(({ purpose }) => purpose === 'dkim')?.name ?? '')
}

describe('a domain that waits for its records', () => {
  it('is verified by itself once they exist, and reported once', async () => {
    const added = await world.add(NAME)
    await world.workAll()
    expect(await told()).toEqual([])
    world.publish(added)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ verified: true, state: 'verified' })
    await world.workAll()
    expect(await told()).toEqual([true])
  })

  it('is checked less and less often, and soon again after a call', async () => {
    await world.add(NAME)
    const waits = [await waitOf()]
    for (let i = 0; i < 8; i++) {
      await world.workAll()
      waits.push(await waitOf())
    }
    expect(waits).toEqual([1, 5, 15, 60, 120, 240, 480, 1_440, 1_440])
    await world.verify(NAME)
    expect(await waitOf()).toBe(1)
  })

  it('is not checked any more after a month, until a call', async () => {
    await world.add(NAME)
    await world.db.query('update domains_domain set tries = 37')
    await world.workAll()
    const { last_check_at, next_check_at } = await world.get(NAME)
    expect(last_check_at).not.toBeNull()
    expect(next_check_at).toBeNull()
    expect(await world.work.runOnce()).toBe(0)
    expect(await world.verify(NAME)).toMatchObject({ next_check_at: expect.stringMatching(/Z$/) })
  })
})

describe('a verified domain', () => {
  beforeEach(async () => {
    await world.addVerified(NAME)
  })
  /** A check every so often, from now on. */
  async function pass(checks: number, hours: number): Promise<boolean[]> {
    const verified: boolean[] = []
    for (let i = 0; i < checks; i++) {
      await world.workAll()
      verified.push((await world.get(NAME)).verified)
      world.clock.advance(hours * HOUR_MS)
    }
    return verified
  }

  it('is checked daily, without an event while nothing changes', async () => {
    await world.workAll()
    expect(await waitOf()).toBe(1_440)
    await pass(3, 24)
    expect(await told()).toEqual([true])
    const asked = world.sparkpost.requests.filter(({ path }) => path.endsWith('/verify'))
    expect(asked).toHaveLength(5)
  })

  it('stays verified while name servers fail, and its provider is not asked', async () => {
    const before = world.sparkpost.requests.length
    world.dns.setScript(() => ({ rcode: 2 }))
    expect(new Set(await pass(12, 24))).toEqual(new Set([true]))
    expect(world.sparkpost.requests).toHaveLength(before)
    expect(await told()).toEqual([true])
    expect((await world.get(NAME)).records[0]).toMatchObject({ status: 'valid', dns: 'unknown' })
  })

  it('stays verified while a record is missing for less than six hours, and is checked more often', async () => {
    await removeKey()
    const waits: number[] = []
    for (const hours of [0.25, 1, 2, 1]) {
      expect(await pass(1, hours)).toEqual([true])
      waits.push(await waitOf())
    }
    expect(waits).toEqual([15, 60, 120, 240])
    const { records } = await world.get(NAME)
    expect(records[1]).toMatchObject({ status: 'valid', dns: 'absent', found: [] })
    expect(await told()).toEqual([true])
  })

  it('is not verified any more, with one event, when a record is missing in four checks over six hours', async () => {
    await removeKey()
    expect(await pass(5, 2)).toEqual([true, true, true, false, false])
    expect(await told()).toEqual([true, false])
    expect(await world.get(NAME)).toMatchObject({
      state: 'unverified',
      verified_at: null,
      records: [{ status: 'valid' }, { status: 'invalid', dns: 'absent' }, {}],
    })
    const { rows } = await world.db.query('select domain_verified from mailers_mailer')
    expect(rows).toEqual([{ domain_verified: false }])
  })

  it('starts its period of grace anew when the record came back in time', async () => {
    const { records } = await world.get(NAME)
    await removeKey()
    await pass(3, 24)
    world.dns.publish(records.filter(({ purpose }) => purpose === 'dkim'))
    await pass(1, 24)
    await removeKey()
    expect(await pass(3, 24)).toEqual([true, true, true])
    expect(await told()).toEqual([true])
  })

  it('is verified again by itself, with an event', async () => {
    const domain = await world.get(NAME)
    await removeKey()
    await pass(4, 3)
    world.publish(domain, ({ purpose }) => purpose === 'dkim')
    await world.workAll()
    expect(await told()).toEqual([true, false, true])
    expect(await world.get(NAME)).toMatchObject({ state: 'verified' })
  })

  it('stays verified for the same time when its provider disagrees', async () => {
    world.sparkpost.domains.setVerification(() => ({ dkim: 'invalid', error: 'too weak' }))
    expect(await pass(4, 2)).toEqual([true, true, true, false])
    expect(await world.get(NAME)).toMatchObject({
      provider: { agrees: false, detail: 'too weak' },
    })
    expect(await told()).toEqual([true, false])
  })

  it('keeps its ownership while its proof of ownership exists, and loses it afterwards', async () => {
    await world.configureRelay('sendgrid', 'b')
    await removeKey()
    await pass(6, 3)
    expect(await told()).toEqual([true, false])
    const add = () => world.call('addDomain', { key: 'b', body: { domain: NAME } })
    expect(await add()).toMatchObject({ status: 409, body: { code: 'domain_taken' } })
    world.dns.remove(`_postrider.${NAME}`)
    await pass(3, 3)
    expect(await add()).toMatchObject({ status: 409 })
    await pass(1, 3)
    expect(await add()).toMatchObject({ status: 201 })
  })

  it('loses its ownership also when it is not checked any more', async () => {
    await removeKey()
    await world.verify(NAME)
    await world.db.query('update domains_domain set tries = 36')
    const owners = async () => (await world.db.query('select from domains_ownership')).rowCount
    await world.workAll()
    expect([(await world.get(NAME)).next_check_at, await owners()]).toEqual([expect.any(String), 1])
    await world.workAll()
    expect([(await world.get(NAME)).next_check_at, await owners()]).toEqual([null, 0])
  })

  it('is not lost to a tenant who cannot prove ownership', async () => {
    await world.configureRelay('sendgrid', 'b')
    for (let i = 0; i < 3; i++) {
      const answer = await world.call('addDomain', { key: 'b', body: { domain: NAME } })
      expect(answer).toMatchObject({ status: 409, body: { code: 'domain_taken' } })
    }
    await pass(2, 24)
    expect(await told()).toEqual([true])
  })
})

describe('two tenants with the same domain', () => {
  it('[3.4] get it in the order of their proofs; the other one learns nothing more', async () => {
    await world.configureRelay('sendgrid', 'b')
    const own = await world.add(NAME)
    const other = await world.add(NAME, { key: 'b' })
    world.publish(other)
    expect(await world.verify(NAME)).toMatchObject({ verified: false, state: 'pending' })
    expect(await world.verify(NAME, 'b')).toMatchObject({ verified: true, state: 'verified' })
    const taken = await world.get(NAME)
    expect(taken).toMatchObject({ state: 'taken', verified: false })
    expect(JSON.stringify(taken)).not.toMatch(/tn_b|sendgrid/)
    // Even with everything published.
    world.publish(own)
    expect(await world.verify(NAME)).toMatchObject({ state: 'taken', verified: false })
    await world.workAll()
    expect(await told()).toEqual([false, false])
    expect((await world.events('tn_b')).map(({ details }) => details.verified)).toEqual([true])
  })

  it('get it once when both have published everything', async () => {
    await world.configureRelay('sparkpost', 'b')
    for (let i = 0; i < 10; i++) {
      const name = `n${i}.example.com`
      world.publish(await world.add(name))
      // The account is the same: the provider has it already.
      world.publish(await world.add(name, { key: 'b' }), ({ purpose }) => purpose === 'ownership')
      const both = await Promise.all([world.verify(name), world.verify(name, 'b')])
      expect(both.filter(({ verified }) => verified)).toHaveLength(1)
      expect(both.filter(({ state }) => state === 'taken')).toHaveLength(1)
    }
  })

  it('can get it after its owner has deleted it', async () => {
    await world.configureRelay('sendgrid', 'b')
    world.publish(await world.add(NAME))
    await world.add(NAME, { key: 'b' })
    await world.verify(NAME)
    expect((await world.get(NAME, 'b')).state).toBe('taken')
    await world.call('deleteDomain', { domain: NAME })
    const other = await world.get(NAME, 'b')
    expect(other.state).toBe('pending')
    world.dns.clear()
    world.publish(other)
    await world.workAll()
    expect(await world.get(NAME, 'b')).toMatchObject({ state: 'verified' })
  })
})

/** The provider is reached, and does nothing until it is let go. */
function holdProvider() {
  const [reached, hold] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  world.sparkpost.setScript(async ({ method }) => {
    if (method !== 'POST') return undefined
    reached.resolve()
    await hold.promise
    return undefined
  })
  return { reached: reached.promise, letGo: hold.resolve }
}

describe('an interrupted creation of a domain', () => {
  it('is continued by another process when its lease is over', async () => {
    const { reached, letGo } = holdProvider()
    const added = world.call('addDomain', { body: { domain: NAME } })
    await reached
    // Nobody else goes on with it while its lease lasts.
    expect(await world.work.runOnce()).toBe(0)
    const again = await world.call('addDomain', { body: { domain: NAME } })
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(again.body.message).toContain('being worked on')
    world.sparkpost.setScript(undefined)
    await world.workAll()
    const created = await world.get(NAME)
    expect(created).toMatchObject({ state: 'pending' })
    // The first comes late: what it finds counts no more.
    letGo()
    expect(await added).toMatchObject({ status: 201, body: { domain: { state: 'pending' } } })
    expect(await world.get(NAME)).toEqual(created)
    expect(world.sparkpost.domains.all).toHaveLength(1)
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe(created.selector)
  })

  it('is repeated by the next addDomain, with the key of the provider', async () => {
    world.sparkpost.setScript(() => ({ isCarriedOut: true, ending: 'rst' }))
    await world.call('addDomain', { body: { domain: NAME, custom_args: { n: 1 } } })
    world.sparkpost.setScript(undefined)
    const left = await world.get(NAME)
    expect(left).toMatchObject({ state: 'creating', custom_args: { n: 1 } })
    const next = await world.add(NAME, { body: { custom_args: { n: 2 } } })
    expect(next).toMatchObject({
      state: 'pending',
      custom_args: { n: 2 },
      mailer_id: left.mailer_id,
      records: left.records,
    })
    expect(next.selector).toBe(world.sparkpost.domains.find(NAME)?.dkim.selector)
    world.publish(next)
    expect(await world.verify(NAME)).toMatchObject({ verified: true })
    await world.call('deleteDomain', { domain: NAME })
    expect(world.sparkpost.domains.all).toEqual([])
  })

  it('is repeated with another selector on request', async () => {
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('addDomain', { body: { domain: NAME } })
    world.sparkpost.setScript(undefined)
    const next = await world.add(NAME, { body: { selector: 'mine' } })
    expect(next.selector).toBe('mine')
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe('mine')
  })

  it('is given up with its mailer when the provider does not confirm it for a day', async () => {
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('addDomain', { body: { domain: NAME } })
    expect(await waitOf()).toBe(1)
    await world.workAll()
    expect(await waitOf()).toBe(5)
    await world.db.query('update domains_domain set tries = 26')
    await world.workAll()
    for (const table of ['domains_domain', 'mailers_mailer'])
      expect((await world.db.query(`select 1 from ${table}`)).rows).toEqual([])
    expect(await told()).toEqual([])
  })

  it('an interrupted creation of a domain by one relay is not taken for a creation by another', async () => {
    await world.configureRelay('sendgrid')
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('addDomain', { body: { domain: NAME, relay: 'sparkpost' } })
    const other = await world.call('addDomain', { body: { domain: NAME, relay: 'sendgrid' } })
    expect(other).toMatchObject({ status: 409 })
    expect(other.body.message).toContain('being created at sparkpost')
  })
})

describe('a deletion of a domain', () => {
  it('is repeated until the provider confirms it', async () => {
    await world.addVerified(NAME)
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    expect(await world.call('deleteDomain', { domain: NAME })).toMatchObject({ status: 200 })
    expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
    expect((await world.call('listDomains')).body.domains).toEqual([])
    expect(world.sparkpost.domains.all).toHaveLength(1)
    await world.workAll()
    world.sparkpost.setScript(undefined)
    await world.workAll()
    expect(world.sparkpost.domains.all).toEqual([])
    expect((await world.db.query('select 1 from domains_domain')).rows).toEqual([])
  })

  it('ends before the same domain can be added again', async () => {
    const first = await world.addVerified(NAME)
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('deleteDomain', { domain: NAME })
    const refused = await world.call('addDomain', { body: { domain: NAME } })
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(refused.body.message).toContain('still being deleted at sparkpost')
    world.sparkpost.setScript(undefined)
    const second = await world.add(NAME)
    expect(second.selector).not.toBe(first.selector)
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe(second.selector)
    await world.workAll()
    expect(world.sparkpost.domains.all).toHaveLength(1)
  })

  it('waits for the end of a creation of the same domain', async () => {
    const { reached, letGo } = holdProvider()
    const added = world.call('addDomain', { body: { domain: NAME } })
    await reached
    expect(await world.call('deleteDomain', { domain: NAME })).toMatchObject({ status: 200 })
    expect(world.sparkpost.requests).toHaveLength(1)
    letGo()
    expect(await added).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(world.sparkpost.domains.all).toHaveLength(1)
    await world.workAll()
    expect(world.sparkpost.domains.all).toEqual([])
    for (const table of ['domains_domain', 'mailers_mailer'])
      expect((await world.db.query(`select 1 from ${table}`)).rows).toEqual([])
  })

  it('is done when the account was deleted or the provider does not have the domain', async () => {
    await world.addVerified(NAME)
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('deleteDomain', { domain: NAME })
    await world.db.query('delete from relays_account')
    await world.workAll()
    expect((await world.db.query('select 1 from domains_domain')).rows).toEqual([])
  })

  it('is given up after three days, with a log line', async () => {
    await world.addVerified(NAME)
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await world.call('deleteDomain', { domain: NAME })
    await world.db.query('update domains_domain set tries = 75')
    await world.workAll()
    expect((await world.db.query('select 1 from domains_domain')).rows).toEqual([])
    expect(world.seen.some((line) => line.includes('domain.left_at_provider'))).toBe(true)
  })
})

describe('a new key', () => {
  const rotate = async () => (await world.call('rotateDomainKey', { domain: NAME })).body.domain
  const keysOf = async () =>
    (await world.get(NAME)).records
      .filter(({ purpose }) => purpose === 'dkim')
      .map(({ name, required, rotation }) => [name.split('.')[0], required, rotation])

  it('is used once its record is seen at the provider, without an interruption', async () => {
    const first = await world.addVerified(NAME)
    const rotated = await rotate()
    const next = rotated.records.find((record: { rotation?: string }) => record.rotation === 'next')
    expect(rotated).toMatchObject({ verified: true, selector: first.selector })
    expect(await keysOf()).toEqual([
      [first.selector, true, undefined],
      [next.name.split('.')[0], false, 'next'],
    ])
    expect(await waitOf()).toBe(1)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ verified: true, selector: first.selector })
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe(first.selector)
    expect(await waitOf()).toBe(5)
    world.dns.publish([next])
    await world.workAll()
    const { selector, verified } = await world.get(NAME)
    expect({ selector, verified }).toEqual({ selector: next.name.split('.')[0], verified: true })
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe(selector)
    expect(await keysOf()).toEqual([
      [selector, true, undefined],
      [first.selector, false, 'previous'],
    ])
    const previous = (await world.get(NAME)).records.find(({ rotation }) => rotation === 'previous')
    const week = new Date(world.clock.now().getTime() + 7 * 24 * HOUR_MS)
    expect(previous?.removable_at).toBe(week.toISOString())
    expect(await told()).toEqual([true])
    expect(await waitOf()).toBe(1_440)
  })

  it('is the same one for repeated calls', async () => {
    await world.addVerified(NAME)
    const answers = await Promise.all([rotate(), rotate(), rotate()])
    const keys = await keysOf()
    expect(keys).toHaveLength(2)
    expect(await rotate()).toEqual(await world.get(NAME))
    for (const { records } of answers) expect(records).toHaveLength(4)
  })

  it('keeps the old one in place when the provider refuses it, and the domain verified', async () => {
    const first = await world.addVerified(NAME)
    world.publish(await rotate(), ({ rotation }) => rotation === 'next')
    world.sparkpost.setScript(({ method }) =>
      method === 'PUT'
        ? { status: 400, json: { errors: [{ message: 'no such key' }] } }
        : undefined,
    )
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({
      verified: true,
      selector: first.selector,
      provider: { agrees: true, detail: expect.stringContaining('no such key') },
    })
    world.sparkpost.setScript(undefined)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ verified: true, provider: { detail: null } })
    expect((await world.get(NAME)).selector).not.toBe(first.selector)
  })

  it('is set at the provider again when the outcome is unknown', async () => {
    const first = await world.addVerified(NAME)
    world.publish(await rotate(), ({ rotation }) => rotation === 'next')
    world.sparkpost.setScript(({ method }) =>
      method === 'PUT' ? { isCarriedOut: true, ending: 'rst' } : undefined,
    )
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ verified: true, selector: first.selector })
    expect(world.sparkpost.domains.find(NAME)?.dkim.selector).not.toBe(first.selector)
    world.sparkpost.setScript(undefined)
    await world.workAll()
    const { selector } = await world.get(NAME)
    expect(selector).toBe(world.sparkpost.domains.find(NAME)?.dkim.selector)
  })

  it('replaces a key that only the provider has', async () => {
    const { selector: theirs } = world.sparkpost.domains.add(NAME).dkim
    await world.addVerified(NAME)
    world.publish(await rotate(), ({ rotation }) => rotation === 'next')
    await world.workAll()
    const now = await world.get(NAME)
    expect(now.selector).not.toBe(theirs)
    expect(await keysOf()).toEqual([
      [now.selector, true, undefined],
      [theirs, false, 'previous'],
    ])
  })

  it('is shown beside its predecessors for a month, without their private halves', async () => {
    await world.addVerified(NAME)
    for (let i = 0; i < 5; i++) {
      world.publish(await rotate(), ({ rotation }) => rotation === 'next')
      await world.verify(NAME)
    }
    expect(await keysOf()).toHaveLength(4)
    const { rows } = await world.db.query<{ keys: { turn: string; privateKey?: string }[] }>(
      'select dkim_keys as keys from domains_domain',
    )
    const kept = rows[0]?.keys.filter(({ privateKey }) => privateKey !== undefined)
    expect(kept).toMatchObject([{ turn: 'current' }])
    world.clock.advance(31 * 24 * HOUR_MS)
    await world.workAll()
    expect(await keysOf()).toHaveLength(1)
  })
})

describe('keys that cannot be decrypted', () => {
  const keyRing = createKeyRing(`other:${Buffer.alloc(32, 7).toString('base64')}`)
  const detail = 'A stored key cannot be opened: configure the relay again'

  it('leave a verified domain as it was, with a message', async () => {
    await world.addVerified(NAME)
    await world.db.query('update domains_domain set due_at = now()')
    await world.createWork({ keyRing }).runOnce()
    expect(await world.get(NAME)).toMatchObject({
      verified: true,
      provider: { agrees: true, detail },
    })
    expect(await waitOf()).toBe(15)
  })

  it('do not prevent the deletion of a domain', async () => {
    await world.addVerified(NAME)
    const { status } = await world.callWith({ keyRing }, 'deleteDomain', { domain: NAME })
    expect(status).toBe(200)
    expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
    expect(await waitOf()).toBe(1)
  })

  it('refuse a new domain with a message, and leave nothing', async () => {
    const body = { domain: NAME }
    const answer = await world.callWith({ keyRing }, 'addDomain', { body })
    expect(answer).toMatchObject({ status: 422, body: { code: 'relay_auth_failed' } })
    expect(answer.body.message).toBe(detail)
    expect((await world.db.query('select 1 from domains_domain')).rows).toEqual([])
  })

  it('are replaced by a new key', async () => {
    await world.addVerified(NAME)
    await world.db.query(
      `update domains_domain set dkim_keys = replace(dkim_keys::text, 'v1.k.', 'v1.gone.')::json`,
    )
    const { body } = await world.call('rotateDomainKey', { domain: NAME })
    world.publish(body.domain, ({ rotation }) => rotation === 'next')
    expect(await world.verify(NAME)).toMatchObject({ verified: true, provider: { detail: null } })
  })
})

describe('many processes', () => {
  it('share the work: each domain is checked by one', async () => {
    await world.configureRelay('simulator')
    for (let i = 0; i < 12; i++)
      await world.add(`n${i}.example.com`, { body: { relay: 'sparkpost' } })
    await world.db.query('update domains_domain set due_at = now()')
    world.dns.clear()
    const before = world.dns.questions.length
    // One that finds all its rows claimed by others has an empty round.
    const workAll = async (work: ReturnType<typeof world.createWork>): Promise<number> => {
      const count = await work.runOnce()
      return count === 0 ? 0 : count + (await workAll(work))
    }
    const others = Array.from({ length: 4 }, () => world.createWork())
    const done = await Promise.all(others.map(workAll))
    expect(done.reduce((sum, count) => sum + count, 0)).toBe(12)
    const asked = world.dns.questions
      .slice(before)
      .filter(({ name, type }) => name.startsWith('_postrider.') && type === 'TXT')
      .map(({ name }) => name)
    expect(asked).toHaveLength(12)
    expect(new Set(asked).size).toBe(12)
  })

  it('continue the work of another one after its lease, and not before', async () => {
    await world.add(NAME)
    await world.db.query('update domains_domain set due_at = now()')
    const dead = world.createWork({
      dns: {
        txt: () => Promise.reject(new Error('killed')),
        mx: () => Promise.reject(new Error('killed')),
        aliases: () => Promise.reject(new Error('killed')),
      },
    })
    expect(await dead.runOnce()).toBe(1)
    expect(await world.work.runOnce()).toBe(0)
    expect(await waitOf()).toBe(5)
    await world.db.query('update domains_domain set due_at = now()')
    expect(await world.work.runOnce()).toBe(1)
    expect((await world.get(NAME)).last_check_at).not.toBeNull()
  })

  it('serve tenants in turn, whatever one of them has', async () => {
    await world.configureRelay('sparkpost', 'b')
    for (let i = 0; i < 8; i++) await world.add(`n${i}.example.com`)
    await world.add('b.example.com', { key: 'b' })
    await world.db.query(
      `update domains_domain set due_at = now() - case when tenant_id = 'tn_a'
         then interval '1 hour' else interval '0' end`,
    )
    const { rows } = await world.db.query<{ domain: string }>(
      'select domain from domains_domain order by due_at, domain',
    )
    expect(rows.at(-1)).toEqual({ domain: 'b.example.com' })
    const order: string[] = []
    const work = world.createWork({
      dns: {
        txt: async (name) => {
          if (name.startsWith('_postrider.')) order.push(name.slice('_postrider.'.length))
          return { kind: 'absent', aliases: [] }
        },
        mx: async () => ({ kind: 'absent', aliases: [] }),
        aliases: async () => ({ kind: 'absent', aliases: [] }),
      },
    })
    await work.runOnce()
    expect(order.slice(0, 5)).toContain('b.example.com')
    expect(new Set(order).size).toBe(order.length)
  })
})
