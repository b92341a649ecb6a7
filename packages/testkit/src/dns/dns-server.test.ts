import { Resolver } from 'node:dns/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createDnsServer, type DnsServer } from './dns-server.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function serve(): Promise<{ dns: DnsServer; resolver: Resolver }> {
  const dns = await createDnsServer()
  cleanups.push(() => dns.close())
  const resolver = new Resolver({ timeout: 100, tries: 1 })
  resolver.setServers([dns.address])
  return { dns, resolver }
}

describe('a name server with records', () => {
  it('answers each type that was set, whatever the case of the name', async () => {
    const { dns, resolver } = await serve()
    dns.set('a.example.test', 'A', ['192.0.2.1', '192.0.2.2'])
    dns.set('a.example.test', 'AAAA', ['2001:db8:0:0:0:0:0:1'])
    dns.set('example.test', 'MX', ['10 mx1.example.test', '20 mx2.example.test'])
    dns.set('example.test', 'TXT', ['v=spf1 -all', ['in two ', 'strings']])
    expect(await resolver.resolve4('A.Example.TEST')).toEqual(['192.0.2.1', '192.0.2.2'])
    expect(await resolver.resolve6('a.example.test')).toEqual(['2001:db8::1'])
    expect(await resolver.resolveMx('example.test')).toMatchObject([
      { priority: 10, exchange: 'mx1.example.test' },
      { priority: 20, exchange: 'mx2.example.test' },
    ])
    expect(await resolver.resolveTxt('example.test')).toEqual([
      ['v=spf1 -all'],
      ['in two ', 'strings'],
    ])
  })

  it('cuts a long text into strings of 255 bytes', async () => {
    const { dns, resolver } = await serve()
    dns.set('example.test', 'TXT', ['x'.repeat(600)])
    const [found = []] = await resolver.resolveTxt('example.test')
    expect(found.map(({ length }) => length)).toEqual([255, 255, 90])
  })

  it('follows aliases, also in a ring', async () => {
    const { dns, resolver } = await serve()
    dns.set('a.example.test', 'CNAME', ['b.example.test'])
    dns.set('b.example.test', 'CNAME', ['c.example.test'])
    dns.set('c.example.test', 'TXT', ['here'])
    expect(await resolver.resolveTxt('a.example.test')).toEqual([['here']])
    expect(await resolver.resolveCname('a.example.test')).toEqual(['b.example.test'])
    dns.set('c.example.test', 'CNAME', ['a.example.test'])
    expect(await resolver.resolveTxt('a.example.test')).toEqual([])
  })

  it.each([
    ['a name without the type asked for', 'example.test', 'ENODATA'],
    ['a name that only has names below it', 'test', 'ENODATA'],
    ['a name that is not there', 'other.example.test', 'ENOTFOUND'],
    ['the end of an alias that is not there', 'dangling.example.test', 'ENOTFOUND'],
  ])('answers %s distinctly', async (_what, name, code) => {
    const { dns, resolver } = await serve()
    dns.set('example.test', 'A', ['192.0.2.1'])
    dns.set('dangling.example.test', 'CNAME', ['gone.example.test'])
    await expect(resolver.resolveTxt(name)).rejects.toMatchObject({ code })
  })

  it('publishes records as a list, beside others, and removes them by type', async () => {
    const { dns, resolver } = await serve()
    dns.set('example.test', 'TXT', ['first'])
    dns.publish([
      { type: 'TXT', name: 'example.test', value: 'second' },
      { type: 'MX', name: 'example.test', value: 'mx.example.test', priority: 5 },
    ])
    expect(await resolver.resolveTxt('example.test')).toEqual([['first'], ['second']])
    expect(await resolver.resolveMx('example.test')).toMatchObject([
      { priority: 5, exchange: 'mx.example.test' },
    ])
    dns.remove('example.test', 'TXT')
    await expect(resolver.resolveTxt('example.test')).rejects.toMatchObject({ code: 'ENODATA' })
    dns.remove('example.test')
    await expect(resolver.resolveMx('example.test')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('sends an answer too long for UDP whole by TCP', async () => {
    const { dns, resolver } = await serve()
    const texts = Array.from({ length: 40 }, (_, i) => `${i} ${'x'.repeat(200)}`)
    dns.set('example.test', 'TXT', texts)
    const found = await resolver.resolveTxt('example.test')
    expect(found.map((parts) => parts.join(''))).toEqual(texts)
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'tcp'])
  })
})

describe('a name server with a script', () => {
  it.each([
    ['SERVFAIL', { rcode: 2 }, 'ESERVFAIL'],
    ['REFUSED', { rcode: 5 }, 'EREFUSED'],
    ['NXDOMAIN', { rcode: 3 }, 'ENOTFOUND'],
    ['silence', 'silence', 'ETIMEOUT'],
    ['an answer to another question', { hasWrongId: true }, 'ETIMEOUT'],
  ] as const)('gives %s', async (_what, answer, code) => {
    const { dns, resolver } = await serve()
    dns.set('example.test', 'TXT', ['here'])
    dns.setScript(() => answer)
    await expect(resolver.resolveTxt('example.test')).rejects.toMatchObject({ code })
    dns.setScript(undefined)
    expect(await resolver.resolveTxt('example.test')).toEqual([['here']])
  })

  it('gives bytes that are no answer', async () => {
    const { dns, resolver } = await serve()
    dns.setScript(() => ({ raw: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n') }))
    await expect(resolver.resolveTxt('example.test')).rejects.toThrow()
  })

  it('delays an answer, and truncates by UDP only', async () => {
    const { dns, resolver } = await serve()
    dns.set('example.test', 'TXT', ['here'])
    dns.setScript(({ transport }) => (transport === 'udp' ? { isTruncated: true } : undefined))
    expect(await resolver.resolveTxt('example.test')).toEqual([['here']])
    let release = (): void => undefined
    const after = new Promise<void>((resolve) => {
      release = resolve
    })
    dns.setScript(() => ({ after, records: [{ type: 'TXT', value: 'late' }] }))
    const slow = new Resolver({ timeout: 10_000, tries: 1 })
    slow.setServers([dns.address])
    const found = slow.resolveTxt('late.example.test')
    await dns.waitFor((questions) => questions.some(({ name }) => name === 'late.example.test'))
    release()
    expect(await found).toEqual([['late']])
  })
})

it('counts questions by name and type', async () => {
  const { dns, resolver } = await serve()
  dns.set('example.test', 'A', ['192.0.2.1'])
  await resolver.resolve4('example.test')
  await resolver.resolveTxt('example.test').catch(() => undefined)
  expect([
    dns.count('example.test'),
    dns.count('example.test', 'TXT'),
    dns.count('other.test'),
  ]).toEqual([2, 1, 0])
})

it('may be closed twice, and while it is asked', async () => {
  const { dns, resolver } = await serve()
  dns.setScript(() => 'silence')
  const asked = resolver.resolveTxt('example.test').catch((error: Error) => error)
  await dns.waitFor((questions) => questions.length > 0)
  await dns.close()
  await dns.close()
  expect(await asked).toBeInstanceOf(Error)
})
