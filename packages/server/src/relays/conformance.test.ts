/**
 * What every provider's adapter does, whatever the provider's words: over real connections, at a
 * provider that is as strict as its documents, and on garbage. What the words mean is tested beside
 * each adapter.
 */
import { generateKeyPairSync } from 'node:crypto'
import { relayKinds } from '@postrider/contract'
import { headerOf } from '@postrider/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClock } from '../platform/clock.ts'
import { createEgress, type Egress } from '../platform/egress/index.ts'
import { adapterOf } from './adapters.ts'
import { createRelayCalls, type Relays } from './call-relays.ts'
import { anyAnswer, anyCallback, anyMail, isStorable } from './garbage.fixture.ts'
import type { RelayResult } from './make-request.ts'
import { PEERS, type Peer } from './peers.fixture.ts'
import type {
  CallbackRequest,
  RelayAdapter,
  RelayDomain,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayFact,
  RelayFailure,
  RelayMail,
  RelaySendOutcome,
} from './relay.ts'

const REF_ID = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const nowMs = () => Date.now()

const aMail = (change: Partial<RelayMail> = {}): RelayMail => ({
  refId: REF_ID,
  n: 3,
  from: { address: 'news@example.com', name: 'News' },
  to: { address: 'ada@example.net', name: 'Ada' },
  type: 'to',
  shown: { to: [{ address: 'ada@example.net', name: 'Ada' }], cc: [] },
  replyTo: { address: 'help@example.com' },
  subject: 'Hello',
  text: 'Hello, text',
  html: '<p>Hello, <a href="https://example.com/a?b=c&amp;d=e">link</a></p>',
  headers: [
    ['Message-ID', '<01JD@example.com>'],
    ['X-Order', '1234'],
    ['List-Unsubscribe', '<https://mail.example.com/t/u/abc>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ],
  attachments: [],
  ...change,
})

const [firstKey, secondKey] = [newDkim(), newDkim()]
const aDomain = (domain: string, providerId?: string): RelayDomain => {
  return {
    domain,
    dkim: firstKey,
    options: {},
    ...(providerId === undefined ? {} : { providerId }),
  }
}

const providers = relayKinds.map(adapterOf).filter((one) => one.kind !== 'simulator')

describe.each(providers.map((one) => [one.kind, one] as const))('%s', (kind, adapter) => {
  let peer: Peer
  let egress: Egress
  let relays: Relays
  beforeAll(async () => {
    egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
    relays = createRelayCalls({
      egress,
      clock: createClock(),
      adapterOf,
      deliverCallback: unexpected,
    })
    peer = await PEERS[kind]()
    peer.addDomain('example.com')
  })
  afterAll(async () => {
    await peer.close()
    await egress.close()
  })
  beforeEach(() => peer.setScript(undefined))

  const send = (change?: Partial<RelayMail>) => relays.send(peer.account, aMail(change))
  const latest = () => peer.mails.at(-1)

  describe('a mail', () => {
    it('arrives unchanged', async () => {
      const content = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 7) % 256))
      const result = await send({
        attachments: [
          { filename: 'möbel.bin', content: content.toString('base64'), type: 'application/x-a' },
        ],
      })
      expect(result).toMatchObject({ kind: 'answered', outcome: { kind: 'accepted' } })
      const mail = latest()
      expect(mail).toMatchObject({
        to: 'ada@example.net',
        from: { email: 'news@example.com', name: 'News' },
        subject: 'Hello',
        text: 'Hello, text',
        html: aMail().html,
        attachments: [{ filename: 'möbel.bin', type: 'application/x-a', isInline: false }],
      })
      expect(mail?.replyTo).toContain('help@example.com')
      expect(mail?.attachments[0]?.content.equals(content)).toBe(true)
      for (const [name, value] of aMail().headers)
        expect([name, mail && headerOf(mail, name)]).toEqual([name, value])
    })

    it('[contract 3.4] has the key in one header of its request, and nowhere else', async () => {
      await send()
      const request = peer.requests.at(-1)
      const { apiKey } = peer.account
      const having = Object.entries(request?.headers ?? {}).filter(([, value]) =>
        String(value).includes(apiKey),
      )
      expect(having).toHaveLength(1)
      const rest = `${request?.path}?${request?.query} ${request?.body}`
      for (const spelling of [apiKey, Buffer.from(apiKey).toString('base64')])
        expect(rest).not.toContain(spelling)
    })

    it('is sent below the address of the account', async () => {
      await send()
      const { pathname } = new URL(peer.account.apiBase)
      expect(peer.requests.at(-1)?.path.startsWith(pathname.replace(/\/$/, ''))).toBe(true)
    })

    it('is neither tracked nor changed by the provider', async () => {
      await send()
      const mail = latest()
      const tracking = mail === undefined ? [] : peer.trackingOf(mail)
      expect(tracking.length).toBeGreaterThan(2)
      expect(tracking).toEqual(tracking.map(() => false))
    })

    it('is no template: placeholders arrive unchanged', async () => {
      const words =
        '{{name}} {{{raw}}} {{ if a }}x{{ end }} -name- %name% [name] [unsubscribe] <%asm_group_unsubscribe_raw_url%> $name #name#'
      const result = await send({
        from: { address: 'news@example.com', name: words },
        subject: words,
        text: words,
        html: `<p>${words}</p>`,
        headers: [...aMail().headers, ['X-Words', words]],
      })
      expect(result).toMatchObject({ outcome: { kind: 'accepted' } })
      const mail = latest()
      expect(mail).toMatchObject({
        from: { name: words },
        subject: words,
        text: words,
        html: `<p>${words}</p>`,
      })
      expect(mail && headerOf(mail, 'X-Words')).toBe(words)
    })

    it('is accepted by a strict provider with any content, and arrives', async () => {
      await fc.assert(
        fc.asyncProperty(anyMail(aMail()), async (mail) => {
          const result = await relays.send(peer.account, mail)
          expect(result).toMatchObject({ kind: 'answered', outcome: { kind: 'accepted' } })
          expect(latest()).toMatchObject({
            to: mail.to.address,
            subject: mail.subject,
            text: mail.text,
            html: mail.html,
          })
        }),
        { numRuns: 40 },
      )
    })
  })

  describe('its reports', () => {
    it('name the copy and the email', async () => {
      const refs = [
        { refId: REF_ID, n: 0 },
        { refId: REF_ID, n: 999 },
        { refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E9', n: 1 },
      ]
      await peer.callBack()
      const ids: string[] = []
      for (const [i, ref] of refs.entries()) {
        const to = { address: `reader-${i}@example.net` }
        const result = await send({ ...ref, to, shown: { to: [to], cc: [] } })
        if (result.kind === 'answered' && result.outcome.kind === 'accepted')
          ids.push(result.outcome.providerMessageId)
      }
      const facts = (await peer.callBack()).flatMap(({ body }) => read(adapter, body))
      const delivered = facts.filter((fact) => fact.kind === 'delivered')
      expect(delivered.map(({ ref }) => ref)).toEqual(refs)
      // One of its ids is what sending answered, by which reports without a name are joined.
      for (const [i, fact] of delivered.entries())
        expect([fact.providerMessageId, fact.providerSendId]).toContain(ids[i])
      for (const fact of delivered) {
        expect(fact.email).toMatch(/^reader-\d@example\.net$/)
        expect(Math.abs(Number(fact.atMicros) / 1000 - nowMs())).toBeLessThan(60_000)
      }
    })

    it('have one id each, the same at every reading', async () => {
      await peer.callBack()
      await send({ n: 7 })
      await send({ n: 8 })
      const [callback] = await peer.callBack()
      const idsOf = () => read(adapter, callback?.body).map(({ factId }) => factId)
      expect(new Set(idsOf()).size).toBe(idsOf().length)
      expect(idsOf()).toEqual(idsOf())
    })

    it('are trusted with the secret, and without a secret only where none is set', async () => {
      await peer.callBack()
      await send()
      const [callback] = await peer.callBack()
      if (callback === undefined) throw new Error('it did not call back')
      const isAuthentic = (request: CallbackRequest, secrets = peer.secrets) =>
        adapter.callbacks.isAuthentic(request, secrets, nowMs())
      expect(isAuthentic(callback)).toBe(true)
      expect(isAuthentic(callback, {})).toBe(true)
      expect(isAuthentic(callback, peer.otherSecrets)).toBe(false)
      expect(isAuthentic({ ...callback, headers: {} })).toBe(false)
      expect(isAuthentic({ ...callback, headers: {} }, {})).toBe(true)
      for (const [name, value] of Object.entries(callback.headers)) {
        const twice = { ...callback.headers, [name]: [String(value), String(value)] }
        expect(typeof isAuthentic({ ...callback, headers: twice })).toBe('boolean')
      }
    })
  })

  describe('an answer', () => {
    /** In the provider's own form, and as a page of something on the way. */
    const answering = async (
      status: number,
      o: { readonly form: 'own' | 'page' | 'empty'; readonly retryAfter?: string },
    ) => {
      const { form, retryAfter } = o
      peer.setScript(() => ({
        status,
        headers: retryAfter === undefined ? {} : { 'Retry-After': retryAfter },
        ...(form === 'own' ? { json: peer.errorOf('It does not go.') } : {}),
        ...(form === 'page' ? { body: '<html><body>It does not go.</body></html>' } : {}),
      }))
      return failureOf(await send())
    }

    it('an answer of 401 means that the key is refused, and no further mail is sent', async () => {
      expect(await answering(401, { form: 'own' })).toMatchObject({
        category: 'auth_rejected',
        authRejected: true,
        retryable: false,
      })
    })

    it('an answer to a wrong key means that the key is refused', async () => {
      const account = { ...peer.account, apiKey: `${peer.account.apiKey}x` }
      const { kind: how, ...rest } = await relays.send(account, aMail())
      expect({ how, ...rest }).toMatchObject({
        how: 'answered',
        outcome: { kind: 'failed', failure: { authRejected: true, retryable: false } },
      })
    })

    it('an answer of 413 means that the mail is too large for good', async () => {
      expect(await answering(413, { form: 'own' })).toMatchObject({
        category: 'message_too_large',
        retryable: false,
      })
    })

    it('an answer of 429 means a retry after the time that it names', async () => {
      const failure = await answering(429, { form: 'own', retryAfter: '77' })
      expect(failure).toMatchObject({
        category: 'sender_rate_limited',
        retryable: true,
        retryAfterMsMin: 77_000,
      })
    })

    it.each([500, 502, 503, 504])(
      'an answer of %i means a retry, also from a gateway',
      async (status) => {
        for (const form of ['own', 'page', 'empty'] as const) {
          const failure = await answering(status, { form })
          expect(failure).toMatchObject({ retryable: true, authRejected: false })
        }
      },
    )

    it('an answer that is a web page is neither a verdict on the key nor a success', async () => {
      for (const status of [200, 201, 204, 301, 302, 403, 404, 407])
        expect([status, await answering(status, { form: 'page' })]).toMatchObject([
          status,
          { authRejected: false },
        ])
    })

    it('an answer of 400 in the form of the provider is final, with its words', async () => {
      const failure = await answering(400, { form: 'own' })
      expect(failure).toMatchObject({ retryable: false, authRejected: false })
      expect(failure.providerError).toContain('It does not go.')
    })
  })

  describe('a domain', () => {
    const call = async (made: RelayDomainCall) => {
      const result = await relays.domain(peer.account, made)
      if (result.kind !== 'answered') throw new Error(`not answered: ${result.kind}`)
      return result.outcome
    }
    const create = (domain: RelayDomain) => call(adapter.domains.create(peer.account, domain))
    const idIn = (outcome: RelayDomainOutcome) =>
      outcome.kind === 'done' ? outcome.providerId : undefined

    it('is made, verified and deleted', async () => {
      const domain = aDomain('one.example.org')
      const made = await create(domain)
      expect(made.kind).toBe('done')
      const records = made.kind === 'done' ? made.records : []
      expect(records.length).toBeGreaterThan(0)
      for (const { name, value } of records) {
        expect(name).toMatch(/(^|\.)one\.example\.org$/)
        expect(value).not.toBe('')
      }
      const named = { ...domain, ...maybe('providerId', idIn(made)) }
      expect(await call(adapter.domains.verify(peer.account, named))).toMatchObject({
        kind: 'done',
        agrees: true,
      })
      expect(await call(adapter.domains.delete(peer.account, named))).toMatchObject({
        kind: 'done',
      })
      expect(await call(adapter.domains.delete(peer.account, named))).toEqual({ kind: 'absent' })
      expect(await call(adapter.domains.verify(peer.account, named))).toEqual({ kind: 'absent' })
    })

    it('is made once, however often it is requested', async () => {
      const domain = aDomain('two.example.org')
      await create(domain)
      const again = await create(domain)
      expect(again.kind === 'done' || (again.kind === 'taken' && again.isOwn)).toBe(true)
    })

    it('a domain of another account is reported as taken', async () => {
      peer.addForeignDomain('foreign.example.org')
      expect(await create(aDomain('foreign.example.org'))).toMatchObject({
        kind: 'taken',
        isOwn: false,
      })
    })

    it('gets a new key, where the provider accepts keys', async () => {
      const { takesKeys, changeKey } = adapter.domains
      expect(changeKey !== undefined).toBe(takesKeys)
      if (changeKey === undefined) return
      const domain = aDomain('three.example.org')
      await create(domain)
      const renewed = { ...domain, dkim: secondKey }
      expect(await call(changeKey(peer.account, renewed))).toMatchObject({ kind: 'done' })
    })

    it('is not made with a refused key', async () => {
      peer.setScript(() => ({ status: 401, json: peer.errorOf('Unauthorized.') }))
      const { create: make, verify, delete: remove } = adapter.domains
      for (const asked of [make, verify, remove])
        expect(await call(asked(peer.account, aDomain('four.example.org', '7')))).toMatchObject({
          kind: 'failed',
          failure: { authRejected: true, retryable: false },
        })
    })
  })

  it('reads any answer without an error, into a failure that can be stored', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const outcome = adapter.readSent(answer)
        if (outcome.kind === 'failed') checkFailure(outcome.failure)
        else expect(isStorable(outcome.providerMessageId, 1_000)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('reads any answer about a domain, with a bounded number of follow-up requests', () => {
    const domain = aDomain('five.example.org')
    const { create, verify, changeKey, delete: remove } = adapter.domains
    const calls = [create, verify, remove, ...(changeKey === undefined ? [] : [changeKey])]
    fc.assert(
      fc.property(
        fc.constantFrom(...calls),
        fc.option(fc.stringMatching(/^\d{1,9}$/), { nil: undefined }),
        fc.array(anyAnswer, { minLength: 3, maxLength: 3 }),
        (make, providerId, answers) => {
          const named = { ...domain, ...maybe('providerId', providerId) }
          let next: RelayDomainOutcome | RelayDomainCall = make(peer.account, named)
          for (const answer of answers) if (!('kind' in next)) next = next.read(answer)
          if (!('kind' in next)) throw new Error('more than three calls')
          if (next.kind === 'failed') checkFailure(next.failure)
          if (next.kind === 'taken') expect(isStorable(next.detail, 5_000)).toBe(true)
          if (next.kind !== 'done') return
          for (const { name, value } of next.records)
            expect(isStorable(name, 1_000) && isStorable(value, 5_000)).toBe(true)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

describe.each(relayKinds.map((kind) => [kind, adapterOf(kind)] as const))(
  'callbacks of %s, whose URL anybody may know',
  (_, adapter) => {
    it('are read without an error, into facts that can be stored', () => {
      fc.assert(
        fc.property(anyCallback, (body) => {
          for (const fact of adapter.callbacks.read(body) ?? []) checkFact(fact)
        }),
        { numRuns: 1_000 },
      )
    })

    it('are refused when they are not JSON or not from the provider', () => {
      for (const body of ['', ' ', '{}', 'null', '7', '"x"', '[', '{"a":1}', '<html>', '\u0000'])
        expect([body, adapter.callbacks.read(body)]).toEqual([body, undefined])
      expect(adapter.callbacks.read('[]')).toEqual([])
    })

    it('do not end the process, however deep they are nested', () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
      const deepObject = `[${'{"msys":'.repeat(50_000)}1${'}'.repeat(50_000)}]`
      for (const body of [deep, deepObject]) {
        const facts = adapter.callbacks.read(body)
        expect(facts?.length ?? 0).toBeLessThan(2)
      }
    })

    it('are not trusted with any wrong headers, without an error', () => {
      const secrets = { callbackSecret: 'secret', verificationKey: 'no key' }
      const value = fc.oneof(fc.string(), fc.array(fc.string()))
      fc.assert(
        fc.property(fc.dictionary(fc.string(), value), fc.uint8Array(), (headers, bytes) => {
          const request = { headers, body: Buffer.from(bytes) }
          expect(adapter.callbacks.isAuthentic(request, secrets, nowMs())).toBe(false)
        }),
      )
    })
  },
)

function read(adapter: RelayAdapter, body: Buffer | undefined): readonly RelayFact[] {
  const facts = adapter.callbacks.read(body?.toString('utf8') ?? '')
  if (facts === undefined) throw new Error('its own callback is none')
  return facts
}

/** An answer that says neither is a failure, too. */
function failureOf(result: RelayResult<RelaySendOutcome>): RelayFailure {
  if (result.kind === 'uncertain') return result.failure
  if (result.kind === 'answered' && result.outcome.kind === 'failed') return result.outcome.failure
  throw new Error(`no failure: ${JSON.stringify(result)}`)
}

function checkFailure(failure: RelayFailure): void {
  const { failedReason, providerError, retryAfterMsMin, authRejected, retryable } = failure
  expect(failedReason).not.toBe('')
  expect(isStorable(failedReason, 5_000)).toBe(true)
  expect(isStorable(providerError, 5_000)).toBe(true)
  expect(authRejected && retryable).toBe(false)
  if (retryAfterMsMin === undefined) return
  expect(retryAfterMsMin).toBeGreaterThan(0)
  expect(retryAfterMsMin).toBeLessThanOrEqual(24 * 3_600_000)
}

function checkFact(fact: RelayFact): void {
  const { factId, type, email, reason, ip, userAgent, errorCode, numRetries, ref } = fact
  expect(factId).not.toBe('')
  expect(isStorable(factId, 255)).toBe(true)
  const short = [type, fact.providerMessageId, fact.providerSendId, email, ip]
  for (const text of [...short, errorCode, numRetries])
    expect(isStorable(text ?? '', 320)).toBe(true)
  for (const text of [reason, userAgent]) expect(isStorable(text ?? '', 5_000)).toBe(true)
  if (ref !== undefined) expect(ref.refId).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  if (fact.atMicros !== undefined) expect(typeof fact.atMicros).toBe('bigint')
}

function newDkim(): RelayDomain['dkim'] {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    selector: 'pr1',
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

function maybe<Name extends string>(name: Name, value: string | undefined) {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, string>)
}

function unexpected(): never {
  throw new Error('a provider does not call back by itself')
}
