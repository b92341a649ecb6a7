/** Programs that mean no good by the listener, over real sockets, before a store in memory. */
import { networkInterfaces } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { createRawClient } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { createNetworks } from '../platform/egress/address-policy.ts'
import type { TenantIdentity } from '../platform/http/bounds/admission.ts'
import { newUlid } from '../platform/ids.ts'
import { noDiskGuard } from '../platform/process/disk-guard.ts'
import type { Submitted, SubmittedOutcome } from '../sending/index.ts'
import { base64, begin, ends, logIn, overTls, plain, RAW, start } from './listener.fixture.ts'

describe('[contract 8] a login', () => {
  it('is neither offered nor taken without TLS on an address of a network', async () => {
    const all = Object.values(networkInterfaces()).flatMap((one = []) => one)
    const host = all.find(({ internal, family }) => !internal && family === 'IPv4')?.address
    if (host === undefined) throw new Error('This test needs a network interface with an address')
    const started = await start({ host })
    const client = createRawClient(started.port, host)
    ends.push(() => client.close())
    await client.see(/^220 .*\r\n/)
    const offered = await client.ask('EHLO client.test')
    expect(offered).not.toContain('AUTH')
    expect(offered).toContain('STARTTLS')
    for (const command of [plain('one'), 'AUTH PLAIN', 'AUTH LOGIN', `AUTH LOGIN ${base64('a')}`])
      expect(await client.ask(command)).toMatch(/^538 5\.7\.11 /)
    expect(await client.ask('MAIL FROM:<news@sender.test>')).toMatch(/^530 5\.7\.0 /)
    client.send('BDAT 5 LAST\r\nhello')
    expect(await client.see(/\r\n/)).toMatch(/^530 5\.7\.0 /)
    const secure = await overTls(client)
    expect(await secure.ask(plain('one'))).toMatch(/^235 /)
  })

  it('takes any user name or none by LOGIN, over TLS too', async () => {
    const started = await start()
    for (const user of ['', 'any']) {
      const secure = await overTls(await started.open())
      expect(await secure.ask('AUTH LOGIN')).toMatch(/^334 /)
      expect(await secure.ask(base64(user))).toMatch(/^334 /)
      expect(await secure.ask(base64('one'))).toMatch(/^235 /)
    }
  })

  it('takes no command that came before the handshake', async () => {
    const started = await start()
    const client = await started.open()
    client.send(`STARTTLS\r\n${plain('one')}\r\nMAIL FROM:<evil@sender.test>\r\n`)
    await client.see(/^220 2\.0\.0 [^\r]*\r\n$/)
    const secure = await client.startTls({ rejectUnauthorized: false })
    // Without a greeting of its own, nothing is known of the peer.
    expect(await secure.ask('MAIL FROM:<news@sender.test>')).toMatch(/^503 /)
    await secure.ask('EHLO client.test')
    expect(await secure.ask('MAIL FROM:<news@sender.test>')).toMatch(/^530 /)
    expect(secure.unread()).toBe('')
  })

  it('before STARTTLS ends with it', async () => {
    const started = await start()
    const secure = await overTls(await logIn(started))
    expect(await secure.ask('MAIL FROM:<news@sender.test>')).toMatch(/^530 /)
    expect(await secure.ask(plain('other'))).toMatch(/^235 /)
    await begin(secure)
    expect(await secure.ask(`${RAW}.`)).toMatch(/^250 /)
    expect(started.taken.map(({ tenantId }) => tenantId)).toEqual(['tn_other'])
  })

  it('is refused a hundred times a minute, and a right key never', async () => {
    const started = await start()
    let refused = 0
    let reply = ''
    for (let i = 0; i < 40 && !reply.startsWith('421'); i++) {
      const client = await started.open()
      for (let n = 0; n < 3 && !reply.startsWith('421'); n++) {
        reply = await client.ask(plain(`wrong ${i} ${n}`))
        if (reply.startsWith('535')) refused += 1
      }
      client.close()
    }
    expect(reply).toMatch(/^421 4\.7\.0 Too many wrong keys/)
    expect(refused).toBe(60)
    await logIn(started)
  })

  it('ends when its key is moved to other networks, or may send no more', async () => {
    const started = await start()
    const elsewhere = createNetworks(['192.0.2.0/24'])
    for (const change of [{ networks: elsewhere }, { scopes: ['read'] as const }, undefined]) {
      started.keys.set('changing', { tenantId: 'tn_one', scopes: ['send'] })
      const client = await logIn(started, 'changing')
      await begin(client)
      if (change === undefined) started.keys.delete('changing')
      else started.keys.set('changing', { tenantId: 'tn_one', scopes: ['send'], ...change })
      expect(await client.ask(`${RAW}.`)).toMatch(/^535 5\.7\.8 /)
      expect(await client.end()).toBe('fin')
    }
    expect(started.taken).toEqual([])
    started.keys.set('elsewhere', { tenantId: 'tn_one', scopes: [], networks: elsewhere })
    const client = await started.open()
    expect(await client.ask(plain('elsewhere'))).toMatch(/^535 5\.7\.8 .*127\.0\.0\.1/)
  })
})

describe('connections', () => {
  it('[contract 8] are limited for a tenant, over all addresses, and for nobody else', async () => {
    const started = await start({ limits: { connectionsPerTenantMax: 2 } })
    const first = await logIn(started, 'one', '127.0.0.1')
    await logIn(started, 'one', '127.0.0.2')
    const third = await started.open('127.0.0.3')
    expect(await third.ask(plain('one'))).toMatch(/^421 4\.7\.0 .* of this tenant/)
    await logIn(started, 'other', '127.0.0.3')
    first.close()
    await expect.poll(async () => (await started.open()).ask(plain('one'))).toMatch(/^235 /)
  })

  it('[contract 8] are limited for an address', async () => {
    const started = await start({ limits: { connectionsPerAddressMax: 2 } })
    await Promise.all([started.open(), started.open()])
    const third = createRawClient(started.port)
    expect(await third.see(/\r\n/)).toMatch(/^421 4\.7\.0 .* from your address/)
    await logIn(started, 'one', '127.0.0.2')
  })

  it('count once for a tenant, however often they log in', async () => {
    const started = await start({ limits: { connectionsPerTenantMax: 1 } })
    for (let i = 0; i < 3; i++) {
      const secure = await overTls(await logIn(started))
      expect(await secure.ask(plain('other'))).toMatch(/^235 /)
      await logIn(started, 'one').then((client) => client.close())
      secure.close()
      await expect.poll(started.metrics).toContain('what="connections"} 0')
    }
  })

  it('do not count for a tenant where they end before their login does', async () => {
    const examined = Promise.withResolvers<TenantIdentity>()
    const one: TenantIdentity = { keyId: 'one', tenantId: 'tn_one', scopes: [] }
    const asked: string[] = []
    const authenticateKey = (key: string) =>
      asked.push(key) === 1 ? examined.promise : Promise.resolve(one)
    const started = await start({ authenticateKey, limits: { connectionsPerTenantMax: 1 } })
    const client = await started.open()
    client.send(`${plain('one')}\r\n`)
    await expect.poll(() => asked).toHaveLength(1)
    client.close()
    await expect.poll(started.metrics).toContain('what="connections"} 0')
    examined.resolve(one)
    await logIn(started)
  })
})

const bytesInTransit = async ({ metrics }: Awaited<ReturnType<typeof start>>) =>
  Number(/bytes_in_transit"\} (\d+)/.exec(await metrics())?.[1] ?? Number.NaN)

describe('a message', () => {
  it.each([
    ['\n.\r\n', 'a bare LF before it'],
    ['\r.\r\n', 'a bare CR before it'],
    ['\r\n.\n', 'a bare LF after it'],
    ['\r\n.\r', 'a bare CR after it'],
    ['\n.\n', 'bare LFs'],
  ])('is not ended by a dot with %j', async (end) => {
    const started = await start()
    const client = await logIn(started)
    await begin(client)
    const more = 'MAIL FROM:<evil@sender.test>\r\nRCPT TO:<x@example.test>\r\nDATA\r\n'
    expect(await client.ask(`${RAW}${end}${more}From: evil@sender.test\r\n\r\nx\r\n.`)).toMatch(
      /^550 5\.6\.0 .*bare/,
    )
    expect(await client.ask('NOOP')).toMatch(/^250 /)
    expect(started.taken).toEqual([])
  })

  it('is refused before it comes where the disk is full, or its size does not fit', async () => {
    let isOpen = false
    const started = await start({
      disk: { ...noDiskGuard, isOpen: () => isOpen },
      limits: { bytesInTransitMax: 2_000 },
    })
    const client = await logIn(started)
    expect(await client.ask('MAIL FROM:<news@sender.test>')).toMatch(/^452 4\.3\.1 /)
    isOpen = true
    expect(await client.ask('MAIL FROM:<news@sender.test> SIZE=1500')).toMatch(/^452 4\.3\.1 /)
    expect(await client.ask('MAIL FROM:<news@sender.test> SIZE=500')).toMatch(/^250 /)
  })

  it('is not ended by a dot within a chunk', async () => {
    const started = await start()
    const client = await logIn(started)
    await begin(client, 'BDAT')
    const raw = `${RAW}.\r\nMAIL FROM:<evil@sender.test>\r\n..\r\n`
    client.send(`BDAT ${raw.length} LAST\r\n${raw}`)
    expect(await client.see(/\r\n/)).toMatch(/^250 2\.0\.0 Ok/)
    expect(started.taken.map((one) => one.raw.toString())).toEqual([raw])
  })

  it.each(['RCPT TO:<bob@example.test>', 'DATA'])(
    'takes no %s between its chunks',
    async (command) => {
      const started = await start()
      const client = await logIn(started)
      await begin(client, 'BDAT')
      client.send(`BDAT ${RAW.length}\r\n${RAW}`)
      await client.see(/^250 .*\r\n/)
      expect(await client.ask(command)).toMatch(/^503 5\.5\.1 /)
      expect(await client.ask('BDAT 0 LAST')).toMatch(/^250 2\.0\.0 Ok/)
      expect(started.taken.map(({ recipients }) => recipients)).toEqual([['ada@example.test']])
    },
  )

  it.each([
    'BDAT',
    'BDAT -1',
    'BDAT 1e3',
    'BDAT 0x10 LAST',
    'BDAT 9999999999999 LAST',
    'BDAT 99999999 LAST',
    'BDAT 1 FIRST',
  ])('ends with its connection where the size of a chunk is %s', async (command) => {
    const started = await start()
    const client = await logIn(started)
    await begin(client, 'BDAT')
    client.send(`${command}\r\nMAIL FROM:<evil@sender.test>\r\n`)
    expect(await client.see(/\r\n/)).toMatch(/^5\d\d /)
    await client.end()
    expect(client.unread()).toBe('')
  })

  it('frees its memory where it is given up between its chunks', async () => {
    const started = await start()
    const client = await logIn(started)
    await begin(client, 'BDAT')
    client.send(`BDAT ${RAW.length}\r\n${RAW}`)
    await client.see(/^250 .*\r\n/)
    expect(await bytesInTransit(started)).toBeGreaterThan(0)
    expect(await client.ask('RSET')).toMatch(/^250 /)
    await expect.poll(() => bytesInTransit(started)).toBe(0)
    expect(started.taken).toEqual([])
  })

  it('may come in thousands of chunks at once', async () => {
    // Otherwise they wait for each other.
    const started = await start({ limits: { workMicrosBurst: 1e9 } })
    const client = await logIn(started)
    await begin(client, 'BDAT')
    const raw = `${RAW}${'x'.repeat(3_000)}`
    const chunks = [...raw].map((byte) => `BDAT 1\r\n${byte}`).join('')
    client.send(`${chunks}BDAT 0 LAST\r\n`)
    expect(await client.see(/250 2\.0\.0 Ok.*\r\n/)).toBeTruthy()
    expect(started.taken.map((one) => one.raw.toString())).toEqual([raw])
  })

  it('is committed no more once it is late, and its answer waits for a commit that has begun', async () => {
    const asked: unknown[] = []
    const submit = async ({ isLate }: Submitted): Promise<SubmittedOutcome> => {
      asked.push(isLate?.())
      const untilMs = performance.now() + 400
      while (performance.now() < untilMs) await setImmediate()
      asked.push(isLate?.())
      return { kind: 'accepted', refId: newUlid() }
    }
    const started = await start({ submit, limits: { storeMsMax: 200 } })
    const client = await logIn(started)
    await begin(client)
    expect(await client.ask(`${RAW}.`)).toMatch(/^250 2\.0\.0 Ok/)
    expect(asked).toEqual([false, true])
  })

  it('takes its memory until it is stored, also where its answer came before', async () => {
    const storing = Promise.withResolvers<SubmittedOutcome>()
    const submit = () => storing.promise
    const started = await start({ submit, limits: { storeMsMax: 25, commitMsMax: 25 } })
    const client = await logIn(started)
    await begin(client)
    expect(await client.ask(`${RAW}.`)).toMatch(/^451 4\.3\.0 /)
    expect(await bytesInTransit(started)).toBeGreaterThan(0)
    storing.resolve({ kind: 'accepted', refId: newUlid() })
    await expect.poll(() => bytesInTransit(started)).toBe(0)
  })
})
