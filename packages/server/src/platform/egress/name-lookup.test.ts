import { once } from 'node:events'
import { createDnsServer, type DnsAnswer, type DnsScript } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { createEgress } from './egress.ts'
import { createNameLookup } from './name-lookup.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(script: DnsScript) {
  const server = await createDnsServer({ script })
  cleanups.push(() => server.close())
  return server
}

function lookupAt(servers: readonly string[], o: Parameters<typeof createNameLookup>[0] = {}) {
  const names = createNameLookup({ servers, hosts: { find: async () => undefined }, ...o })
  cleanups.push(() => names.close())
  const lookup = (name: string, signal = new AbortController().signal) => names.lookup(name, signal)
  return { ...names, lookup }
}

type Answer = DnsAnswer | 'silence'

/** What each family is answered. */
async function lookupWith(a: Answer, aaaa: Answer, tryMs?: number) {
  const server = await serve(({ type }) => (type === 'A' ? a : aaaa))
  return { server, ...lookupAt([server.address], { tryMs }) }
}

const V4 = { address: '192.0.2.1', family: 4 }
const V6 = { address: '2001:db8::1', family: 6 }
const a: DnsAnswer = { records: [{ type: 'A', value: '192.0.2.1' }] }
const aaaa: DnsAnswer = { records: [{ type: 'AAAA', value: '2001:db8:0:0:0:0:0:1' }] }
const NO_DATA: DnsAnswer = {}
const SERVFAIL: DnsAnswer = { rcode: 2 }
const NXDOMAIN: DnsAnswer = { rcode: 3 }
const REFUSED: DnsAnswer = { rcode: 5 }
const SILENCE = 'silence' as const

describe('the lookup of a name', () => {
  it.each([
    ['both families', a, aaaa, [V4, V6]],
    ['IPv4 only', a, NO_DATA, [V4]],
    ['IPv6 only', NO_DATA, aaaa, [V6]],
    ['one family, the other failing', a, SERVFAIL, [V4]],
    ['one family, the other said not to exist', NXDOMAIN, aaaa, [V6]],
  ])('the lookup of a name with %s finds the existing addresses', async (_what, v4, v6, found) => {
    const { lookup } = await lookupWith(v4, v6)
    expect(await lookup('a.example.test')).toEqual(found)
  })

  it('finds all addresses, in the order of the answer', async () => {
    const values = ['192.0.2.9', '192.0.2.1', '192.0.2.5']
    const records = values.map((value) => ({ type: 'A' as const, value }))
    const { lookup } = await lookupWith({ records }, NO_DATA)
    expect((await lookup('a.example.test')).map(({ address }) => address)).toEqual(values)
  })

  it('follows an alias', async () => {
    const name = 'b.example.test'
    const alias = { type: 'CNAME', value: name } as const
    const { lookup } = await lookupWith(
      { records: [alias, { name, type: 'A', value: '192.0.2.1' }] },
      { records: [alias] },
    )
    expect(await lookup('a.example.test')).toEqual([V4])
  })

  it('asks again by TCP when the answer is truncated', async () => {
    const server = await serve(({ type, transport }) => {
      if (type === 'AAAA') return NO_DATA
      return transport === 'tcp' ? a : { isTruncated: true }
    })
    expect(await lookupAt([server.address]).lookup('a.example.test')).toEqual([V4])
  })

  it('asks the next server when one is silent', async () => {
    const silent = await serve(() => SILENCE)
    const server = await serve(({ type }) => (type === 'A' ? a : aaaa))
    const { lookup } = lookupAt([silent.address, server.address], { tryMs: 200 })
    expect(await lookup('a.example.test')).toEqual([V4, V6])
    expect(silent.questions).not.toEqual([])
  })

  it.each([
    ['does not exist', NXDOMAIN, NXDOMAIN, 'ENOTFOUND'],
    ['has no address', NO_DATA, NO_DATA, 'ENOTFOUND'],
    ['fails', SERVFAIL, SERVFAIL, 'EAI_AGAIN'],
    ['is refused', REFUSED, REFUSED, 'EAI_AGAIN'],
    ['is never answered', SILENCE, SILENCE, 'EAI_AGAIN'],
    ['has no IPv4 address while IPv6 fails', NO_DATA, SERVFAIL, 'EAI_AGAIN'],
    ['fails while IPv6 is said not to exist', SERVFAIL, NXDOMAIN, 'EAI_AGAIN'],
  ])('distinguishes a name that %s', async (_what, v4, v6, code) => {
    const { lookup } = await lookupWith(v4, v6, v4 === SILENCE ? 20 : undefined)
    await expect(lookup('a.example.test')).rejects.toMatchObject({ code })
  })

  it('fails for the moment without a name server', async () => {
    const server = await createDnsServer()
    await server.close()
    const { lookup } = lookupAt([server.address])
    await expect(lookup('a.example.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
  })

  it.each(['localhost', 'a.localhost'])(
    'finds this machine for %s without a question',
    async (name) => {
      const { lookup, server } = await lookupWith(a, aaaa)
      expect(await lookup(name)).toEqual([{ address: '127.0.0.1', family: 4 }])
      expect(server.questions).toEqual([])
    },
  )

  it('prefers the hosts file', async () => {
    const server = await serve(() => a)
    const find = async (name: string) => (name === 'own.example.test' ? [V6] : undefined)
    const { lookup } = lookupAt([server.address], { hosts: { find } })
    expect(await lookup('own.example.test')).toEqual([V6])
    expect(server.questions).toEqual([])
  })

  it('asks for the exact name, each time from another port', async () => {
    const { lookup, server } = await lookupWith(a, NO_DATA)
    for (let i = 0; i < 5; i += 1) await lookup('a')
    expect(new Set(server.questions.map(({ name }) => name))).toEqual(new Set(['a']))
    expect(new Set(server.questions.map(({ port }) => port)).size).toBeGreaterThan(1)
  })
})

describe('names without an answer', () => {
  const isSilent = (name: string) => name.startsWith('silent')
  const silentNames = (count: number) =>
    Array.from({ length: count }, (_, i) => `silent${i}.example.test`)

  it('delay no other name, even a hundred of them', async () => {
    const server = await serve(({ name, type }) => {
      if (isSilent(name)) return SILENCE
      return type === 'A' ? { records: [{ type: 'A', value: '127.0.0.1' }] } : NO_DATA
    })
    const egress = createEgress({ allowNetworks: ['127.0.0.0/8'], dnsServers: [server.address] })
    cleanups.push(() => egress.close())
    let ended = 0
    const silent = silentNames(100).map((name) =>
      egress.check(name, 60_000).catch((error: unknown) => {
        ended += 1
        return error
      }),
    )
    await server.waitFor(() => new Set(server.questions.map(({ name }) => name)).size === 100)
    await egress.check('a.example.test', 60_000)
    expect(ended).toBe(0)
    await egress.close()
    for (const failure of await Promise.all(silent))
      expect(failure).toMatchObject({ code: 'aborted' })
  })

  it('are bounded in number', async () => {
    const server = await serve(({ name }) => (isSilent(name) ? SILENCE : a))
    const names = lookupAt([server.address], { lookupsMax: 3 })
    const silent = silentNames(3).map((name) => names.lookup(name).catch(() => undefined))
    await server.waitFor(() => new Set(server.questions.map(({ name }) => name)).size === 3)
    const refusal = { code: 'busy', message: expect.stringMatching('many') }
    await expect(names.lookup('a.example.test')).rejects.toMatchObject(refusal)
    names.close()
    await Promise.all(silent)
  })

  it('free their place when nobody waits any more', async () => {
    const server = await serve(({ name }) => (isSilent(name) ? SILENCE : a))
    const names = lookupAt([server.address], { lookupsMax: 1 })
    const gone = new AbortController()
    const silent = names.lookup('silent.example.test', gone.signal).catch((error: unknown) => error)
    await server.waitFor(() => server.questions.length > 0)
    gone.abort()
    expect(await silent).toMatchObject({ code: 'EAI_AGAIN' })
    expect(await names.lookup('a.example.test')).toEqual([V4])
  })

  it('are asked for until the last of the waiting callers has gone', async () => {
    const signals: AbortSignal[] = []
    const egress = createEgress({
      allowNetworks: [],
      lookup: async (_name, signal) => {
        signals.push(signal)
        await once(signal, 'abort')
        throw new Error('stopped')
      },
    })
    cleanups.push(() => egress.close())
    const stoppers = [new AbortController(), new AbortController()]
    const waiting = stoppers.map(({ signal }) =>
      egress
        .connect({ host: 'a.example.test', port: 25, timeoutMs: 60_000, signal })
        .catch((error: unknown) => error),
    )
    for (const [i, stopper] of stoppers.entries()) {
      expect(signals.map(({ aborted }) => aborted)).toEqual([false])
      stopper.abort()
      expect(await waiting[i]).toMatchObject({ code: 'aborted' })
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('are given up by close, and none is asked for afterwards', async () => {
    const { lookup, close, server } = await lookupWith(SILENCE, SILENCE)
    const asked = lookup('a.example.test')
    await server.waitFor(() => server.questions.length === 2)
    close()
    await expect(asked).rejects.toMatchObject({ code: 'aborted' })
    await expect(lookup('b.example.test')).rejects.toMatchObject({ code: 'aborted' })
    expect(server.questions).toHaveLength(2)
  })
})

describe('a name server that changes its answers', () => {
  it('causes no connection to a refused address', async () => {
    let asked = 0
    const server = await serve(({ type }) => {
      if (type === 'AAAA') return NO_DATA
      asked += 1
      return { records: [{ type: 'A', value: asked % 2 === 1 ? '127.0.0.1' : '10.0.0.1' }] }
    })
    const egress = createEgress({ allowNetworks: ['127.0.0.0/8'], dnsServers: [server.address] })
    cleanups.push(() => egress.close())
    await egress.check('a.example.test')
    const connected = egress.connect({ host: 'a.example.test', port: 25, timeoutMs: 60_000 })
    await expect(connected).rejects.toMatchObject({ code: 'address_refused' })
    expect(asked).toBe(2)
  })
})
