/** The operations of inbound routing, one after the other, by the statuses that they answer. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createInboundWorld,
  INBOUND_HOST,
  type InboundOperation,
  type InboundWorld,
} from '../../../test/inbound-world.ts'
import type { Key } from '../../../test/test-api.ts'
import { openHeaders, testKeyRing } from '../../../test/webhook-api.ts'

let world: InboundWorld
beforeAll(async () => {
  world = await createInboundWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'in.example.com'
const SECRET = 'canary-header-value'
const configure = (body: object = {}, key: Key = 'a') =>
  world.call('configureInboundRouting', { key, body: { domain: NAME, url: world.url(), ...body } })
const update = (body: object, key: Key = 'a') =>
  world.call('updateInboundDomain', { key, domain: NAME, body })
const codeOf = ({ status, body }: { status: number; body: { code: string } }) => [status, body.code]
const rowsOf = async (table: string) => (await world.db.query(`select * from ${table}`)).rows
const found = async (local: string, domain = NAME) => {
  const answer = await world.finder.find(`${local}@${domain}`)
  return answer.kind === 'route' ? answer.route.owner : answer.kind
}
/** What the webhook of an owner really sends to, and with. */
async function webhookOf(owner: string, tenantId = 'tn_a') {
  const { rows } = await world.db.query<{
    webhook_id: string
    url: string
    active: boolean
    headers_sealed: string
  }>('select * from webhooks_subscription where tenant_id = $1 and owner = $2', [tenantId, owner])
  const [row] = rows
  if (row === undefined) return undefined
  const { webhook_id: webhookId, url, active, headers_sealed } = row
  const headers = openHeaders(testKeyRing, { tenantId, webhookId }, headers_sealed)
  return { url, active, headers }
}

/** As addDomain leaves it. */
async function insertSendingDomain(o: {
  tenantId: string
  isVerified?: boolean
  relay?: string
  isOwned?: boolean
}) {
  const { tenantId, isVerified = true, relay = 'sparkpost', isOwned = true } = o
  await world.db.query(
    `insert into domains_domain (tenant_id, domain, mailer_id, relay, stage, options,
       ownership_token, dkim_keys, provider_state, verified_at)
     values ($1, $2, $1 || '_m', $3, 'ready', '{}', 'sending-token', '[]', '{}',
       case when $4 then now() end)`,
    [tenantId, NAME, relay, isVerified],
  )
  if (isOwned)
    await world.db.query('insert into domains_ownership (domain, tenant_id) values ($1, $2)', [
      NAME,
      tenantId,
    ])
}

describe('configureInboundRouting: 201', () => {
  it('[3.5] answers the records to publish, and accepts no mail yet', async () => {
    const { status, body } = await configure({ method: 'POST', headers: { 'X-Secret': SECRET } })
    expect(status).toBe(201)
    expect(body).toEqual({
      success: true,
      message: 'Inbound Routing Configured',
      inbound_domain: {
        domain: NAME,
        url: world.url(),
        method: 'POST',
        headers_present: ['X-Secret'],
        active: true,
        webhook_id: expect.stringMatching(/^wh_[0-9A-Z]{26}$/),
        state: 'pending',
        verified: false,
        verified_at: null,
        records: [
          {
            type: 'MX',
            name: NAME,
            value: INBOUND_HOST,
            priority: 10,
            purpose: 'mx',
            required: true,
            status: 'pending',
            dns: 'absent',
            found: [],
          },
          {
            type: 'TXT',
            name: `_postrider.${NAME}`,
            value: expect.stringMatching(/^postrider-verification=[0-9A-Za-z]{43}$/),
            purpose: 'ownership',
            required: false,
            status: 'pending',
            dns: 'absent',
            found: [],
          },
        ],
        last_check_at: world.clock.now().toISOString(),
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    })
    expect(await webhookOf(`${NAME}/`)).toEqual({
      url: world.url(),
      active: true,
      headers: [['X-Secret', SECRET]],
    })
    expect(await found('a')).toBe('unproven_domain')
    expect(world.receiver.requests).toEqual([])
  })

  it('takes a name in other scripts, in any case, and with its final dot', async () => {
    const { domain } = await world.configure('In.B\u00dcCHER.example.')
    expect(domain).toBe('in.xn--bcher-kva.example')
    for (const spelling of ['in.b\u00fccher.example', 'IN.XN--BCHER-KVA.EXAMPLE.'])
      expect((await world.get(spelling)).domain).toBe(domain)
  })

  it('[3.5] verifies at once where the MX points here already', async () => {
    world.dns.set(NAME, 'MX', ['5 backup.example.net', `20 ${INBOUND_HOST.toUpperCase()}`])
    expect(await world.configure(NAME)).toMatchObject({
      verified: true,
      state: 'verified',
      records: [{ status: 'valid', found: expect.any(Array) }, { status: 'pending' }],
    })
    expect(await found('a')).toBe(`${NAME}/`)
  })

  it('verifies at once where the tenant has verified the domain for sending', async () => {
    await insertSendingDomain({ tenantId: 'tn_a' })
    expect(await world.configure(NAME)).toMatchObject({
      verified: true,
      records: [{ status: 'pending' }, { value: 'postrider-verification=sending-token' }],
    })
    expect(await found('a')).toBe(`${NAME}/`)
  })

  it.each([
    ["somebody else's sending domain", { tenantId: 'tn_b' }],
    ['one that is not verified', { tenantId: 'tn_a', isVerified: false }],
    ['one that somebody else owns', { tenantId: 'tn_a', isOwned: false }],
    ["a simulator's", { tenantId: 'tn_a', relay: 'simulator', isOwned: false }],
  ])('does not verify by %s', async (_what, domain) => {
    await insertSendingDomain(domain)
    expect(await world.configure(NAME)).toMatchObject({ verified: false, state: 'pending' })
  })

  it('[5] accepts a domain that another tenant has not proven', async () => {
    const own = await world.configure(NAME)
    const other = await world.configure(NAME, { key: 'b' })
    expect(other.records[1]?.value).not.toBe(own.records[1]?.value)
    expect(other.webhook_id).not.toBe(own.webhook_id)
  })
})

describe('configureInboundRouting: 400', () => {
  it.each<[path: string, change: object]>([
    ['/domain', { domain: undefined }],
    ['/domain', { domain: 'com' }],
    ['/domain', { domain: '192.0.2.1' }],
    ['/domain', { domain: 'ada@example.com' }],
    ['/domain', { domain: 'a_b.example.com' }],
    ['/domain', { domain: 7 }],
    ['/url', { url: undefined }],
    ['/url', { url: 'nonsense' }],
    ['/url', { url: 'https://hooks.example.test:25/' }],
    ['/url', { url: null }],
    ['/method', { method: 'PUT' }],
    ['/headers', { headers: ['X'] }],
    ['/headers/Host', { headers: { Host: 'x' } }],
    ['/headers/Traceparent', { headers: { Traceparent: 'x' } }],
    ['/headers/X-A', { headers: { 'X-A': 'a\nb' } }],
    ['/unknown', { unknown: 1 }],
  ])('names %s: %j', async (path, change) => {
    const { status, body } = await configure(change)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
    expect(body.errors.map((error: { path: string }) => error.path)).toContain(path)
    expect(await rowsOf('inbound_domain')).toEqual([])
  })

  it.each(['https://10.0.0.1/', 'https://user:secret@hooks.example.test/', 'ftp://example.test/'])(
    'answers url_not_allowed, and names the field: %s',
    async (url) => {
      const { status, body } = await configure({ url })
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'url_not_allowed' })
      expect(body.message).toMatch(/^url must be an https URL/)
      expect(await rowsOf('inbound_domain')).toEqual([])
    },
  )
})

describe('inbound domains: 409', () => {
  it('configureInboundRouting refuses a domain that the tenant has', async () => {
    const domain = await world.configure(NAME)
    const answer = await configure({ domain: 'IN.example.com.' })
    expect(codeOf(answer)).toEqual([409, 'conflict'])
    expect(await world.get(NAME)).toMatchObject({ webhook_id: domain.webhook_id })
  })

  it('configureInboundRouting makes one domain and one webhook for many concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => configure()))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 409)])
    expect(await rowsOf('inbound_domain')).toHaveLength(1)
    expect(await rowsOf('webhooks_subscription')).toHaveLength(1)
  })

  it('[5] configure, update and get say that a domain is taken which another tenant has proven', async () => {
    const other = await world.configure(NAME, { key: 'b' })
    await world.configureVerified(NAME)
    world.publish(other, 'TXT')
    for (const answer of [
      await configure({}, 'b'),
      await update({ active: false }, 'b'),
      await world.call('getInboundDomain', { key: 'b', domain: NAME }),
    ])
      expect(codeOf(answer)).toEqual([409, 'domain_taken'])
    const { body } = await world.call('listInboundDomains', { key: 'b' })
    expect(body.inbound_domains).toMatchObject([{ state: 'taken', verified: false, active: true }])
    await world.call('deleteInboundDomain', { domain: NAME })
    expect(await world.get(NAME, 'b')).toMatchObject({ state: 'verified' })
    expect(await found('a')).toBe(`${NAME}/`)
  })

  it('[5] a domain without its old proof moves to the tenant that publishes a new one', async () => {
    await world.configureVerified(NAME)
    world.dns.clear()
    const next = await world.configure(NAME, { key: 'b' })
    expect(next).toMatchObject({ verified: false, state: 'taken' })
    world.publish(next, 'MX')
    expect(await world.get(NAME, 'b')).toMatchObject({ verified: false, state: 'taken' })
    expect(await rowsOf('inbound_ownership')).toMatchObject([{ tenant_id: 'tn_a' }])
    world.publish(next, 'TXT')
    expect(await world.get(NAME, 'b')).toMatchObject({ verified: true, state: 'verified' })
    world.publish(next, 'MX')
    expect(await rowsOf('inbound_ownership')).toMatchObject([{ tenant_id: 'tn_b' }])
    expect(codeOf(await world.call('getInboundDomain', { domain: NAME }))).toEqual([
      409,
      'domain_taken',
    ])
    const { body } = await world.call('listInboundDomains')
    expect(body.inbound_domains).toMatchObject([{ state: 'taken', verified: false }])
  })

  it('[5] a domain without its proof stays with its tenant while nobody else proves it', async () => {
    const own = await world.configureVerified(NAME)
    world.dns.clear()
    const next = await world.configure(NAME, { key: 'b' })
    expect(await world.get(NAME, 'b')).toMatchObject({ verified: false, state: 'taken' })
    expect(await world.get(NAME)).toMatchObject({ verified: true })
    world.publish(next, 'TXT')
    world.publish(own, 'TXT')
    expect(codeOf(await world.call('getInboundDomain', { key: 'b', domain: NAME }))).toEqual([
      409,
      'domain_taken',
    ])
    world.dns.setScript(() => ({ rcode: 2 }))
    expect(codeOf(await configure({ domain: NAME }, 'b'))).toEqual([409, 'domain_taken'])
    world.dns.setScript(undefined)
    expect(await rowsOf('inbound_ownership')).toMatchObject([{ tenant_id: 'tn_a' }])
  })

  it.each([
    ['name servers do not answer', async () => world.dns.setScript(() => ({ rcode: 2 }))],
    [
      'its owner has verified it for sending',
      async () => {
        world.dns.clear()
        await insertSendingDomain({ tenantId: 'tn_a' })
      },
    ],
  ])('[5] a domain is taken while %s', async (_what, prepare) => {
    await world.configureVerified(NAME)
    await prepare()
    expect(codeOf(await configure({}, 'b'))).toEqual([409, 'domain_taken'])
  })

  it('[5] one of two tenants gets the domain that both prove at once', async () => {
    for (const key of ['a', 'b'] as const)
      world.publish(await world.configure(NAME, { key }), 'TXT')
    world.dns.set(NAME, 'MX', [`10 ${INBOUND_HOST}`])
    const keys = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? 'a' : 'b'))
    const answers = await Promise.all(
      keys.map((key) => world.call('getInboundDomain', { key: key as Key, domain: NAME })),
    )
    const winner = keys[answers.findIndex(({ status }) => status === 200)]
    for (const [i, answer] of answers.entries()) {
      if (keys[i] === winner) expect(answer.body.inbound_domain.verified).toBe(true)
      else expect(codeOf(answer)).toEqual([409, 'domain_taken'])
    }
    expect(await rowsOf('inbound_ownership')).toMatchObject([{ tenant_id: `tn_${winner}` }])
  })

  it('createInboundUsername refuses a username that the domain has, in any spelling', async () => {
    await world.configure(NAME)
    await world.addUsername(NAME, { username: 'support' })
    for (const username of ['support', 'Support', '"support"']) {
      const answer = await world.call('createInboundUsername', { domain: NAME, body: { username } })
      expect(codeOf(answer)).toEqual([409, 'conflict'])
    }
  })

  it('createInboundUsername makes one username and one webhook for many concurrent requests', async () => {
    await world.configure(NAME)
    const body = { username: 'support', url: world.url('support') }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.call('createInboundUsername', { domain: NAME, body })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409),
    ])
    expect(await rowsOf('webhooks_subscription')).toHaveLength(2)
  })

  it('createInboundUsername refuses more than 10,000 usernames', async () => {
    await world.configure(NAME)
    await world.db.query(
      `insert into inbound_username (tenant_id, domain, username, id, has_webhook)
       select 'tn_a', $1, 'u' || i, i::text, false from generate_series(1, 9999) i`,
      [NAME],
    )
    await world.addUsername(NAME, { username: 'last' })
    const body = { username: 'one-more' }
    const answer = await world.call('createInboundUsername', { domain: NAME, body })
    expect(codeOf(answer)).toEqual([409, 'conflict'])
  })
})

describe('inbound domains: 422', () => {
  it.each<[InboundOperation, object]>([
    ['configureInboundRouting', { domain: NAME }],
    ['updateInboundDomain', {}],
    ['createInboundUsername', { username: 'new' }],
    ['updateInboundUsername', {}],
  ])('%s changes nothing when the receiver cannot be reached', async (id, rest) => {
    if (id !== 'configureInboundRouting') {
      await world.configure(NAME)
      await world.addUsername(NAME, { username: 'support', url: world.url('support') })
    }
    const before = await rowsOf('webhooks_subscription')
    const body = { ...rest, url: 'https://nowhere.example.test/' }
    const answer = await world.call(id, { domain: NAME, username: 'support', body })
    expect(codeOf(answer)).toEqual([422, 'url_unreachable'])
    expect(await rowsOf('webhooks_subscription')).toEqual(before)
  })
})

describe('inbound domains: 429', () => {
  it('limits checks of ownership, and answers a verified domain from the record', async () => {
    const limited = await createInboundWorld({ checksMax: 3 })
    try {
      const domain = await limited.configure(NAME)
      await limited.get(NAME)
      limited.publish(domain)
      expect(await limited.get(NAME)).toMatchObject({ verified: true })
      expect(await limited.get(NAME)).toMatchObject({ verified: true })
      const body = { domain: 'other.example.com', url: limited.url() }
      const answer = await limited.call('configureInboundRouting', { body })
      expect(codeOf(answer)).toEqual([429, 'rate_limited'])
      expect(answer.headers).toMatchObject({ 'retry-after': expect.any(String) })
    } finally {
      await limited.close()
    }
  })
})

describe('getInboundDomain', () => {
  it.each(['TXT', 'MX'] as const)('[3.5] verifies by the %s alone', async (type) => {
    const domain = await world.configure(NAME)
    world.publish(domain, type)
    const { records, ...verified } = await world.get(NAME)
    expect(verified).toMatchObject({
      verified: true,
      state: 'verified',
      verified_at: expect.stringMatching(/Z$/),
    })
    expect(records.filter(({ status }) => status === 'valid').map((r) => r.type)).toEqual([type])
    expect(await found('anybody')).toBe(`${NAME}/`)
  })

  it.each([
    ['an MX that leads elsewhere', 'MX', NAME, '10 mx.example.org'],
    ['the proof of another', 'TXT', `_postrider.${NAME}`, 'postrider-verification=x'],
    ['an MX of a name below', 'MX', `a.${NAME}`, `10 ${INBOUND_HOST}`],
  ] as const)('does not verify by %s', async (_what, type, name, value) => {
    await world.configure(NAME)
    world.dns.set(name, type, [value])
    expect(await world.get(NAME)).toMatchObject({ verified: false })
    expect(await found('a')).toBe('unproven_domain')
  })

  it('says what was found instead', async () => {
    await world.configure(NAME)
    world.dns.set(NAME, 'MX', ['10 mx.example.org'])
    const { records } = await world.get(NAME)
    expect(records[0]).toMatchObject({
      status: 'invalid',
      dns: 'found',
      found: ['10 mx.example.org'],
    })
  })

  it('changes nothing while name servers are silent or fail', async () => {
    const domain = await world.configure(NAME)
    world.publish(domain, 'TXT')
    world.dns.setScript(() => ({ rcode: 2 }))
    const { records, verified } = await world.get(NAME)
    expect({ verified, records }).toMatchObject({
      verified: false,
      records: [
        { status: 'pending', dns: 'unknown' },
        { status: 'pending', dns: 'unknown' },
      ],
    })
    world.dns.setScript(undefined)
    expect(await world.get(NAME)).toMatchObject({ verified: true })
  })

  it('keeps a domain verified without its records, and looks them up now and then', async () => {
    const domain = await world.configure(NAME)
    world.publish(domain, 'TXT')
    await world.get(NAME)
    const asked = world.dns.questions.length
    await world.get(NAME)
    expect(world.dns.questions).toHaveLength(asked)
    world.dns.clear()
    world.clock.advance(60_000)
    expect(await world.get(NAME)).toMatchObject({
      verified: true,
      records: [{ status: 'pending' }, { status: 'invalid' }],
    })
    world.publish(domain)
    world.clock.advance(60_000)
    expect(await world.get(NAME)).toMatchObject({
      records: [{ status: 'valid' }, { status: 'valid' }],
    })
    expect(await found('a')).toBe(`${NAME}/`)
  })

  it('answers 404 and verifies nothing when the domain is deleted meanwhile', async () => {
    world.publish(await world.configure(NAME))
    const hold = Promise.withResolvers<void>()
    world.dns.setScript(() => ({ after: hold.promise.then(() => undefined) }))
    const asked = world.dns.questions.length
    const getting = world.call('getInboundDomain', { domain: NAME })
    await world.dns.waitFor((questions) => questions.length > asked)
    await world.call('deleteInboundDomain', { domain: NAME })
    world.dns.setScript(undefined)
    hold.resolve()
    expect(codeOf(await getting)).toEqual([404, 'not_found'])
    expect(await rowsOf('inbound_ownership')).toEqual([])
  })
})

describe('updateInboundDomain: 200', () => {
  it('changes given fields, keeps the others, and says which stream to wake', async () => {
    const domain = await world.configure(NAME, { body: { headers: { 'X-Secret': SECRET } } })
    const { status, body } = await update({ url: world.url('2'), domain: 'IN.example.com' })
    expect({ status, message: body.message }).toEqual({
      status: 200,
      message: 'Inbound Domain Updated',
    })
    expect(body.inbound_domain).toMatchObject({
      url: world.url('2'),
      headers_present: ['X-Secret'],
    })
    expect(world.woken).toEqual([domain.webhook_id])
    await update({ headers: { 'X-New': 'new' }, method: 'POST' })
    expect(await webhookOf(`${NAME}/`)).toEqual({
      url: world.url('2'),
      active: true,
      headers: [['X-New', 'new']],
    })
    expect((await update({ active: false })).body.inbound_domain).toMatchObject({ active: false })
    expect((await update({})).body.inbound_domain).toMatchObject({ active: false })
    expect((await update({ headers: {}, active: true })).body.inbound_domain).toMatchObject({
      active: true,
      headers_present: [],
    })
  })

  it('[7.3] removes the headers with null', async () => {
    await world.configure(NAME, { body: { headers: { 'X-Secret': SECRET } } })
    const { body } = await update({ headers: null, domain: null, method: null })
    expect(body.inbound_domain).toMatchObject({ headers_present: [], active: true })
  })

  it('[3.5] checks again while the domain is not verified', async () => {
    world.publish(await world.configure(NAME), 'MX')
    const { body } = await update({ active: false })
    expect(body.inbound_domain).toMatchObject({ verified: true, active: false })
    expect(await found('a')).toBe(`${NAME}/`)
  })

  it('moves the usernames without a URL of their own, and no others', async () => {
    await world.configure(NAME)
    await world.addUsername(NAME, { username: 'follows', headers: { 'X-Secret': SECRET } })
    await world.addUsername(NAME, { username: 'own', url: world.url('own') })
    await world.addUsername(NAME, { username: 'none' })
    world.woken.length = 0
    await update({ url: world.url('moved') })
    expect(await webhookOf(`${NAME}/follows`)).toMatchObject({
      url: world.url('moved'),
      headers: [['X-Secret', SECRET]],
    })
    expect(await webhookOf(`${NAME}/own`)).toMatchObject({ url: world.url('own') })
    expect(await webhookOf(`${NAME}/none`)).toBeUndefined()
    expect(world.woken).toHaveLength(2)
    const { body } = await world.call('listInboundUsernames', { domain: NAME })
    const urls = body.inbound_usernames.map((u: { username: string; url: string }) => [
      u.username,
      u.url,
    ])
    expect(urls).toEqual([
      ['none', world.url('moved')],
      ['own', world.url('own')],
      ['follows', world.url('moved')],
    ])
  })

  it.each<[path: string, body: object]>([
    ['/domain', { domain: 'other.example.com' }],
    ['/domain', { domain: '' }],
    ['/url', { url: 'nonsense' }],
    ['/url', { url: null }],
    ['/headers/Host', { headers: { Host: 'x' } }],
    ['/method', { method: 'GET' }],
    ['/active', { active: 'no' }],
    ['/unknown', { unknown: 1 }],
  ])('answers 400 to %s: %j', async (path, body) => {
    await world.configure(NAME)
    const answer = await update(body)
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
  })
})

describe('deleteInboundDomain: 200', () => {
  it('frees the name, and deletes its usernames and webhooks', async () => {
    const { webhook_id } = await world.configureVerified(NAME)
    await world.addUsername(NAME, { username: 'own', url: world.url('own') })
    await world.addUsername(NAME, { username: 'none' })
    await world.configureVerified('other.example.com')
    world.woken.length = 0
    const { status, body } = await world.call('deleteInboundDomain', { domain: NAME })
    expect({ status, message: body.message }).toEqual({
      status: 200,
      message: 'Inbound Domain Deleted',
    })
    expect(body.inbound_domain).toMatchObject({ webhook_id, verified: true })
    expect(world.woken).toHaveLength(2)
    expect(await rowsOf('inbound_username')).toEqual([])
    expect(await rowsOf('inbound_ownership')).toMatchObject([{ domain: 'other.example.com' }])
    expect(await rowsOf('webhooks_subscription')).toHaveLength(1)
    expect(await found('own')).toBe('unknown_domain')
    const again = await world.configure(NAME, { key: 'b' })
    expect(again.verified).toBe(true)
  })
})

describe('createInboundUsername: 201', () => {
  it('[3.5] uses the webhook of the domain without a URL and headers', async () => {
    const domain = await world.configureVerified(NAME)
    expect(await found('support')).toBe(`${NAME}/`)
    const { status, body } = await world.call('createInboundUsername', {
      domain: NAME,
      body: { username: 'Support', domain: NAME, method: 'POST' },
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      success: true,
      message: 'Inbound Username Created',
      inbound_username: {
        domain: NAME,
        username: 'support',
        url: world.url(),
        method: 'POST',
        headers_present: [],
        active: true,
        webhook_id: domain.webhook_id,
        url_inherited: true,
        webhook_inherited: true,
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    })
    expect(await found('SUPPORT+tag')).toBe(`${NAME}/`)
    expect(await found('other')).toBe('unknown_user')
  })

  it('makes a webhook of its own with a URL, without the headers of the domain', async () => {
    await world.configureVerified(NAME)
    await update({ headers: { 'X-Secret': SECRET } })
    const made = await world.addUsername(NAME, { username: 'support', url: world.url('support') })
    expect(made).toMatchObject({
      url: world.url('support'),
      headers_present: [],
      url_inherited: false,
      webhook_inherited: false,
    })
    expect(await webhookOf(`${NAME}/support`)).toMatchObject({ headers: [] })
    expect(await found('support')).toBe(`${NAME}/support`)
  })

  it('makes a webhook of its own with headers, at the URL of the domain', async () => {
    await world.configure(NAME)
    const made = await world.addUsername(NAME, {
      username: 'support',
      url: null,
      headers: { 'X-Secret': SECRET },
    })
    expect(made).toMatchObject({
      url: world.url(),
      headers_present: ['X-Secret'],
      url_inherited: true,
      webhook_inherited: false,
    })
  })

  it('accepts a quoted local part, and other scripts', async () => {
    await world.configureVerified(NAME)
    await world.addUsername(NAME, { username: '"John Smith"' })
    await world.addUsername(NAME, { username: 'JOSE\u0301' })
    expect(await found('"john smith"')).toBe(`${NAME}/`)
    expect(await found('jos\u00e9')).toBe(`${NAME}/`)
    for (const username of ['john smith', '"John Smith"', 'JOS\u00c9'])
      expect((await world.call('getInboundUsername', { domain: NAME, username })).status).toBe(200)
  })

  it.each<[path: string, body: object]>([
    ['/username', {}],
    ['/username', { username: '' }],
    ['/username', { username: 'support+tag' }],
    ['/username', { username: '*' }],
    ['/username', { username: 'a@b' }],
    ['/username', { username: 'a b' }],
    ['/username', { username: 'x'.repeat(65) }],
    ['/username', { username: 'x'.repeat(1000) }],
    ['/username', { username: 7 }],
    ['/domain', { username: 'a', domain: 'other.example.com' }],
    ['/url', { username: 'a', url: 'nonsense' }],
    ['/headers/Host', { username: 'a', headers: { Host: 'x' } }],
    ['/active', { username: 'a', active: true }],
  ])('answers 400 to %s: %j', async (path, body) => {
    await world.configure(NAME)
    const answer = await world.call('createInboundUsername', { domain: NAME, body })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
    expect(await rowsOf('inbound_username')).toEqual([])
  })
})

describe('[contract 10] a signed route', () => {
  const secret = /^whsec_/

  it('shows the secret of a domain once, in the answer that makes it', async () => {
    const made = await configure({ signing: true })
    expect(made.body).toMatchObject({ inbound_domain: { signing: true } })
    expect(made.body.signing_secret).toMatch(secret)
    expect((await update({ signing: true })).body).not.toHaveProperty('signing_secret')
    expect((await update({ signing: false })).body.inbound_domain).not.toHaveProperty('signing')
    const again = await update({ signing: true })
    expect(again.body.signing_secret).toMatch(secret)
    expect(again.body.signing_secret).not.toBe(made.body.signing_secret)
    const { status, body } = await update({ headers: { 'webhook-id': 'mine' } })
    expect([status, body.errors[0].path]).toEqual([400, '/headers/webhook-id'])
  })

  it('is one of a username only with a webhook of its own', async () => {
    await configure({ signing: true })
    const call = (operation: InboundOperation, body: object) =>
      world.call(operation, { domain: NAME, username: 'support', body })
    const ofDomain = await call('createInboundUsername', { username: 'support', signing: true })
    expect([ofDomain.status, ofDomain.body.errors[0].path]).toEqual([400, '/signing'])
    await call('createInboundUsername', { username: 'support' })
    const follows = await call('updateInboundUsername', { signing: true })
    expect([follows.status, follows.body.errors[0].path]).toEqual([400, '/signing'])
    const own = await call('updateInboundUsername', { signing: true, url: world.url('own') })
    expect(own.body.inbound_username).toMatchObject({ signing: true, webhook_inherited: false })
    expect(own.body.signing_secret).toMatch(secret)
    const another = { username: 'sales', url: world.url('sales'), signing: true }
    expect((await call('createInboundUsername', another)).body.signing_secret).toMatch(secret)
  })
})

describe('updateInboundUsername: 200', () => {
  const change = async (body: object) => {
    const answer = await world.call('updateInboundUsername', {
      domain: NAME,
      username: 'support',
      body,
    })
    expect(answer.status).toBe(200)
    return answer.body.inbound_username
  }
  const inherits = { url_inherited: true, webhook_inherited: true }

  it('adds and removes a webhook of its own', async () => {
    await world.configureVerified(NAME)
    await world.addUsername(NAME, { username: 'support' })
    const url = world.url('support')
    expect(await change({ username: 'SUPPORT', url })).toMatchObject({ url, headers_present: [] })
    expect(await found('support')).toBe(`${NAME}/support`)
    expect(await change({ headers: { 'X-A': 'a' } })).toMatchObject({
      url,
      headers_present: ['X-A'],
    })
    expect(await change({ url: null })).toMatchObject({
      url: world.url(),
      headers_present: ['X-A'],
      url_inherited: true,
      webhook_inherited: false,
    })
    expect(await webhookOf(`${NAME}/support`)).toEqual({
      url: world.url(),
      active: true,
      headers: [['X-A', 'a']],
    })
    expect(await change({ headers: {} })).toMatchObject({ ...inherits, headers_present: [] })
    expect(await webhookOf(`${NAME}/support`)).toBeUndefined()
    expect(await found('support')).toBe(`${NAME}/`)
    expect(await change({ headers: { 'X-B': 'b' }, active: false })).toMatchObject({
      url: world.url(),
      active: false,
      headers_present: ['X-B'],
    })
    expect(await change({ active: true })).toMatchObject({ active: true, headers_present: ['X-B'] })
    const nulls = { url: null, headers: null, domain: null, username: null, method: null }
    expect(await change(nulls)).toMatchObject(inherits)
    expect(await webhookOf(`${NAME}/support`)).toBeUndefined()
    expect(await change({})).toMatchObject(inherits)
  })

  it.each<[path: string, body: object]>([
    ['/active', { active: false }],
    ['/domain', { domain: 'other.example.com' }],
    ['/username', { username: 'sales' }],
    ['/url', { url: 'nonsense' }],
    ['/url', { url: '' }],
    ['/headers/Host', { headers: { Host: 'x' } }],
  ])('answers 400 to %s: %j', async (path, body) => {
    await world.configure(NAME)
    await world.addUsername(NAME, { username: 'support' })
    const answer = await world.call('updateInboundUsername', {
      domain: NAME,
      username: 'support',
      body,
    })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
  })
})

describe('deleteInboundUsername: 200', () => {
  it('[3.5] lets the domain accept every local part again after the last username', async () => {
    await world.configureVerified(NAME)
    await world.addUsername(NAME, { username: 'support', url: world.url('support') })
    expect(await found('other')).toBe('unknown_user')
    const { status, body } = await world.call('deleteInboundUsername', {
      domain: NAME,
      username: 'Support',
    })
    expect({ status, username: body.inbound_username }).toMatchObject({
      status: 200,
      username: { username: 'support', url: world.url('support') },
    })
    expect(await found('other')).toBe(`${NAME}/`)
    expect(await rowsOf('webhooks_subscription')).toHaveLength(1)
    expect(world.woken).toContain(body.inbound_username.webhook_id)
  })
})

describe('lists of inbound domains and usernames', () => {
  it('[2] are walked page by page, newest first', async () => {
    const names = ['a', 'b', 'c'].map((label) => `${label}.example.com`)
    for (const domain of names) await world.configure(domain)
    for (const username of ['x', 'y', 'z']) await world.addUsername('a.example.com', { username })
    const walk = async (id: InboundOperation, list: string, field: string) => {
      const found: string[] = []
      let token = ''
      do {
        const query = `?pageSize=2${token === '' ? '' : `&pageToken=${token}`}`
        const { status, body } = await world.call(id, { domain: 'a.example.com', query })
        expect(status).toBe(200)
        found.push(...body[list].map((entry: Record<string, string>) => entry[field]))
        token = body.nextPageToken ?? ''
      } while (token !== '')
      return found
    }
    expect(await walk('listInboundDomains', 'inbound_domains', 'domain')).toEqual(
      names.toReversed(),
    )
    expect(await walk('listInboundUsernames', 'inbound_usernames', 'username')).toEqual([
      'z',
      'y',
      'x',
    ])
  })
})

describe('inbound domains: 404', () => {
  const calls: [InboundOperation, object | undefined][] = [
    ['getInboundDomain', undefined],
    ['updateInboundDomain', {}],
    ['deleteInboundDomain', undefined],
    ['createInboundUsername', { username: 'new' }],
    ['listInboundUsernames', undefined],
    ['getInboundUsername', undefined],
    ['updateInboundUsername', {}],
    ['deleteInboundUsername', undefined],
  ]

  it.each(calls)('%s does not find a domain of another tenant', async (id, body) => {
    await world.configureVerified(NAME)
    await world.addUsername(NAME, { username: 'support', url: world.url('support') })
    const o = { domain: NAME, username: 'support', ...(body === undefined ? {} : { body }) }
    expect(codeOf(await world.call(id, { ...o, key: 'b' }))).toEqual([404, 'not_found'])
    expect((await world.call(id, o)).status).toBeLessThan(300)
  })

  it.each(calls)('%s does not find a malformed name', async (id, body) => {
    for (const domain of ['unknown.example.com', 'com', 'a b', '\u0000', 'x'.repeat(255)]) {
      const o = { domain, username: 'support', ...(body === undefined ? {} : { body }) }
      expect([domain, (await world.call(id, o)).status]).toEqual([domain, 404])
    }
  })

  it.each(['unknown', '"', '\u0000', 'support+tag', '*', 'a@b'])(
    'getInboundUsername does not find %j',
    async (username) => {
      await world.configure(NAME)
      await world.addUsername(NAME, { username: 'support' })
      const answer = await world.call('getInboundUsername', { domain: NAME, username })
      expect(codeOf(answer)).toEqual([404, 'not_found'])
    },
  )

  it('lists show only their tenant', async () => {
    await world.configure(NAME)
    const { body } = await world.call('listInboundDomains', { key: 'b' })
    expect(body.inbound_domains).toEqual([])
  })
})

describe('scopes of keys', () => {
  it.each<[Key, number, number]>([
    ['mailers', 200, 200],
    ['reader', 200, 403],
    ['sender', 403, 403],
    ['nobody', 401, 401],
  ])('%s reads with %i and changes with %i', async (key, reads, changes) => {
    await world.configure(NAME)
    await world.addUsername(NAME, { username: 'support' })
    const o = { key, domain: NAME, username: 'support' }
    for (const id of [
      'listInboundDomains',
      'getInboundDomain',
      'listInboundUsernames',
      'getInboundUsername',
    ] as const)
      expect([id, (await world.call(id, o)).status]).toEqual([id, reads])
    for (const id of ['updateInboundDomain', 'updateInboundUsername'] as const)
      expect([id, (await world.call(id, { ...o, body: {} })).status]).toEqual([id, changes])
    if (changes !== 200)
      for (const id of [
        'configureInboundRouting',
        'deleteInboundDomain',
        'createInboundUsername',
        'deleteInboundUsername',
      ] as const)
        expect([id, (await world.call(id, o)).status]).toEqual([id, changes])
  })
})

it('[2.1] writes no header value into any answer or log line', async () => {
  const headers = { 'X-Secret': SECRET }
  await world.configure(NAME, { body: { headers } })
  await world.addUsername(NAME, { username: 'support', headers })
  await update({ headers })
  for (const id of ['getInboundDomain', 'deleteInboundUsername', 'deleteInboundDomain'] as const)
    await world.call(id, { domain: NAME, username: 'support' })
  expect(world.seen.length).toBeGreaterThan(0)
  expect(world.seen.filter((text) => text.includes(SECRET))).toEqual([])
})
