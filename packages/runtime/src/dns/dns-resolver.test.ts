import { createDnsServer, type DnsScript, type DnsServer } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { createDnsResolver } from './dns-resolver.ts'
import type { NameServersOptions } from './name-servers.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(script?: DnsScript): Promise<DnsServer> {
  const server = await createDnsServer()
  cleanups.push(() => server.close())
  server.setScript(script)
  return server
}

function resolverAt(servers: readonly DnsServer[], o: NameServersOptions = {}) {
  const addresses = servers.map(({ address }) => address)
  const resolver = createDnsResolver({ servers: addresses, ...o })
  cleanups.push(() => resolver.close())
  return resolver
}

const NAME = 'a.example.test'
const SERVFAIL = { rcode: 2 }
const REFUSED = { rcode: 5 }
/** Answers for its own zone alone: of an alias, where it leads, and nothing more. */
const withoutFollowing: DnsScript = ({ type }) => (type === 'CNAME' ? undefined : {})

describe('a published record', () => {
  it('is returned with its strings joined', async () => {
    const server = await serve()
    const key = `v=DKIM1; p=${'A'.repeat(400)}`
    server.set(NAME, 'TXT', [key, ['v=spf1 ', '-all'], '"quoted" ; and spaced  ', ''])
    const records = [key, 'v=spf1 -all', '"quoted" ; and spaced  ', '']
    const answer = await resolverAt([server]).txt(NAME)
    expect(answer).toEqual({ kind: 'found', records: expect.any(Array), aliases: [] })
    if (answer.kind === 'found') expect([...answer.records].sort()).toEqual([...records].sort())
  })

  it('is found by a name in any case, with or without its final dot', async () => {
    const server = await serve()
    server.set(NAME, 'TXT', ['x'])
    const resolver = resolverAt([server])
    for (const name of ['A.Example.TEST', 'a.example.test.'])
      expect(await resolver.txt(name)).toMatchObject({ kind: 'found', records: ['x'] })
  })

  it('has exchanges in lower case, without a final dot', async () => {
    const server = await serve()
    server.set(NAME, 'MX', ['10 MX.Example.TEST', '20 mx2.example.test'])
    const answer = await resolverAt([server]).mx(NAME)
    expect(answer).toMatchObject({
      kind: 'found',
      records: expect.arrayContaining([
        { priority: 10, exchange: 'mx.example.test' },
        { priority: 20, exchange: 'mx2.example.test' },
      ]),
    })
  })

  it('may be an address of either kind, or a name of an address', async () => {
    const server = await serve()
    server.set(NAME, 'A', ['192.0.2.1'])
    server.set(NAME, 'AAAA', ['2001:db8:0:0:0:0:0:1'])
    server.set('1.2.0.192.in-addr.arpa', 'PTR', ['A.Example.TEST'])
    const resolver = resolverAt([server])
    expect(await resolver.a(NAME)).toMatchObject({ records: ['192.0.2.1'] })
    expect(await resolver.aaaa(NAME)).toMatchObject({ records: ['2001:db8::1'] })
    expect(await resolver.ptr('1.2.0.192.in-addr.arpa')).toMatchObject({ records: [NAME] })
  })

  it('is returned whole by TCP where it is too long for UDP', async () => {
    const server = await serve()
    const long = Array.from({ length: 20 }, (_, i) => `${i} ${'x'.repeat(400)}`)
    server.set(NAME, 'TXT', long)
    const answer = await resolverAt([server]).txt(NAME)
    if (answer.kind !== 'found') throw new Error(answer.kind)
    expect([...answer.records].sort()).toEqual([...long].sort())
    expect(server.questions.map(({ transport }) => transport)).toContain('tcp')
  })

  it.each([
    ['that the server follows', undefined],
    ['that it does not', withoutFollowing],
  ])('is found behind aliases %s', async (_what, script) => {
    const server = await serve(script)
    server.set(NAME, 'CNAME', ['B.example.test'])
    server.set('b.example.test', 'CNAME', ['c.example.test'])
    server.setScript((question) =>
      question.name === 'c.example.test' ? undefined : script?.(question),
    )
    server.set('c.example.test', 'TXT', ['x'])
    expect(await resolverAt([server]).txt(NAME)).toMatchObject({ kind: 'found', records: ['x'] })
  })
})

describe('aliases', () => {
  it('are returned in order, to the last', async () => {
    const server = await serve()
    const names = ['b', 'c', 'd'].map((label) => `${label}.example.test`)
    for (const [i, name] of [NAME, ...names].entries())
      if (names[i] !== undefined) server.set(name, 'CNAME', [names[i]])
    expect(await resolverAt([server]).aliases(NAME)).toEqual({
      kind: 'found',
      records: names,
      aliases: names,
    })
  })

  it.each([
    ['to itself', [NAME]],
    ['in a circle', ['b.example.test', NAME]],
    ['in a circle further on', ['b.example.test', 'c.example.test', 'b.example.test']],
    ['further than anybody follows', Array.from({ length: 10 }, (_, i) => `c${i}.example.test`)],
  ])('aliases that lead %s end after a bounded number of questions', async (_what, targets) => {
    const server = await serve(withoutFollowing)
    for (const [i, target] of targets.entries())
      server.set(targets[i - 1] ?? NAME, 'CNAME', [target])
    const resolver = resolverAt([server])
    expect(await resolver.aliases(NAME)).toMatchObject({ kind: 'absent' })
    expect(await resolver.txt(NAME)).toMatchObject({ kind: 'absent' })
    expect(server.count(NAME, 'CNAME')).toBe(2)
    expect(server.questions.length).toBeLessThanOrEqual(2 * 20)
  })

  it('are returned as far as they are known before a failing server', async () => {
    const server = await serve(({ name }) => (name === 'b.example.test' ? SERVFAIL : undefined))
    server.set(NAME, 'CNAME', ['b.example.test'])
    const aliases = ['b.example.test']
    expect(await resolverAt([server]).aliases(NAME)).toEqual({
      kind: 'unknown',
      why: 'failed',
      aliases,
    })
  })
})

describe('a record that does not exist', () => {
  it.each([
    ['a name that does not exist', { rcode: 3 }, {}],
    ['a name without such a record', {}, { isName: true }],
  ])('is absent: %s', async (_what, said, known) => {
    const resolver = resolverAt([await serve(() => said)])
    for (const answer of [
      await resolver.txt(NAME),
      await resolver.mx(NAME),
      await resolver.a(NAME),
      await resolver.aaaa(NAME),
      await resolver.ptr(NAME),
    ])
      expect(answer).toEqual({ kind: 'absent', ...known, aliases: [] })
    expect(await resolver.aliases(NAME)).toEqual({ kind: 'absent', aliases: [] })
  })

  it('is absent behind an alias to a name that does not exist', async () => {
    const server = await serve()
    server.set(NAME, 'CNAME', ['gone.example.test'])
    expect(await resolverAt([server]).txt(NAME)).toMatchObject({ kind: 'absent' })
  })
})

describe('a record without an answer', () => {
  it.each([
    ['a server that fails', SERVFAIL, 'failed'],
    ['a server that refuses', REFUSED, 'refused'],
    ['a server that does not know the type', { rcode: 4 }, 'failed'],
    ['a server that is silent', 'silence' as const, 'timeout'],
    ['an answer that is no DNS', { raw: Buffer.from('HTTP/1.1 400 Bad Request') }, 'failed'],
    ["an answer to somebody else's question", { hasWrongId: true }, 'timeout'],
  ])('is unknown: %s', async (_what, said, why) => {
    const server = await serve(() => said)
    server.set(NAME, 'TXT', ['x'])
    const resolver = resolverAt([server], { tryMs: 30 })
    expect(await resolver.txt(NAME)).toMatchObject({ kind: 'unknown', why })
    expect(await resolver.aliases(NAME)).toMatchObject({ kind: 'unknown', why })
  })

  it('is unknown while no server exists', async () => {
    const server = await serve()
    await server.close()
    const answer = await resolverAt([server], { tryMs: 100 }).txt(NAME)
    expect(answer).toMatchObject({ kind: 'unknown' })
  })

  it('is unknown when the record is absent and the alias was not answered', async () => {
    const server = await serve(({ type }) => (type === 'CNAME' ? SERVFAIL : {}))
    expect(await resolverAt([server]).txt(NAME)).toMatchObject({ kind: 'unknown', why: 'failed' })
  })

  it.each([
    ['silent', 'silence' as const],
    ['failing', SERVFAIL],
    ['refusing', REFUSED],
  ])('is requested from the next server when one is %s', async (_what, said) => {
    const bad = await serve(() => said)
    const good = await serve()
    good.set(NAME, 'TXT', ['x'])
    const answer = await resolverAt([bad, good], { tryMs: 100 }).txt(NAME)
    expect(answer).toMatchObject({ kind: 'found', records: ['x'] })
    expect(bad.questions).not.toEqual([])
  })

  it('is unknown when one server is silent and the other fails', async () => {
    const servers = [await serve(() => 'silence'), await serve(() => SERVFAIL)]
    const answer = await resolverAt(servers, { tryMs: 50 }).txt(NAME)
    expect(answer).toMatchObject({ kind: 'unknown' })
  })

  it('is requested a bounded number of times', async () => {
    const server = await serve(() => 'silence')
    await resolverAt([server], { tryMs: 20 }).txt(NAME)
    expect(server.questions.length).toBeLessThanOrEqual(2)
  })

  it('is given up after the time for a lookup, however many aliases there are', async () => {
    const server = await serve(withoutFollowing)
    const hold = Promise.withResolvers<void>()
    cleanups.push(() => hold.resolve())
    server.set(NAME, 'CNAME', ['b.example.test'])
    server.setScript(({ name, type }) => {
      if (name !== NAME) return { after: hold.promise }
      return type === 'CNAME' ? undefined : {}
    })
    const answer = await resolverAt([server], { lookupMsMax: 150 }).txt(NAME)
    expect(answer).toEqual({ kind: 'unknown', why: 'timeout', aliases: ['b.example.test'] })
  })

  it('differs from one that was not requested for lack of capacity', async () => {
    const server = await serve(({ name }) => (name === NAME ? undefined : 'silence'))
    server.set(NAME, 'TXT', ['x'])
    const resolver = resolverAt([server], { lookupsMax: 2 })
    const asked = ['b', 'c'].map((label) => resolver.txt(`${label}.example.test`))
    await server.waitFor((questions) => new Set(questions.map(({ name }) => name)).size === 2)
    expect(await resolver.txt(NAME)).toEqual({ kind: 'unknown', why: 'busy', aliases: [] })
    resolver.close()
    const stopped = { kind: 'unknown', why: 'stopped', aliases: [] }
    expect(await Promise.all(asked)).toEqual([stopped, stopped])
    expect(await resolver.txt(NAME)).toEqual(stopped)
  })
})
