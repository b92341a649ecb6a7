/** The operations on sending domains, one after the other, by the statuses that they answer. */
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../test/domains.ts'
import type { Key } from '../../test/test-api.ts'
import { findMailers, noteRelayChanged } from '../mailers/index.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'mail.example.com'
const rowsOf = async (table: string) =>
  (await world.db.query(`select * from ${table} order by 1, 2`)).rows
const add = (body: object, key: Key = 'a') =>
  world.call('addDomain', { key, body: { domain: NAME, ...body } })
const mailerOf = async (from: string, tenantId = 'tn_a') =>
  (await findMailers(world.db, [{ tenantId, from }]))[0]

describe('addDomain: 201', () => {
  it('[4.3] creates the domain at the provider, with a key of 2048 bits, and answers the records to publish', async () => {
    await world.configureRelay('sparkpost')
    const { status, body } = await add({})
    expect(status).toBe(201)
    const { selector } = body.domain
    const dkim = world.sparkpost.domains.find(NAME)?.dkim
    const advised = { status: 'pending', dns: null, found: [] }
    expect(body).toEqual({
      success: true,
      message: 'Domain Added',
      domain: {
        domain: NAME,
        mailer_id: expect.stringMatching(/^domain_[0-9A-Z]{26}$/),
        relay: 'sparkpost',
        state: 'pending',
        verified: false,
        verified_at: null,
        custom_args: null,
        selector: expect.stringMatching(/^pr-[a-z0-9]{8}$/),
        limits: {},
        uncertain: 'at_least_once',
        records: [
          {
            type: 'TXT',
            name: `_postrider.${NAME}`,
            value: expect.stringMatching(/^postrider-verification=[0-9A-Za-z]{43}$/),
            purpose: 'ownership',
            required: true,
            ...advised,
          },
          {
            type: 'TXT',
            name: `${selector}._domainkey.${NAME}`,
            value: `v=DKIM1; k=rsa; h=sha256; p=${dkim?.public}`,
            purpose: 'dkim',
            required: true,
            ...advised,
          },
          {
            type: 'TXT',
            name: `_dmarc.${NAME}`,
            value: 'v=DMARC1; p=none',
            purpose: 'dmarc',
            required: false,
            ...advised,
          },
        ],
        provider: { agrees: false, detail: null },
        last_check_at: null,
        next_check_at: expect.stringMatching(/Z$/),
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    })
    const key = Buffer.from(dkim?.public ?? '', 'base64')
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'der', type: 'spki' })
    expect(asymmetricKeyDetails?.modulusLength).toBe(2048)
    expect(dkim?.selector).toBe(selector)
    expect(await world.events()).toEqual([])
  })

  it('[3.4] stores its fields, and passes those on that the provider knows', async () => {
    await world.configureRelay('sparkpost')
    const given = {
      custom_args: { customer: 17, nested: [{ a: null }] },
      is_tenant_domain: true,
      is_tenant_subdomain: false,
      shared_with_subaccounts: true,
      ips: ['192.0.2.1', '2001:db8::1'],
    }
    const { body } = await add({ ...given, selector: 'S1', relay: 'sparkpost' })
    expect(body.domain).toMatchObject({ ...given, selector: 's1' })
    expect(await world.get(NAME)).toEqual(body.domain)
    expect(world.sparkpost.domains.find(NAME)).toMatchObject({
      sharedWithSubaccounts: true,
      dkim: { selector: 's1' },
    })
    expect(world.sparkpost.ignoredFields).toEqual([])
  })

  it('answers the records of a provider that makes the keys', async () => {
    await world.configureRelay('sendgrid')
    const domain = await world.add(NAME, { body: { selector: 'm1' } })
    expect(domain.selector).toBeNull()
    const shapes = domain.records.map(({ type, purpose, required }) => [type, purpose, required])
    expect(shapes).toEqual([
      ['TXT', 'ownership', true],
      ['CNAME', 'return_path', true],
      ['CNAME', 'dkim', true],
      ['CNAME', 'dkim', true],
      ['TXT', 'dmarc', false],
    ])
    for (const { name } of domain.records) expect(name.endsWith(`.${NAME}`)).toBe(true)
  })

  it('takes a name in other scripts, in any case, and with its final dot', async () => {
    await world.configureRelay('sparkpost')
    const { status, body } = await add({ domain: 'Mail.BÜCHER.example.' })
    expect({ status, domain: body.domain.domain }).toEqual({
      status: 201,
      domain: 'mail.xn--bcher-kva.example',
    })
    for (const spelling of ['mail.bücher.example', 'MAIL.XN--BCHER-KVA.EXAMPLE'])
      expect((await world.get(spelling)).mailer_id).toBe(body.domain.mailer_id)
  })

  it('verifies by the simulator at once, and accepts reserved names', async () => {
    await world.configureRelay('simulator')
    const domain = await world.add('shop.test')
    expect(domain).toMatchObject({
      relay: 'simulator',
      state: 'verified',
      verified: true,
      selector: null,
      records: [],
      provider: { agrees: true },
      next_check_at: null,
    })
    expect(await mailerOf('anybody@shop.test')).toMatchObject({ mailerId: domain.mailer_id })
    await world.configureRelay('simulator', 'b')
    expect(await world.add('shop.test', { key: 'b' })).toMatchObject({ verified: true })
    expect(await rowsOf('domains_ownership')).toEqual([])
  })

  it("adopts a domain of the provider's account, with its key", async () => {
    await world.configureRelay('sparkpost')
    const there = world.sparkpost.domains.add(NAME)
    const domain = await world.add(NAME, { body: { selector: 'mine' } })
    expect(domain.selector).toBe(there.dkim.selector)
    expect(domain.records.filter(({ purpose }) => purpose === 'dkim')).toMatchObject([
      { value: `v=DKIM1; k=rsa; h=sha256; p=${there.dkim.public}`, required: true },
    ])
    expect(world.sparkpost.domains.find(NAME)?.dkim).toEqual(there.dkim)
    world.publish(domain)
    expect(await world.verify(NAME)).toMatchObject({ verified: true })
  })

  it('makes no second domain at a provider that numbers its domains', async () => {
    await world.configureRelay('sendgrid')
    world.sendgrid.domains.add(NAME, { valid: true })
    const domain = await world.add(NAME)
    expect(world.sendgrid.domains.all).toHaveLength(1)
    expect(domain).toMatchObject({ verified: false, provider: { agrees: false } })
    world.publish(domain)
    expect(await world.verify(NAME)).toMatchObject({ verified: true })
  })

  it('accepts a domain that another tenant has not verified', async () => {
    await world.configureRelay('sparkpost')
    await world.configureRelay('sendgrid', 'b')
    await world.add(NAME)
    const other = await world.add(NAME, { key: 'b' })
    const own = await world.get(NAME)
    expect(other.mailer_id).not.toBe(own.mailer_id)
    expect(other.records[0]?.value).not.toBe(own.records[0]?.value)
  })
})

describe('addDomain: 400', () => {
  const long = 'x'.repeat(10_240)
  it.each<[path: string, change: object]>([
    ['/domain', { domain: undefined }],
    ['/domain', { domain: '' }],
    ['/domain', { domain: 7 }],
    ['/domain', { domain: 'com' }],
    ['/domain', { domain: 'co.uk' }],
    ['/domain', { domain: '192.0.2.1' }],
    ['/domain', { domain: 'ada@example.com' }],
    ['/domain', { domain: `${'a'.repeat(256)}.example.com` }],
    ['/relay', { relay: 'mailgun' }],
    ['/custom_args', { custom_args: [] }],
    ['/custom_args', { custom_args: { long } }],
    ['/custom_args', { custom_args: JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) }],
    ['/is_tenant_domain', { is_tenant_domain: 'yes' }],
    ['/ips/0', { ips: ['192.0.2.300'] }],
    ['/ips/1', { ips: ['192.0.2.1', 'localhost'] }],
    ['/ips/1', { ips: ['192.0.2.1', '192.0.2.1'] }],
    ['/selector', { selector: 'a_b' }],
    ['/selector', { selector: 'x'.repeat(64) }],
    ['/unknown', { unknown: 1 }],
  ])('names %s: %j', async (path, change) => {
    await world.configureRelay('sparkpost')
    const { status, body } = await add(change)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
    expect(body.errors.map((error: { path: string }) => error.path)).toContain(path)
    expect(world.sparkpost.requests).toEqual([])
    expect(await rowsOf('domains_domain')).toEqual([])
  })

  it('refuses names that the simulator does not accept', async () => {
    await world.configureRelay('simulator')
    const { status, body } = await add({ domain: 'shop.example.de' })
    expect({ status, errors: body.errors }).toMatchObject({
      status: 400,
      errors: [{ path: '/domain', message: expect.stringContaining('simulator') }],
    })
  })
})

describe('domains: 409', () => {
  it('addDomain names a domain that the tenant has', async () => {
    await world.configureRelay('sparkpost')
    const domain = await world.add(NAME)
    const { status, body } = await add({ domain: 'MAIL.example.com', custom_args: { a: 1 } })
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 409,
      code: 'conflict',
      message: `The domain ${NAME} exists`,
    })
    expect(await world.get(NAME)).toEqual(domain)
  })

  it('addDomain makes a domain once for many concurrent requests', async () => {
    await world.configureRelay('sparkpost')
    const answers = await Promise.all(Array.from({ length: 8 }, () => add({})))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 409)])
    const posted = world.sparkpost.requests.filter(({ method }) => method === 'POST')
    expect(posted).toHaveLength(1)
    expect(await rowsOf('mailers_mailer')).toHaveLength(1)
  })

  it('[3.4] addDomain refuses a domain that another tenant has verified', async () => {
    await world.configureRelay('sparkpost')
    await world.addVerified(NAME)
    await world.configureRelay('sendgrid', 'b')
    const { status, body } = await add({}, 'b')
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 409,
      code: 'domain_taken',
      message: 'The domain belongs to somebody else',
    })
    expect(JSON.stringify(body)).not.toMatch(/tn_a|sparkpost|domain_0/)
    expect(world.sendgrid.requests).toEqual([])
    expect(await world.call('getDomain', { key: 'b', domain: NAME })).toMatchObject({ status: 404 })
    expect(await world.add(`sub.${NAME}`, { key: 'b' })).toMatchObject({ state: 'pending' })
  })

  it('addDomain refuses a domain that another account of the provider has', async () => {
    await world.configureRelay('sparkpost')
    world.sparkpost.domains.addForeign(NAME)
    const { status, body } = await add({})
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'domain_taken' })
    expect(body.message).toContain('Domain in use by another account')
    expect(await rowsOf('domains_domain')).toEqual([])
    expect(await rowsOf('mailers_mailer')).toEqual([])
  })

  it('rotateDomainKey refuses a provider that makes its keys itself or has none', async () => {
    await world.configureRelay('sendgrid')
    await world.configureRelay('simulator')
    for (const [domain, relay, words] of [
      [NAME, 'sendgrid', 'changes them itself'],
      ['shop.test', 'simulator', 'has no keys'],
    ] as const) {
      await world.add(domain, { body: { relay } })
      const answer = await world.call('rotateDomainKey', { domain })
      expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } })
      expect(answer.body.message).toContain(relay)
      expect(answer.body.message).toContain(words)
    }
  })
})

describe('addDomain: 422', () => {
  it('[3.4] answers no_relay without an account, or without one of that kind in the tenant', async () => {
    await world.configureRelay('sparkpost', 'b')
    expect(await add({})).toMatchObject({ status: 422, body: { code: 'no_relay' } })
    await world.configureRelay('sendgrid')
    const named = await add({ relay: 'sparkpost' })
    expect(named).toMatchObject({ status: 422, body: { code: 'no_relay' } })
    expect(named.body.message).toContain('sparkpost')
  })

  it('[5] answers relay_required when there are two and none is named', async () => {
    await world.configureRelay('sparkpost')
    await world.configureRelay('sendgrid')
    expect(await add({})).toMatchObject({ status: 422, body: { code: 'relay_required' } })
    expect(await add({ relay: 'sendgrid' })).toMatchObject({ status: 201 })
  })

  it('answers relay_auth_failed when the provider refuses the key, and stores nothing', async () => {
    await world.configureRelay('sparkpost')
    world.sparkpost.setApiKey('another-key-0123456789')
    const { status, body } = await add({})
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'relay_auth_failed' })
    expect(body.message).toMatch(/rejected the API key: .*401/)
    expect(await rowsOf('domains_domain')).toEqual([])
    expect(await rowsOf('mailers_mailer')).toEqual([])
  })

  it('answers relay_refused with the words of the provider, and stores nothing', async () => {
    await world.configureRelay('sendgrid')
    const { status, body } = await add({ selector: 'four' })
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'relay_refused' })
    expect(body.message).toContain('a selector has up to three letters or numbers')
    expect(await rowsOf('domains_domain')).toEqual([])
    expect(await rowsOf('mailers_mailer')).toEqual([])
    expect(await add({ selector: 'two' })).toMatchObject({ status: 201 })
  })

  it('answers relay_unreachable when nothing listens, and stores nothing', async () => {
    await world.configureRelay('sparkpost')
    await world.sparkpost.close()
    const { status, body } = await add({})
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 422,
      code: 'relay_unreachable',
      message:
        'The relay provider could not be reached: the connection could not be made; check its api_base, or try again later',
    })
    expect(await rowsOf('domains_domain')).toEqual([])
    expect(await rowsOf('mailers_mailer')).toEqual([])
  })

  it.each([
    ['its answer is lost', { isCarriedOut: true, ending: 'rst' as const }, 'did not answer'],
    ['it fails', { status: 503, json: { errors: [{ message: 'down' }] } }, '503'],
  ])(
    'answers relay_unreachable and continues later when the domain may exist: %s',
    async (_what, said, words) => {
      await world.configureRelay('sparkpost')
      world.sparkpost.setScript(() => said)
      const { status, body } = await add({})
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'relay_unreachable' })
      expect(body.message).toContain(words)
      const waiting = await world.get(NAME)
      expect(waiting).toMatchObject({ state: 'creating', provider: { detail: body.message } })
      world.sparkpost.setScript(undefined)
      await world.workAll()
      expect(await world.get(NAME)).toMatchObject({
        state: 'pending',
        mailer_id: waiting.mailer_id,
        selector: waiting.selector,
        provider: { detail: null },
      })
      expect(world.sparkpost.domains.find(NAME)?.dkim.selector).toBe(waiting.selector)
    },
  )
})

describe('domains: 401 and 403', () => {
  const ops = [
    'addDomain',
    'listDomains',
    'getDomain',
    'verifyDomain',
    'rotateDomainKey',
    'deleteDomain',
  ] as const
  it('refuses requests without a key, and keys for sending; a read-only key may read', async () => {
    await world.configureRelay('sparkpost')
    await world.add(NAME)
    const statusesOf = async (key: Key) => {
      const statuses: number[] = []
      for (const id of ops) {
        const body = id === 'addDomain' ? { body: { domain: 'b.example.com' } } : {}
        statuses.push((await world.call(id, { key, domain: NAME, ...body })).status)
      }
      return statuses
    }
    expect(await statusesOf('nobody')).toEqual([401, 401, 401, 401, 401, 401])
    expect(await statusesOf('reader')).toEqual([403, 200, 200, 403, 403, 403])
    expect(await statusesOf('sender')).toEqual([403, 403, 403, 403, 403, 403])
    expect(await statusesOf('mailers')).toEqual([201, 200, 200, 200, 200, 200])
  })
})

describe('domains: 404', () => {
  it.each(['getDomain', 'verifyDomain', 'rotateDomainKey', 'deleteDomain'] as const)(
    '%s answers the same for a domain of another tenant, an unknown one and a malformed one',
    async (id) => {
      await world.configureRelay('sparkpost')
      await world.add(NAME)
      const told = []
      for (const [key, domain] of [
        ['b', NAME],
        ['a', 'other.example.com'],
        ['a', 'com'],
        ['a', 'not a domain'],
        ['a', '%00'],
      ] as const) {
        const { status, body } = await world.call(id, { key, domain })
        told.push({ status, code: body.code, message: body.message })
      }
      const notFound = {
        status: 404,
        code: 'not_found',
        message: 'Not Found: there is no such domain',
      }
      expect(told).toEqual(told.map(() => notFound))
      expect(await world.events('tn_b')).toEqual([])
      expect(await world.get(NAME)).toMatchObject({ state: 'pending' })
    },
  )
})

describe('updateDomain', () => {
  const update = (body: object | undefined, key?: 'b' | 'reader') =>
    world.call('updateDomain', {
      domain: NAME,
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    })

  it('sets limits and the policy for uncertain attempts, which every answer shows', async () => {
    await world.configureRelay('sparkpost')
    const added = await world.add(NAME)
    expect(added).toMatchObject({ limits: {}, uncertain: 'at_least_once' })
    world.wokenMail.splice(0)
    const limits = { per_second: 5, connections: 2 }
    const { status, body } = await update({ limits, uncertain: 'at_most_once' })
    const changed = { ...added, limits, uncertain: 'at_most_once' }
    expect([status, body.domain]).toEqual([200, changed])
    expect(world.wokenMail).toEqual([added.mailer_id])
    expect((await update(undefined)).body.domain).toEqual(changed)
    expect((await update({ limits: { per_day: null } })).body.domain).toMatchObject({
      limits: {},
      uncertain: 'at_most_once',
    })
    expect(await world.get(NAME)).toMatchObject({ limits: {}, uncertain: 'at_most_once' })
    const listed = await world.call('listDomains')
    expect(listed.body.domains).toMatchObject([{ uncertain: 'at_most_once' }])
    const deleted = await world.call('deleteDomain', { domain: NAME })
    expect(deleted.body.domain).toMatchObject({ uncertain: 'at_most_once' })
    expect((await update({})).status).toBe(404)
  })

  it('restores the default with null; the mailer obeys the settings', async () => {
    await world.configureRelay('sparkpost')
    const { mailer_id } = await world.add(NAME)
    const stored = async () =>
      (
        await world.db.query(
          'select limits, uncertain, config_version from mailers_mailer where mailer_id = $1',
          [mailer_id],
        )
      ).rows[0]
    await update({ limits: { per_day: 5 }, uncertain: 'at_most_once' })
    const set = { limits: { per_day: 5 }, uncertain: 'at_most_once', config_version: '2' }
    expect(await stored()).toEqual(set)
    await update({ limits: null, uncertain: null })
    const unset = { limits: {}, uncertain: 'at_least_once', config_version: '3' }
    expect(await stored()).toEqual(unset)
  })

  it.each([
    [{ limits: { per_second: 0 } }, '/limits/per_second'],
    [{ limits: { messages_per_connection: 5 } }, '/limits/messages_per_connection'],
    [{ uncertain: 'perhaps' }, '/uncertain'],
    [{ domain: NAME }, '/domain'],
  ])('answers 400 to %j', async (body, path) => {
    await world.configureRelay('sparkpost')
    await world.add(NAME)
    expect(await update(body)).toMatchObject({ status: 400, body: { errors: [{ path }] } })
  })

  it('answers 403 to a read-only key, and 404 to another tenant', async () => {
    await world.configureRelay('sparkpost')
    await world.add(NAME)
    expect((await update({}, 'reader')).status).toBe(403)
    expect((await update({ uncertain: 'at_most_once' }, 'b')).status).toBe(404)
    expect(await world.get(NAME)).toMatchObject({ uncertain: 'at_least_once' })
  })
})

describe('listDomains: 200', () => {
  it('pages through the domains of one tenant and state, newest first', async () => {
    await world.configureRelay('simulator')
    await world.configureRelay('sparkpost')
    await world.configureRelay('simulator', 'b')
    const names = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test']
    for (const name of names) await world.add(name, { body: { relay: 'simulator' } })
    await world.add(NAME, { body: { relay: 'sparkpost' } })
    await world.add('x.test', { key: 'b' })
    const namesOf = (body: { domains: { domain: string }[] }) =>
      body.domains.map(({ domain }) => domain)
    const first = await world.call('listDomains', { query: '?pageSize=4' })
    expect(namesOf(first.body)).toEqual([NAME, 'e.test', 'd.test', 'c.test'])
    const query = `?pageSize=4&pageToken=${first.body.nextPageToken}`
    const second = await world.call('listDomains', { query })
    expect(namesOf(second.body)).toEqual(['b.test', 'a.test'])
    expect(second.body).not.toHaveProperty('nextPageToken')
    const verified = await world.call('listDomains', { query: '?state=verified' })
    expect(namesOf(verified.body)).toEqual([...names].reverse())
    const others = await world.call('listDomains', { query: '?state=pending' })
    expect(namesOf(others.body)).toEqual([NAME])
    const foreign = await world.call('listDomains', { key: 'b', query })
    expect(namesOf(foreign.body)).toEqual([])
    const mixed = await world.call('listDomains', { query: `${query}&state=verified` })
    expect(mixed).toMatchObject({ status: 400 })
    expect(await world.call('listDomains', { query: '?state=perhaps' })).toMatchObject({
      status: 400,
    })
  })
})

describe('verifyDomain: 200', () => {
  it('[2.7] answers the state of each record, and makes one event for each call', async () => {
    await world.configureRelay('sparkpost')
    const added = await world.add(NAME, { body: { custom_args: { customer: 17 } } })
    const [ownership, dkim] = added.records
    if (ownership === undefined || dkim === undefined) throw new Error('no records')
    world.dns.publish([ownership])
    world.dns.set(dkim.name, 'TXT', ['v=DKIM1; p=AAAA'])
    world.clock.advance(1_000)
    const first = await world.verify(NAME)
    expect(first).toMatchObject({
      state: 'pending',
      verified: false,
      verified_at: null,
      last_check_at: world.clock.now().toISOString(),
      records: [
        { purpose: 'ownership', status: 'valid', dns: 'found', found: [ownership.value] },
        { purpose: 'dkim', status: 'invalid', dns: 'found', found: ['v=DKIM1; p=AAAA'] },
        { purpose: 'dmarc', status: 'pending', dns: 'absent', found: [] },
      ],
    })
    // The provider is asked where nothing else is missing.
    expect(world.sparkpost.requests).toHaveLength(1)
    world.dns.set(dkim.name, 'TXT', [dkim.value])
    const second = await world.verify(NAME)
    expect(second).toMatchObject({
      state: 'verified',
      verified: true,
      verified_at: expect.stringMatching(/Z$/),
      provider: { agrees: true, detail: null },
      records: [{ status: 'valid' }, { status: 'valid' }, { status: 'pending' }],
    })
    const of = (verified: boolean) => ({
      event: 'DOMAIN_VERIFICATION',
      details: {
        webhook_id: '',
        domain: NAME,
        verified,
        mailer_id: added.mailer_id,
        custom_args: { customer: 17 },
      },
    })
    expect(await world.events()).toEqual([of(false), of(true)])
    await world.verify(NAME)
    expect(await world.events()).toEqual([of(false), of(true), of(true)])
  })

  it('allows sending from every address of the domain, and no other', async () => {
    await world.configureRelay('sparkpost')
    const added = await world.add(NAME)
    expect(await mailerOf(`a@${NAME}`)).toMatchObject({ problem: 'unverified' })
    world.publish(added)
    await world.verify(NAME)
    expect(await mailerOf(`a@${NAME}`)).toMatchObject({ mailerId: added.mailer_id })
    expect(await mailerOf(`a@sub.${NAME}`)).toBeUndefined()
    expect(await mailerOf(`a@${NAME}`, 'tn_b')).toBeUndefined()
  })

  it('needs the agreement of the provider, and answers its words', async () => {
    await world.configureRelay('sparkpost')
    world.publish(await world.add(NAME))
    world.sparkpost.domains.setVerification(() => ({ dkim: 'invalid', error: 'key too weak' }))
    expect(await world.verify(NAME)).toMatchObject({
      verified: false,
      state: 'pending',
      provider: { agrees: false, detail: 'key too weak' },
      records: [{ status: 'valid' }, { status: 'valid' }, {}],
    })
    expect(await mailerOf(`a@${NAME}`)).toMatchObject({ problem: 'unverified' })
  })

  it('accepts the aliases of the provider, also over another name', async () => {
    await world.configureRelay('sendgrid')
    const added = await world.add(NAME)
    const isAlias = ({ type }: { type: string }) => type === 'CNAME'
    world.publish(added, (record) => !isAlias(record))
    for (const [i, { name, value }] of added.records.filter(isAlias).entries()) {
      world.dns.set(name, 'CNAME', [`hop${i}.example.net`])
      world.dns.set(`hop${i}.example.net`, 'CNAME', [value.toUpperCase()])
    }
    world.sendgrid.domains.setVerification(() => ({}))
    const verified = await world.verify(NAME)
    expect(verified.verified).toBe(true)
    expect(verified.records.filter(isAlias).map(({ found }) => found.length)).toEqual([2, 2, 2])
  })

  it.each([
    ['are silent', 'silence' as const],
    ['fail', { rcode: 2 }],
    ['refuse', { rcode: 5 }],
  ])('name servers that %s change no status', async (_what, said) => {
    await world.configureRelay('sparkpost')
    const verified = await world.addVerified(NAME)
    await world.add('new.example.com')
    world.dns.setScript(() => said)
    const again = await world.verify(NAME)
    expect(again).toMatchObject({ verified: true, state: 'verified' })
    expect(again.records.map(({ status, dns, found }) => [status, dns, found])).toEqual(
      verified.records.map(({ status }) => [status, 'unknown', []]),
    )
    const pending = await world.verify('new.example.com')
    expect(pending).toMatchObject({ verified: false, state: 'pending' })
    for (const { status, dns } of pending.records)
      expect([status, dns]).toEqual(['pending', 'unknown'])
    expect((await world.events()).map(({ details }) => details.verified)).toEqual([
      true,
      true,
      false,
    ])
  })

  it.each([
    ['does not answer', { ending: 'rst' as const }],
    ['fails', { status: 500, json: {} }],
    ['rejects the key', { status: 401, json: { errors: [{ message: 'Unauthorized.' }] } }],
  ])('a provider that %s changes nothing', async (_what, said) => {
    await world.configureRelay('sparkpost')
    await world.addVerified(NAME)
    world.sparkpost.setScript(() => said)
    const again = await world.verify(NAME)
    expect(again).toMatchObject({ verified: true, provider: { agrees: true } })
    expect(again.provider.detail).not.toBeNull()
  })

  it('reports a missing record at once when it is called, and stops sending', async () => {
    await world.configureRelay('sparkpost')
    const verified = await world.addVerified(NAME)
    world.dns.remove(verified.records[1]?.name ?? '')
    expect(await world.verify(NAME)).toMatchObject({
      verified: false,
      verified_at: null,
      state: 'unverified',
      records: [{ status: 'valid' }, { status: 'invalid', dns: 'absent', found: [] }, {}],
    })
    expect(await mailerOf(`a@${NAME}`)).toMatchObject({ problem: 'unverified' })
    world.publish(verified, ({ purpose }) => purpose === 'dkim')
    expect(await world.verify(NAME)).toMatchObject({ verified: true, state: 'verified' })
  })

  it('reports a domain that the provider has lost', async () => {
    await world.configureRelay('sparkpost')
    await world.addVerified(NAME)
    const { sparkpost } = world
    const gone = { status: 404, json: { errors: [{ message: 'Domain does not exist' }] } }
    sparkpost.setScript(() => gone)
    const lost = await world.verify(NAME)
    expect(lost).toMatchObject({ verified: false, provider: { agrees: false } })
    expect(lost.provider.detail).toContain('add it again')
  })

  it('verifies by the simulator without a query', async () => {
    await world.configureRelay('simulator')
    await world.add('shop.test', { body: { custom_args: { a: 1 } } })
    expect(await world.verify('shop.test')).toMatchObject({ verified: true, next_check_at: null })
    expect(world.dns.questions.some(({ name }) => name.endsWith('shop.test'))).toBe(false)
    expect(await world.events()).toMatchObject([
      { details: { domain: 'shop.test', verified: true, custom_args: { a: 1 } } },
    ])
  })

  it('[5] continues the trace of the request', async () => {
    await world.configureRelay('simulator')
    await world.add('shop.test')
    const trace = '0123456789abcdef0123456789abcdef'
    await world.call('verifyDomain', {
      domain: 'shop.test',
      traceparent: `00-${trace}-0123456789abcdef-01`,
    })
    const [event] = await rowsOf('webhooks_event')
    expect(event).toMatchObject({ traceparent: expect.stringContaining(`00-${trace}-`) })
  })

  it('finds the DMARC policy at the organisational domain', async () => {
    await world.configureRelay('sparkpost')
    await world.add(NAME)
    world.dns.set('_dmarc.example.com', 'TXT', ['v=DMARC1; p=reject'])
    expect((await world.verify(NAME)).records[2]).toMatchObject({
      purpose: 'dmarc',
      status: 'valid',
      found: ['v=DMARC1; p=reject'],
    })
  })

  it('continues a creation that the provider has not confirmed', async () => {
    await world.configureRelay('sparkpost')
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    expect(await add({})).toMatchObject({ status: 422 })
    expect(await world.verify(NAME)).toMatchObject({ state: 'creating', verified: false })
    world.sparkpost.setScript(undefined)
    const created = await world.verify(NAME)
    expect(created).toMatchObject({ state: 'pending', verified: false })
    world.publish(created)
    expect(await world.verify(NAME)).toMatchObject({ verified: true })
    expect((await world.events()).map(({ details }) => details.verified)).toEqual([
      false,
      false,
      true,
    ])
  })
})

describe('verifyDomain: 422', () => {
  it('answers what the provider refuses for good, and deletes the domain', async () => {
    await world.configureRelay('sparkpost')
    world.sparkpost.setScript(() => ({ status: 503, json: {} }))
    await add({})
    world.sparkpost.setScript(() => ({
      status: 400,
      json: { errors: [{ code: '7000', message: 'Restricted domain' }] },
    }))
    const answer = await world.call('verifyDomain', { domain: NAME })
    expect(answer).toMatchObject({ status: 422, body: { code: 'relay_refused' } })
    expect(answer.body.message).toContain('Restricted domain')
    expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
    expect(await world.events()).toEqual([])
  })
})

describe('verifyDomain: 429', () => {
  it('limits the calls a minute, and says when to try again', async () => {
    const limited = await createDomainWorld({ verificationsMax: 2 })
    try {
      await limited.configureRelay('simulator')
      await limited.configureRelay('simulator', 'b')
      await limited.add('shop.test')
      await limited.add('shop.test', { key: 'b' })
      for (const status of [200, 200, 429])
        expect(await limited.call('verifyDomain', { domain: 'shop.test' })).toMatchObject({
          status,
        })
      const refused = await limited.call('verifyDomain', { domain: 'shop.test' })
      expect(refused.body.code).toBe('rate_limited')
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect(await limited.events()).toHaveLength(2)
      expect(await limited.verify('shop.test', 'b')).toMatchObject({ verified: true })
    } finally {
      await limited.close()
    }
  })
})

describe('deleteDomain: 200', () => {
  it('answers the domain, and deletes it here and at the provider, with its mailer', async () => {
    await world.configureRelay('sparkpost')
    const verified = await world.addVerified(NAME)
    const { status, body } = await world.call('deleteDomain', { domain: NAME })
    expect({ status, body }).toEqual({
      status: 200,
      body: { success: true, message: 'Domain Deleted', domain: await asListed(verified) },
    })
    expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
    expect(world.sparkpost.domains.find(NAME)).toBeUndefined()
    for (const table of ['domains_domain', 'domains_ownership', 'mailers_mailer'])
      expect(await rowsOf(table)).toEqual([])
    expect(world.wokenMail).toEqual([verified.mailer_id])
    expect(await world.call('deleteDomain', { domain: NAME })).toMatchObject({ status: 404 })
  })

  const asListed = async (domain: object) => ({ ...domain, updated_at: expect.anything() })

  it('frees the domain for any tenant that can prove it', async () => {
    await world.configureRelay('sparkpost')
    await world.configureRelay('sendgrid', 'b')
    await world.addVerified(NAME)
    await world.call('deleteDomain', { domain: NAME })
    world.dns.clear()
    expect(await world.addVerified(NAME, { key: 'b' })).toMatchObject({ relay: 'sendgrid' })
  })

  it('allows adding it again at once, with a new proof', async () => {
    await world.configureRelay('sparkpost')
    const first = await world.addVerified(NAME)
    await world.call('deleteDomain', { domain: NAME })
    const second = await world.add(NAME)
    expect(second).toMatchObject({ state: 'pending', verified: false })
    expect(second.mailer_id).not.toBe(first.mailer_id)
    expect(second.records[0]?.value).not.toBe(first.records[0]?.value)
    expect(await world.verify(NAME)).toMatchObject({ verified: false })
  })

  it.each(['sparkpost', 'sendgrid'] as const)(
    'leaves a domain at %s that existed before, as others may send by it',
    async (kind) => {
      await world.configureRelay(kind)
      const provider = world[kind].domains
      provider.add(NAME)
      const there = structuredClone(provider.find(NAME))
      await world.addVerified(NAME)
      expect(await world.call('deleteDomain', { domain: NAME })).toMatchObject({ status: 200 })
      await world.workAll()
      expect(provider.find(NAME)).toMatchObject({ domain: there?.domain })
      for (const table of ['domains_domain', 'domains_ownership', 'mailers_mailer'])
        expect(await rowsOf(table)).toEqual([])
      expect(await world.add(NAME)).toMatchObject({ state: 'pending' })
    },
  )

  it('deletes a domain of the simulator completely', async () => {
    await world.configureRelay('simulator')
    await world.add('shop.test')
    expect(await world.call('deleteDomain', { domain: 'shop.test' })).toMatchObject({ status: 200 })
    expect(await rowsOf('domains_domain')).toEqual([])
    expect(await rowsOf('mailers_mailer')).toEqual([])
  })
})

describe('a changed relay account', () => {
  it('keeps its domains', async () => {
    await world.configureRelay('sparkpost')
    const { mailer_id: mailerId } = await world.addVerified(NAME)
    const kind = 'sparkpost'
    const woken = await world.db.transaction((tx) =>
      noteRelayChanged(tx, { tenantId: 'tn_a', kind }),
    )
    expect(woken).toMatchObject([{ mailerId }])
    expect(await world.get(NAME)).toMatchObject({ verified: true })
  })
})

describe('private keys', () => {
  it('are stored sealed only, and open in their own row only', async () => {
    await world.configureRelay('sparkpost')
    await world.add(NAME)
    const line = world.sparkpost.domains.find(NAME)?.dkim.private.slice(640, 704) ?? ''
    expect(line).toHaveLength(64)
    expect(world.seen.filter((text) => text.includes(line))).toEqual([])
    const { rows } = await world.db.query<{ text: string }>(
      'select d::text as text from domains_domain d',
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.text).not.toContain(line)
    expect(rows[0]?.text).toContain('v1.k.')
  })
})
