/** What is found out about mails that are signed here, with the name servers of the tests. */
import { generateKeyPairSync } from 'node:crypto'
import { createDnsResolver, type DnsResolver } from '@postrider/runtime/dns'
import { createDnsServer, type DnsServer } from '@postrider/testkit'
import { dkimSign, sealMessage } from 'mailauth'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseMessage } from '../parse/parse-message.ts'
import type { Client } from './authenticate-step.ts'
import { createMailAuthenticator } from './mail-authenticator.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const KEY = `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`
const DOMAIN = 'sender.test'
const CLIENT = '192.0.2.1'

let server: DnsServer
let resolver: DnsResolver
/** Of all tests: each of its threads takes a quarter of a second of processor time to start. */
const authenticator = createMailAuthenticator({
  name: 'mx.postrider.test',
  resolver: {
    txt: (name) => resolver.txt(name),
    mx: (name) => resolver.mx(name),
    a: (name) => resolver.a(name),
    aaaa: (name) => resolver.aaaa(name),
    ptr: (address) => resolver.ptr(address),
    aliases: (name) => resolver.aliases(name),
  },
})
beforeEach(async () => {
  server = await createDnsServer()
  resolver = createDnsResolver({ servers: [server.address] })
  server.set(`s1._domainkey.${DOMAIN}`, 'TXT', [KEY])
  server.set(DOMAIN, 'TXT', [`v=spf1 ip4:${CLIENT} -all`])
  server.set(`_dmarc.${DOMAIN}`, 'TXT', ['v=DMARC1; p=reject; sp=quarantine'])
})
afterEach(async () => {
  resolver.close()
  await server.close()
})
afterAll(() => authenticator.stop())

const plain = (body = 'Hello\r\n', from = `Ada <ada@${DOMAIN}>`) =>
  Buffer.from(
    `From: ${from}\r\nTo: bob@routed.test\r\nSubject: Hi\r\nDate: Sun, 22 Nov 2026 10:00:00 +0000\r\n\r\n${body}`,
  )

async function signed(
  message: Buffer,
  o: { readonly domain?: string; readonly bodyLength?: number } = {},
): Promise<Buffer> {
  const key = { signingDomain: o.domain ?? DOMAIN, selector: 's1', privateKey }
  const { signatures } = await dkimSign(message, {
    ...key,
    canonicalization: 'relaxed/relaxed',
    signTime: new Date('2026-11-22T10:00:00Z'),
    signatureData: [
      { ...key, ...(o.bodyLength === undefined ? {} : { maxBodyLength: o.bodyLength }) },
    ],
  })
  return Buffer.concat([Buffer.from(signatures), message])
}

const fromClient: Client = {
  remoteIp: CLIENT,
  helo: 'mx.sender.test',
  mailFrom: `ada@${DOMAIN}`,
}

function authenticate(
  raw: Buffer,
  { timeoutMs = 10_000, ...o }: Partial<Client> & { readonly timeoutMs?: number } = {},
) {
  return authenticateAs({ ...fromClient, ...o }, raw, timeoutMs)
}

function authenticateAs(client: Client | undefined, raw: Buffer, timeoutMs = 10_000) {
  const { from, headers } = parseMessage(raw)
  return authenticator.authenticate('tn_a', { raw, client, author: from.email, headers, timeoutMs })
}

describe('[contract 4] mail', () => {
  it('passes everything when it is genuine', async () => {
    expect(await authenticate(await signed(plain()))).toEqual({
      spf: { result: 'pass', domain: DOMAIN, explanation: expect.stringContaining(CLIENT) },
      dkim: [{ result: 'pass', domain: DOMAIN, selector: 's1' }],
      dmarc: { result: 'pass', domain: DOMAIN, policy: 'reject' },
      arc: { result: 'none' },
    })
  })

  it('mail from another client fails SPF, and passes DMARC by its signature', async () => {
    const found = await authenticate(await signed(plain()), { remoteIp: '198.51.100.7' })
    expect(found.spf).toMatchObject({ result: 'fail', domain: DOMAIN })
    expect(found.dmarc.result).toBe('pass')
  })

  it('mail without a signature passes DMARC by SPF', async () => {
    expect(await authenticate(plain())).toMatchObject({
      spf: { result: 'pass' },
      dkim: [],
      dmarc: { result: 'pass' },
    })
  })

  it('mail from a stranger fails, with the policy of its domain', async () => {
    const found = await authenticate(plain(), { remoteIp: '198.51.100.7' })
    expect(found).toMatchObject({
      spf: { result: 'fail' },
      dkim: [],
      dmarc: { result: 'fail', domain: DOMAIN, policy: 'reject' },
    })
    const below = await authenticate(plain('', `ada@news.${DOMAIN}`), { mailFrom: 'x@other.test' })
    expect(below.dmarc).toMatchObject({ result: 'fail', policy: 'quarantine' })
  })

  it('mail that was changed fails its signature', async () => {
    const message = await signed(plain())
    const changed = Buffer.from(message.toString().replace('Hello', 'Hallo'))
    expect((await authenticate(changed)).dkim).toMatchObject([
      { result: 'neutral', domain: DOMAIN },
    ])
    const header = Buffer.from(message.toString().replace('Subject: Hi', 'Subject: Ho'))
    expect((await authenticate(header)).dkim).toMatchObject([{ result: 'fail', domain: DOMAIN }])
  })

  it.each([
    ['a fold', 'DKIM-Signature\r\n :'],
    ['two folds', 'DKIM-Signature \r\n\t\r\n :'],
    ['a line end', 'DKIM-Signature\r\n:'],
    ['line ends within', 'DKIM-\r\nSignature\r\n \r\n:'],
  ])('mail with an added body fails its signature, with %s in its name', async (_what, name) => {
    const message = (await signed(plain(''))).toString().replace('DKIM-Signature:', name)
    const whole = await authenticate(Buffer.from(message), { remoteIp: '198.51.100.7' })
    const added = Buffer.from(`${message}Send me money\r\n`)
    const found = await authenticate(added, { remoteIp: '198.51.100.7' })
    expect(whole.dkim).toMatchObject([{ result: 'pass' }])
    expect(found.dkim).not.toMatchObject([{ result: 'pass' }])
    expect(found.dmarc.result).toBe('fail')
  })

  it('is verified with our own trace lines before it', async () => {
    const trace =
      'Return-Path: <ada@sender.test>\r\nReceived: from a by b;\r\n\tSun, 22 Nov 2026 10:00:00 +0000\r\n'
    const raw = Buffer.concat([Buffer.from(trace), await signed(plain())])
    expect((await authenticate(raw)).dkim).toMatchObject([{ result: 'pass' }])
  })

  it('mail from a mailbox has no client: SPF is none, and DMARC depends on DKIM', async () => {
    const raw = await signed(plain())
    const found = await authenticateAs(undefined, raw)
    expect(found).toMatchObject({ spf: { result: 'none' }, dmarc: { result: 'pass' } })
    const bare = await authenticateAs(undefined, plain())
    expect(bare.dmarc.result).toBe('fail')
  })

  it('mail with an empty sender is judged by its greeting', async () => {
    server.set('mx.sender.test', 'TXT', ['v=spf1 a -all'])
    server.set('mx.sender.test', 'A', [CLIENT])
    expect((await authenticate(plain(), { mailFrom: '' })).spf).toMatchObject({
      result: 'pass',
      domain: 'mx.sender.test',
    })
  })

  it.each([
    ['mx', { mx: '10 a.sender.test' }],
    ['ptr', { ptr: 'a.sender.test' }],
    ['a:a.sender.test', {}],
  ])('passes SPF with %s', async (mechanism, { mx, ptr }: { mx?: string; ptr?: string }) => {
    server.set(DOMAIN, 'TXT', [`v=spf1 ${mechanism} -all`])
    if (mx !== undefined) server.set(DOMAIN, 'MX', [mx])
    if (ptr !== undefined) server.set('1.2.0.192.in-addr.arpa', 'PTR', [ptr])
    server.set('a.sender.test', 'A', [CLIENT])
    expect((await authenticate(plain())).spf.result).toBe('pass')
  })

  it.each([
    ['of what its author has signed', () => signed(plain())],
    ['of what nobody else has signed', async () => plain()],
  ])('mail from a mailing list keeps its ARC chain: %s', async (_what, make) => {
    const message = await make()
    server.set('arc._domainkey.list.test', 'TXT', [KEY])
    const seal = await sealMessage(message, {
      signingDomain: 'list.test',
      selector: 'arc',
      privateKey,
      cv: 'none',
      authResults: 'list.test; dkim=pass',
    })
    const sealed = Buffer.concat([seal, message])
    expect((await authenticate(sealed)).arc).toEqual({ result: 'pass' })
    for (const [from, to] of [
      ['dkim=pass', 'dkim=fail'],
      ['Hello', 'Hallo'],
    ] as const) {
      const broken = Buffer.from(sealed.toString().replace(from, to))
      expect((await authenticate(broken)).arc).toEqual({ result: 'fail' })
    }
  })

  it('mail without an author, or with two, cannot pass DMARC', async () => {
    const none = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')
    expect((await authenticate(none)).dmarc).toEqual({ result: 'permerror' })
    const two = plain('', 'a@sender.test, b@other.test')
    expect((await authenticate(two)).dmarc).toEqual({ result: 'permerror' })
  })

  it('mail of a domain without a policy has no DMARC result', async () => {
    const found = await authenticate(plain('', 'ada@other.test'))
    expect(found.dmarc).toEqual({ result: 'none', domain: 'other.test' })
  })
})

describe('[contract 7.4] a signature that does not cover the whole body', () => {
  const SIGNED = 'Hello\r\n'
  const added = async (body: string, o: { readonly domain?: string } = {}) =>
    Buffer.concat([
      await signed(plain(SIGNED), { ...o, bodyLength: SIGNED.length }),
      Buffer.from(body),
    ])
  const stranger = { remoteIp: '198.51.100.7' }

  it('is reported as partial, and proves nothing for DMARC', async () => {
    const found = await authenticate(await added('Send me money\r\n'), stranger)
    expect(found.dkim).toEqual([{ result: 'pass', domain: DOMAIN, selector: 's1', partial: true }])
    expect(found.dmarc).toMatchObject({ result: 'fail', policy: 'reject' })
  })

  it('covers the whole body when only empty lines were added', async () => {
    for (const body of ['', '\r\n\r\n']) {
      const found = await authenticate(await added(body), stranger)
      expect(found.dkim).toEqual([{ result: 'pass', domain: DOMAIN, selector: 's1' }])
      expect(found.dmarc.result).toBe('pass')
    }
  })

  it('leaves the proof to SPF, and to a complete signature', async () => {
    const partial = await added('Footer of a list\r\n')
    expect((await authenticate(partial)).dmarc.result).toBe('pass')
    const both = await authenticate(await signed(partial), stranger)
    expect(both.dkim).toMatchObject([{ result: 'pass' }, { result: 'pass', partial: true }])
    expect(both.dmarc.result).toBe('pass')
  })
})

describe('name servers', () => {
  it('name servers that fail leave everything undecided', async () => {
    const raw = await signed(plain())
    server.setScript(() => ({ rcode: 2 }))
    expect(await authenticate(raw)).toMatchObject({
      spf: { result: 'temperror' },
      dkim: [{ result: 'temperror', domain: DOMAIN }],
      dmarc: { result: 'temperror' },
    })
  })

  it('name servers that are silent leave everything undecided at the deadline', async () => {
    const raw = await signed(plain())
    server.setScript(() => 'silence')
    expect(await authenticate(raw, { timeoutMs: 100 })).toMatchObject({
      spf: { result: 'temperror' },
      dkim: [{ result: 'temperror', domain: DOMAIN, selector: 's1' }],
      dmarc: { result: 'temperror' },
    })
  })

  it('name servers that are silent about the author only leave the other results', async () => {
    server.setScript(({ name }) => (name.startsWith('_dmarc') ? 'silence' : undefined))
    const found = await authenticate(await signed(plain()), { timeoutMs: 500 })
    expect(found).toMatchObject({
      spf: { result: 'pass' },
      dkim: [{ result: 'pass' }],
      dmarc: { result: 'temperror' },
    })
  })

  it('name servers that fail for a signature do not fail DMARC for good', async () => {
    const raw = await signed(plain())
    server.setScript(({ name }) => (name.includes('_domainkey') ? { rcode: 2 } : undefined))
    const found = await authenticate(raw, { remoteIp: '198.51.100.7' })
    expect(found.dmarc).toMatchObject({ result: 'temperror', policy: 'reject' })
  })

  it('get a bounded number of questions for includes without end', async () => {
    server.setScript(({ name, type }) =>
      type === 'TXT' ? { records: [{ type: 'TXT', value: `v=spf1 include:x${name} -all` }] } : {},
    )
    expect((await authenticate(plain())).spf.result).toBe('permerror')
    expect(server.questions.length).toBeLessThan(60)
  })

  it('get questions for needed records only', async () => {
    const raw = Buffer.concat([
      Buffer.from('BIMI-Selector: v=BIMI1; s=x\r\n'),
      await signed(plain()),
    ])
    await authenticate(raw)
    expect(server.questions.some(({ name }) => name.includes('_bimi'))).toBe(false)
  })
})

/** Of which no notice is taken. */
const SURPLUS = `DKIM-Signature: v=1; d=x.test; h=${'a:'.repeat(10_000)}from`

describe('mail that would take too long to verify', () => {
  it('has the topmost ten signatures verified', async () => {
    let raw: Buffer = plain()
    for (let i = 0; i < 15; i++) raw = await signed(raw, { domain: `d${i}.test` })
    for (let i = 0; i < 15; i++) server.set(`s1._domainkey.d${i}.test`, 'TXT', [KEY])
    const { dkim } = await authenticate(raw)
    expect(dkim.map(({ result, domain }) => [result, domain])).toEqual(
      Array.from({ length: 10 }, (_, i) => ['pass', `d${14 - i}.test`]),
    )
  })

  it.each([
    ['a header without end', `X: ${'x'.repeat(300_000)}`],
    ['a header of too many lines', `X: x${'\r\n x'.repeat(3_000)}`],
  ])('is not verified: %s', async (_what, header) => {
    const raw = Buffer.concat([Buffer.from(`${header}\r\n`), await signed(plain())])
    expect(await authenticate(raw)).toMatchObject({
      spf: { result: 'pass' },
      dkim: [{ result: 'permerror', explanation: expect.stringMatching(/header/) }],
      dmarc: { result: 'permerror' },
    })
  })

  it('is not verified: a line without an end', async () => {
    const raw = await signed(plain(`${'x'.repeat(100_000)}\r\n`))
    expect((await authenticate(raw)).dkim).toMatchObject([{ result: 'permerror' }])
  })

  it('has no more than ten signatures verified when their names are folded', async () => {
    let raw: Buffer = plain()
    for (let i = 0; i < 15; i++) {
      const one = (await signed(raw, { domain: `d${i}.test` })).toString()
      raw = Buffer.from(
        one.replace('DKIM-Signature:', i % 2 ? 'DKIM-Signature\r\n:' : 'dkim-signature \r\n :'),
      )
    }
    const domains = (await authenticate(raw)).dkim.map(({ domain }) => domain)
    expect(domains).toEqual(Array.from({ length: 10 }, (_, i) => `d${14 - i}.test`))
  })

  it('keeps its body when its last field is one signature too many', async () => {
    const message = await signed(plain())
    const raw = Buffer.from(message.toString().replace('\r\n\r\n', `\r\n${SURPLUS}\r\n\r\n`))
    expect((await authenticate(raw)).dkim).toMatchObject([{ result: 'pass' }])
  })

  it('may have a line without an end when nobody has signed it', async () => {
    const raw = plain(`${'x'.repeat(100_000)}\r\n`)
    expect(await authenticate(raw)).toMatchObject({ dkim: [], dmarc: { result: 'pass' } })
  })

  it('has a signature left out that names fields without end', async () => {
    const names = 'a:'.repeat(10_000)
    const raw = Buffer.concat([
      Buffer.from(
        `DKIM-Signature: v=1; a=rsa-sha256; d=x.test; s=s1; h=${names}from; b=x; bh=x\r\n`,
      ),
      await signed(plain()),
    ])
    expect((await authenticate(raw)).dkim).toEqual([
      { result: 'pass', domain: DOMAIN, selector: 's1' },
    ])
  })

  it('is verified up to 25 MB', async () => {
    const body = `${'0123456789'.repeat(7)}\r\n`.repeat(360_000)
    expect((await authenticate(await signed(plain(body)))).dkim).toMatchObject([{ result: 'pass' }])
  }, 60_000)

  it.each([
    ['nothing', ''],
    ['noise', '\0\xff\r\r\n\n:\r\n'.repeat(100)],
    [
      'signatures that are none',
      'From: a@b.test\r\nDKIM-Signature: \r\nDKIM-Signature: ;;;=\r\nARC-Seal: i=x\r\n\r\n',
    ],
    ['no body', `From: ada@${DOMAIN}`],
  ])('never throws: %s', async (_what, text) => {
    const found = await authenticate(Buffer.from(text, 'latin1'))
    expect(found.spf.result).toBe('pass')
  })
})
