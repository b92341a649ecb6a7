import { describe, expect, it } from 'vitest'
import type { RelayAccount, RelayAnswer, RelayDomain, RelayDomainCall } from '../relay.ts'
import { domains, recordsOf } from './domains.ts'

const account: RelayAccount = {
  tenantId: 'tn_a',
  kind: 'sendgrid',
  apiKey: 'SG.key',
  apiBase: 'https://api.sendgrid.com',
  configVersion: 1,
}
const domain: RelayDomain = {
  domain: 'example.com',
  dkim: { selector: 'pr', privateKey: 'private', publicKey: 'public' },
  options: {},
}
const known: RelayDomain = { ...domain, providerId: '302183' }

const cname = (host: string, data: string) => ({ valid: false, type: 'cname', host, data })
const dns = {
  mail_cname: cname('em1234.example.com', 'u1446226.wl.sendgrid.net'),
  dkim1: cname('s1._domainkey.example.com', 's1.domainkey.u1446226.wl.sendgrid.net'),
  dkim2: cname('S2._domainkey.example.com.', 's2.domainkey.u1446226.wl.sendgrid.net.'),
}
const entry = (change: object = {}) => ({
  id: 302183,
  user_id: 1446226,
  subdomain: 'em1234',
  domain: 'example.com',
  automatic_security: true,
  valid: false,
  dns,
  ...change,
})
const records = [
  ['return_path', 'em1234.example.com', 'u1446226.wl.sendgrid.net'],
  ['dkim', 's1._domainkey.example.com', 's1.domainkey.u1446226.wl.sendgrid.net'],
  ['dkim', 's2._domainkey.example.com', 's2.domainkey.u1446226.wl.sendgrid.net'],
].map(([purpose, name, value]) => ({ type: 'CNAME', name, value, purpose, required: true }))

const LIST = 'GET /v3/whitelabel/domains?domain=example.com&exclude_subusers=true&limit=50'
const errors = (message: string) => ({ errors: [{ message, field: null }] })
const json = (status: number, body: unknown): RelayAnswer => ({
  status,
  headers: {},
  body: body === undefined ? '' : JSON.stringify(body),
})

/** Plays a call to its end; answers what was asked, and what came of it. */
function play(first: RelayDomainCall, ...answers: RelayAnswer[]) {
  const asked: string[] = []
  const bodies: unknown[] = []
  let result: ReturnType<RelayDomainCall['read']> = first
  while ('request' in result) {
    const { request } = result
    expect(request.headers).toEqual({ authorization: 'Bearer SG.key', accept: 'application/json' })
    asked.push(`${request.method} ${request.path}`)
    if (request.body !== undefined) bodies.push(request.body)
    const answer = answers.shift()
    if (answer === undefined) throw new Error(`no answer to ${asked.at(-1)}`)
    result = result.read(answer)
  }
  expect(answers).toEqual([])
  return { asked, bodies, result }
}

describe('a domain', () => {
  it('is made when it does not exist, with keys at SendGrid', () => {
    const { asked, bodies, result } = play(
      domains.create(account, domain),
      json(200, [entry({ domain: 'sub.example.com' })]),
      json(201, entry()),
    )
    expect(domains.takesKeys).toBe(false)
    expect(asked).toEqual([LIST, 'POST /v3/whitelabel/domains'])
    expect(bodies).toEqual([{ domain: 'example.com', automatic_security: true, default: false }])
    expect(result).toEqual({ kind: 'done', providerId: '302183', records, agrees: false })
  })

  it('has the addresses and the selector that were requested', () => {
    const options = { ips: ['192.0.2.1'], selector: 'abc' }
    const { bodies } = play(
      domains.create(account, { ...domain, options }),
      json(200, []),
      json(201, entry()),
    )
    expect(bodies).toEqual([
      {
        domain: 'example.com',
        automatic_security: false,
        custom_spf: true,
        ips: ['192.0.2.1'],
        custom_dkim_selector: 'abc',
        default: false,
      },
    ])
  })

  it('is adopted when it exists: a valid one first, else the latest', () => {
    const create = (...there: object[]) =>
      play(domains.create(account, domain), json(200, there)).result
    expect(create(entry({ id: 1 }), entry({ id: 22 }), entry({ id: 3 }))).toMatchObject({
      providerId: '22',
      agrees: false,
      wasThere: true,
      records,
    })
    expect(
      create(entry({ id: 1, domain: 'EXAMPLE.com', valid: true }), entry({ id: 22 })),
    ).toMatchObject({ providerId: '1', agrees: true })
  })

  it('is taken when another account has it', () => {
    const body = errors('An authenticated domain already exists for this URL.')
    const { result } = play(domains.create(account, domain), json(200, []), json(400, body))
    expect(result).toEqual({
      kind: 'taken',
      isOwn: false,
      detail: `400 ${JSON.stringify(body)}`,
    })
  })

  it('is verified by its number, with its records', () => {
    const { asked, result } = play(
      domains.verify(account, known),
      json(200, { id: 302183, valid: true, validation_results: {} }),
      json(200, entry({ valid: true })),
    )
    expect(asked).toEqual([
      'POST /v3/whitelabel/domains/302183/validate',
      'GET /v3/whitelabel/domains/302183',
    ])
    expect(result).toEqual({ kind: 'done', providerId: '302183', records, agrees: true })
  })

  it('has the reasons of SendGrid when it does not verify', () => {
    const reason = 'Expected CNAME for "em1234.example.com" to match "u1446226.wl.sendgrid.net".'
    const results = { mail_cname: { valid: false, reason }, dkim1: { valid: true, reason: null } }
    const { result } = play(
      domains.verify(account, domain),
      json(200, [entry()]),
      json(200, { id: 302183, valid: false, validation_results: results }),
      json(200, entry()),
    )
    expect(result).toMatchObject({ agrees: false, detail: `mail_cname: ${reason}` })
  })

  it('is deleted by its number', () => {
    const { asked, result } = play(domains.delete(account, known), json(204, undefined))
    expect(asked).toEqual(['DELETE /v3/whitelabel/domains/302183'])
    expect(result).toEqual({ kind: 'done', records: [], agrees: false })
  })

  it('a domain without a known number is deleted only when it was never valid', () => {
    const remove = domains.delete(account, domain)
    expect(play(remove, json(200, [entry()]), json(204, undefined)).asked).toEqual([
      LIST,
      'DELETE /v3/whitelabel/domains/302183',
    ])
    expect(play(remove, json(200, [entry({ valid: true })])).result).toEqual({ kind: 'absent' })
  })

  it('is absent when SendGrid does not have it', () => {
    const gone = json(404, errors('domain not found'))
    const absent = { kind: 'absent' }
    expect(play(domains.verify(account, known), gone).result).toEqual(absent)
    expect(play(domains.delete(account, known), gone).result).toEqual(absent)
    expect(play(domains.verify(account, domain), json(200, [])).result).toEqual(absent)
    const validated = json(200, { valid: false })
    expect(play(domains.verify(account, known), validated, gone).result).toEqual(absent)
  })
})

describe('a call that SendGrid refuses', () => {
  const calls = {
    create: domains.create(account, domain),
    verify: domains.verify(account, known),
    delete: domains.delete(account, known),
  }

  it.each(Object.entries(calls))('fails for %s like a mail', (_name, call) => {
    const failed = (status: number, body: unknown) => play(call, json(status, body)).result
    expect(failed(401, errors('authorization required'))).toMatchObject({
      kind: 'failed',
      failure: { category: 'auth_rejected', authRejected: true },
    })
    expect(failed(500, errors('internal error getting TXT'))).toMatchObject({
      failure: { category: 'temporary', retryable: true },
    })
    expect(failed(400, errors('bad selector'))).toMatchObject({
      failure: { category: 'unknown', retryable: false, failedReason: 'bad selector' },
    })
  })

  it('fails for a selector that SendGrid does not accept', () => {
    const answers = [json(200, []), json(400, errors('bad selector'))] as const
    expect(play(calls.create, ...answers).result).toMatchObject({
      kind: 'failed',
      failure: { category: 'unknown', retryable: false },
    })
    const elsewhere = [json(200, []), json(409, errors('it already exists'))] as const
    expect(play(calls.create, ...elsewhere).result).toMatchObject({ kind: 'failed' })
  })

  it('fails for an unexpected answer', () => {
    for (const body of [undefined, {}, 'x', null, { valid: 'yes' }])
      for (const call of [calls.create, calls.verify])
        expect(play(call, json(200, body)).result).toMatchObject({
          kind: 'failed',
          failure: { category: 'protocol_error' },
        })
    expect(play(calls.create, json(200, []), json(201, {})).result).toMatchObject({
      kind: 'failed',
    })
    const page: RelayAnswer = { status: 404, headers: {}, body: '<html>not found</html>' }
    for (const call of Object.values(calls))
      expect(play(call, page).result).toMatchObject({ kind: 'failed' })
    expect(play(calls.create, json(404, errors('not found'))).result).toMatchObject({
      kind: 'failed',
    })
  })
})

describe('the DNS records of a domain', () => {
  it('are an MX and TXTs in a zone of the owner', () => {
    const txt = (host: string, data: string) => ({ type: 'txt', host, data, valid: false })
    expect(
      recordsOf({
        mail_server: { type: 'mx', host: 'mail.example.com', data: 'mx.sendgrid.net.' },
        subdomain_spf: txt('mail.example.com', 'v=spf1 ip4:192.0.2.1 -all'),
        domain_spf: txt('example.com', 'v=spf1 include:mail.example.com -all'),
        dkim: txt('abc._domainkey.example.com', 'k=rsa; t=s; p=PublicKey'),
        dmarc: txt('_dmarc.example.com', 'v=DMARC1; p=none;'),
      }),
    ).toEqual([
      {
        type: 'MX',
        name: 'mail.example.com',
        value: 'mx.sendgrid.net',
        priority: 10,
        purpose: 'return_path',
        required: true,
      },
      {
        type: 'TXT',
        name: 'mail.example.com',
        value: 'v=spf1 ip4:192.0.2.1 -all',
        purpose: 'spf',
        required: true,
      },
      {
        type: 'TXT',
        name: 'example.com',
        value: 'v=spf1 include:mail.example.com -all',
        purpose: 'spf',
        required: false,
      },
      {
        type: 'TXT',
        name: 'abc._domainkey.example.com',
        value: 'k=rsa; t=s; p=PublicKey',
        purpose: 'dkim',
        required: true,
      },
      {
        type: 'TXT',
        name: '_dmarc.example.com',
        value: 'v=DMARC1; p=none;',
        purpose: 'dmarc',
        required: false,
      },
    ])
  })

  it('have the priority that is part of the value', () => {
    const mx = { type: 'mx', host: 'mail.example.com', data: '20 mx.sendgrid.net' }
    expect(recordsOf({ mail_server: mx })).toMatchObject([
      { value: 'mx.sendgrid.net', priority: 20 },
    ])
  })

  it('are left out when they are unknown or incomplete', () => {
    for (const odd of [
      undefined,
      null,
      'x',
      [],
      { other: dns.dkim1 },
      { dkim1: null },
      { dkim1: {} },
    ])
      expect(recordsOf(odd)).toEqual([])
    for (const change of [{ type: 'ns' }, { type: undefined }, { host: null }, { data: {} }])
      expect(recordsOf({ dkim1: { ...dns.dkim1, ...change } })).toEqual([])
  })
})
