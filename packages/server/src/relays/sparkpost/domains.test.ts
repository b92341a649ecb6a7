import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { RelayAnswer, RelayDomain, RelayDomainCall } from '../relay.ts'
import { account, anAnswer, errors } from './mail.fixture.ts'
import { sparkpost } from './sparkpost.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const domain: RelayDomain = {
  domain: 'mail.example.com',
  dkim: {
    selector: 'pr1',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  },
  options: {},
}
const record = {
  type: 'TXT',
  name: 'pr1._domainkey.mail.example.com',
  value: `v=DKIM1; k=rsa; h=sha256; p=${domain.dkim.publicKey}`,
  purpose: 'dkim',
  required: true,
}
const { create, verify, changeKey, delete: remove } = sparkpost.domains
const notFound = anAnswer(404, errors('1600', 'resource not found', 'Domain does not exist'))
const created = anAnswer(200, { results: { message: 'Successfully Created domain.' } })

function outcomeOf(call: RelayDomainCall | undefined, ...answers: readonly RelayAnswer[]) {
  let read: ReturnType<RelayDomainCall['read']> | RelayDomainCall | undefined = call
  for (const answer of answers) {
    if (read === undefined || 'kind' in read) throw new Error('no further call')
    read = read.read(answer)
  }
  if (read === undefined || !('kind' in read)) throw new Error('a further call')
  return read
}

describe('creating a domain', () => {
  it('passes the key in the documented form', () => {
    const { request } = create(account, { ...domain, options: { sharedWithSubaccounts: true } })
    expect(request).toMatchObject({ method: 'POST', path: '/v1/sending-domains' })
    const { dkim, ...rest } = request.body as { dkim: Record<string, string> }
    expect(rest).toEqual({
      domain: 'mail.example.com',
      generate_dkim: false,
      shared_with_subaccounts: true,
    })
    expect(dkim.selector).toBe('pr1')
    const key = Buffer.from(dkim.private ?? '', 'base64')
    const sent = createPrivateKey({ key, type: 'pkcs8', format: 'der' })
    expect(createPublicKey(sent).export({ type: 'spki', format: 'der' }).toString('base64')).toBe(
      dkim.public,
    )
    expect(dkim.private).toMatch(/^[A-Za-z0-9+/]+=*$/)
  })

  it('leaves sharing to the account by default', () => {
    expect(create(account, domain).request.body).not.toHaveProperty('shared_with_subaccounts')
  })

  it('answers the record to publish, and that nothing is verified', () => {
    const outcome = outcomeOf(create(account, domain), created)
    expect(outcome).toEqual({ kind: 'done', records: [record], agrees: false })
  })

  it('[3.4] tells whose an existing domain is', () => {
    const call = create(account, domain)
    const foreign = anAnswer(400, errors('7004', 'Domain in use by another account'))
    const detail = 'Domain in use by another account (7004)'
    expect(outcomeOf(call, foreign)).toEqual({ kind: 'taken', isOwn: false, detail })
    for (const there of [
      anAnswer(409, errors('1602', 'resource conflict')),
      anAnswer(400, errors('1602', 'resource conflict')),
      anAnswer(400, errors(undefined, "resource 'mail.example.com' already exists")),
    ]) {
      const next = call.read(there)
      expect(next).toMatchObject({
        request: { method: 'GET', path: '/v1/sending-domains/mail.example.com' },
      })
      const dkim = { selector: 'scph0316', public: 'AAAA', headers: 'from:to:subject:date' }
      expect(outcomeOf(call, there, anAnswer(200, { results: { dkim } }))).toMatchObject({
        kind: 'taken',
        isOwn: true,
        records: [
          {
            ...record,
            name: 'scph0316._domainkey.mail.example.com',
            value: 'v=DKIM1; k=rsa; h=sha256; p=AAAA',
          },
        ],
      })
      const keyless = outcomeOf(call, there, anAnswer(200, { results: { status: {} } }))
      expect(keyless).toMatchObject({ kind: 'taken', isOwn: true })
      expect(keyless).not.toHaveProperty('records')
      expect(outcomeOf(call, there, notFound)).toMatchObject({ kind: 'taken', isOwn: false })
      expect(outcomeOf(call, there, anAnswer(503, ''))).toMatchObject({ kind: 'failed' })
    }
  })

  it('fails for a domain or a key that SparkPost refuses', () => {
    const of = (answer: RelayAnswer) => outcomeOf(create(account, domain), answer)
    expect(of(anAnswer(400, errors('7000', 'Restricted domain')))).toMatchObject({
      kind: 'failed',
      failure: { category: 'sender_not_allowed', retryable: false },
    })
    expect(of(anAnswer(401, errors(undefined, 'Unauthorized.')))).toMatchObject({
      kind: 'failed',
      failure: { authRejected: true },
    })
    const passing = { kind: 'failed', failure: { retryable: true } }
    for (const page of [anAnswer(502, '<html>'), anAnswer(200, '<html>'), anAnswer(200, '')])
      expect(of(page)).toMatchObject(passing)
    const unclear = [anAnswer(409, ''), anAnswer(404, '<html>')]
    expect(outcomeOf(create(account, domain), ...unclear)).toMatchObject(passing)
  })
})

describe('verifying a domain', () => {
  const call = verify(account, domain)
  const verified = (change: object = {}) =>
    outcomeOf(
      call,
      anAnswer(200, {
        results: {
          ownership_verified: true,
          dkim_status: 'valid',
          cname_status: 'unverified',
          mx_status: 'unverified',
          compliance_status: 'valid',
          ...change,
        },
      }),
    )

  it('asks for the record of the key', () => {
    expect(call.request).toMatchObject({
      method: 'POST',
      path: '/v1/sending-domains/mail.example.com/verify',
      body: { dkim_verify: true },
    })
  })

  it('has the agreement of SparkPost when it has the key and the domain, without an objection', () => {
    expect(verified()).toEqual({ kind: 'done', records: [record], agrees: true })
    expect(verified({ compliance_status: undefined })).toMatchObject({ agrees: true })
  })

  it.each([
    [{ dkim_status: 'invalid' }, 'SparkPost has the DKIM record as invalid'],
    [{ dkim_status: 'pending' }, 'SparkPost has the DKIM record as pending'],
    [{ dkim_status: 'unverified' }, 'SparkPost has the DKIM record as unverified'],
    [{ dkim_status: 'invalid', dns: { dkim_error: 'DNS: no record' } }, 'DNS: no record'],
    [{ compliance_status: 'blocked' }, 'SparkPost has the domain as blocked'],
    [{ ownership_verified: false }, 'SparkPost does not have the domain as verified'],
  ])('has no agreement with %j', (change, detail) => {
    expect(verified(change)).toEqual({ kind: 'done', records: [record], agrees: false, detail })
  })

  it('reports a domain that SparkPost has lost', () => {
    expect(outcomeOf(call, notFound)).toEqual({ kind: 'absent' })
    expect(outcomeOf(call, anAnswer(404, '<html>'))).toMatchObject({ kind: 'failed' })
  })

  it('fails when the answer says nothing', () => {
    for (const body of ['', '{}', '<html>', '{"results":{}}', '{"results":{"dkim_status":{}}}'])
      expect(outcomeOf(call, anAnswer(200, body))).toMatchObject({
        kind: 'failed',
        failure: { retryable: true },
      })
  })
})

describe('changing the key of a domain', () => {
  const call = changeKey?.(account, domain)

  it('replaces it by the given one', () => {
    expect(call?.request).toMatchObject({
      method: 'PUT',
      path: '/v1/sending-domains/mail.example.com',
      body: { dkim: { selector: 'pr1', public: domain.dkim.publicKey } },
    })
    const changed = anAnswer(200, { results: { message: 'Successfully Updated Domain.' } })
    expect(outcomeOf(call, changed)).toMatchObject({ kind: 'done', records: [record] })
    expect(outcomeOf(call, notFound)).toEqual({ kind: 'absent' })
  })

  it('may succeed later when its record is not visible yet', () => {
    const unseen = errors('1404', 'request to remote endpoint failed', 'Unable to verify DKIM')
    expect(outcomeOf(call, anAnswer(400, unseen))).toMatchObject({
      kind: 'failed',
      failure: { category: 'sender_domain_dns', retryable: true, authRejected: false },
    })
  })
})

describe('deleting a domain', () => {
  it('succeeds when another caller has deleted it', () => {
    const call = remove(account, domain)
    expect(call.request).toMatchObject({
      method: 'DELETE',
      path: '/v1/sending-domains/mail.example.com',
    })
    expect(call.request).not.toHaveProperty('body')
    expect(outcomeOf(call, anAnswer(204, ''))).toMatchObject({ kind: 'done', records: [] })
    expect(outcomeOf(call, notFound)).toEqual({ kind: 'absent' })
    expect(outcomeOf(call, anAnswer(409, errors('1602', 'in use')))).toMatchObject({
      kind: 'failed',
      failure: { retryable: false },
    })
  })
})
