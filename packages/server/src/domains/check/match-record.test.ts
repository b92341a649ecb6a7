import { describe, expect, it } from 'vitest'
import type { RelayRecord } from '../../relays/index.ts'
import { matchRecord, type RecordAnswer } from './match-record.ts'

const KEY = `MIIB${'A'.repeat(380)}IDAQAB`
const record = (purpose: RelayRecord['purpose'], value: string): RelayRecord => ({
  type: 'TXT',
  name: 'a.example.com',
  value,
  purpose,
  required: true,
})
const texts = (...records: readonly string[]): RecordAnswer => ({
  type: 'TXT',
  answer: { kind: 'found', records, aliases: [] },
})

describe('a proof of ownership', () => {
  const wanted = record('ownership', 'postrider-verification=abc')
  it.each([
    ['alone', ['postrider-verification=abc'], true],
    ['among others', ['v=spf1 -all', 'postrider-verification=abc'], true],
    ['with the quotes of a form', ['"postrider-verification=abc"'], true],
    ['with white space around', ['  postrider-verification=abc '], true],
    ['of somebody else', ['postrider-verification=abd'], false],
    ['in another case', ['postrider-verification=ABC'], false],
    ['with something behind it', ['postrider-verification=abcd'], false],
  ])('is compared by value: %s', (_what, found, isMatch) => {
    expect(matchRecord(wanted, texts(...found))).toEqual({ dns: 'found', found, isMatch })
  })
})

describe('a DKIM key (RFC 6376 §3.6.1)', () => {
  const wanted = record('dkim', `v=DKIM1; k=rsa; h=sha256; p=${KEY}`)
  it.each([
    ['as it was given', `v=DKIM1; k=rsa; h=sha256; p=${KEY}`, true],
    ['without what is understood', `p=${KEY}`, true],
    [
      'in another order, with white space',
      ` k = rsa ;p= ${KEY.slice(0, 99)} ${KEY.slice(99)} ; `,
      true,
    ],
    ['for mail among others', `v=DKIM1; s=email:other; p=${KEY}`, true],
    ['for everything', `v=DKIM1; s=*; p=${KEY}`, true],
    ['with notes and flags', `v=DKIM1; n=of 2026; t=s; p=${KEY}`, true],
    ['for either hash', `v=DKIM1; h=sha1:sha256; p=${KEY}`, true],
    ['another key', `v=DKIM1; p=${KEY.replace('A', 'B')}`, false],
    ['cut off', `v=DKIM1; p=${KEY.slice(0, 255)}`, false],
    ['withdrawn', 'v=DKIM1; p=', false],
    ['of another kind', `v=DKIM1; k=ed25519; p=${KEY}`, false],
    ['of another version', `v=DKIM2; p=${KEY}`, false],
    ['for another hash', `v=DKIM1; h=sha1; p=${KEY}`, false],
    ['for something else than mail', `v=DKIM1; s=tlsrpt; p=${KEY}`, false],
    ['with the quotes of a form', `"v=DKIM1; k=rsa; p=${KEY}"`, false],
  ])('is compared by its tags: %s', (_what, found, isMatch) => {
    expect(matchRecord(wanted, texts(found))).toMatchObject({ dns: 'found', isMatch })
  })

  it('does not match when there are two keys', () => {
    const [one, other] = [`v=DKIM1; p=${KEY}`, 'v=DKIM1; p=AAAA']
    expect(matchRecord(wanted, texts(one, other))).toEqual({
      dns: 'found',
      found: [one, other],
      isMatch: false,
    })
  })

  it('does not match when there is something else in its place', () => {
    expect(matchRecord(wanted, texts('v=spf1 -all'))).toEqual({
      dns: 'found',
      found: ['v=spf1 -all'],
      isMatch: false,
    })
  })

  it('matches beside something that is no key', () => {
    expect(matchRecord(wanted, texts('v=spf1 -all', `p=${KEY}`)).isMatch).toBe(true)
  })
})

describe('SPF (RFC 7208)', () => {
  const wanted = record('spf', 'v=spf1 include:mail.example.net ~all')
  it.each([
    ['as it was given', ['v=spf1 include:mail.example.net ~all'], true],
    ['with more, another end and a plus', ['v=spf1 mx +INCLUDE:mail.example.net  -all'], true],
    ['beside other texts', ['x', 'v=spf1 include:mail.example.net -all'], true],
    ['without it', ['v=spf1 mx -all'], false],
    ['with it forbidden', ['v=spf1 -include:mail.example.net ~all'], false],
    ['twice', ['v=spf1 include:mail.example.net -all', 'v=spf1 -all'], false],
  ])('is read by its mechanisms: %s', (_what, found, isMatch) => {
    expect(matchRecord(wanted, texts(...found)).isMatch).toBe(isMatch)
  })

  it('is absent when there are only other texts', () => {
    const match = matchRecord(wanted, texts('v=spf10', 'google-site-verification=x'))
    expect(match).toEqual({ dns: 'absent', found: [], isMatch: false })
  })
})

describe('DMARC (RFC 7489)', () => {
  const wanted = record('dmarc', 'v=DMARC1; p=none')
  it.each([
    ['of any policy', ['v=DMARC1; p=reject; rua=mailto:a@example.com'], true],
    ['beside other texts', ['x', 'v=DMARC1;p=none'], true],
    ['twice', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], false],
    ['of another version', ['v=DMARC12; p=none'], false],
  ])('is read by its policy: %s', (_what, found, isMatch) => {
    expect(matchRecord(wanted, texts(...found)).isMatch).toBe(isMatch)
  })
})

describe('an alias', () => {
  const wanted: RelayRecord = {
    type: 'CNAME',
    name: 's1._domainkey.example.com',
    value: 'S1.domainkey.example.net',
    purpose: 'dkim',
    required: true,
  }
  const target = 's1.domainkey.example.net'
  const aliases = (kind: 'found' | 'absent' | 'unknown', ...names: string[]): RecordAnswer => ({
    type: 'CNAME',
    answer:
      kind === 'found'
        ? { kind, records: names, aliases: names }
        : kind === 'absent'
          ? { kind, aliases: names }
          : { kind, why: 'timeout', aliases: names },
  })
  it.each([
    ['to where it should lead', aliases('found', target), 'found', true],
    ['by a name in between', aliases('found', 'dkim.example.com', target), 'found', true],
    ['further than that', aliases('found', target, 'x.example.net'), 'found', true],
    ['though its end is not known', aliases('unknown', target), 'found', true],
    ['to somewhere else', aliases('found', 'x.example.net'), 'found', false],
    ['in a circle', aliases('absent', target, 'x.example.net'), 'found', false],
    ['nowhere', aliases('absent'), 'absent', false],
    ['nobody knows where', aliases('unknown', 'dkim.example.com'), 'unknown', false],
  ] as const)('is followed to its target: %s', (_what, answer, dns, isMatch) => {
    expect(matchRecord(wanted, answer)).toMatchObject({ dns, isMatch })
  })
})

describe('an exchange', () => {
  const wanted: RelayRecord = {
    type: 'MX',
    name: 'em.example.com',
    value: 'mx.example.net',
    priority: 10,
    purpose: 'return_path',
    required: true,
  }
  const exchanges = (...records: { priority: number; exchange: string }[]): RecordAnswer => ({
    type: 'MX',
    answer: { kind: 'found', records, aliases: [] },
  })

  it('matches whatever its priority is, beside others', () => {
    const other = { priority: 10, exchange: 'mx.example.com' }
    const answer = exchanges(other, { priority: 20, exchange: 'mx.example.net' })
    expect(matchRecord(wanted, answer)).toEqual({
      dns: 'found',
      found: ['10 mx.example.com', '20 mx.example.net'],
      isMatch: true,
    })
    expect(matchRecord(wanted, exchanges(other)).isMatch).toBe(false)
  })
})

describe('the values that were found', () => {
  const wanted = record('ownership', 'postrider-verification=abc')

  it('are unknown, and no match, when no name server answers', () => {
    const answer = { kind: 'unknown', why: 'timeout', aliases: [] } as const
    expect(matchRecord(wanted, { type: 'TXT', answer })).toEqual({
      dns: 'unknown',
      found: [],
      isMatch: false,
    })
  })

  it('are bounded and fit to be stored, and all of them are compared', () => {
    const many = Array.from({ length: 50 }, (_, i) => `${i}${'\u0000'.repeat(5_000)}`)
    const match = matchRecord(wanted, texts(...many, 'postrider-verification=abc'))
    expect(match.isMatch).toBe(true)
    expect(match.found).toHaveLength(10)
    for (const one of match.found) expect(one).toMatch(/^\d\ufffd{999}$/)
  })
})
