/**
 * Wrong keys (docs/reference/http.md#authentication): 60 a minute from an address, then 429; a right key is
 * never slowed.
 */
import { PassThrough } from 'node:stream'
import { beforeEach, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp, wrongKeysMax } from './app.ts'

let nowMs: number
let lines: string[]
let metrics: ReturnType<typeof createMetrics>
let app: ReturnType<typeof createHttpApp>

beforeEach(() => {
  nowMs = 0
  lines = []
  const destination = new PassThrough()
  destination.on('data', (line) => lines.push(String(line)))
  metrics = createMetrics()
  app = createHttpApp({
    log: createLogger({ level: 'info', destination }),
    metrics,
    authenticateKey: (key) =>
      key === 'right' ? { tenantId: 'tn_1', keyId: 'key_1', scopes: [] } : undefined,
    adminToken: 'the-operator',
    trustedProxies: ['10.0.0.0/8'],
    monotonicMs: () => nowMs,
  })
  app.get('/mail', { config: { auth: 'tenant' } }, () => ({ done: true }))
  app.get('/admin', { config: { auth: 'admin' } }, () => ({ done: true }))
})

async function ask(key: string | undefined, from = '192.0.2.1', forwarded?: string, url = '/mail') {
  const headers = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
  }
  return await app.inject({ url, headers, remoteAddress: from })
}

async function guess(times: number, from?: string, forwarded?: string, url?: string) {
  const statuses: number[] = []
  for (let i = 0; i < times; i++)
    statuses.push((await ask(`wrong-${i}`, from, forwarded, url)).statusCode)
  return [...new Set(statuses)]
}

it('answers 60 wrong keys of an address in a minute with 401, and further ones with 429', async () => {
  expect(await guess(wrongKeysMax)).toEqual([401])
  nowMs = 20_000
  const refused = await ask('wrong')
  expect(refused.statusCode).toBe(429)
  expect(refused.json()).toMatchObject({ code: 'rate_limited' })
  expect(refused.headers).toMatchObject({
    'retry-after': '40',
    'ratelimit-policy': '"wrong-keys";q=60;w=60',
  })
  nowMs = 60_000
  expect((await ask('wrong')).statusCode).toBe(401)
})

it('answers a valid key from the same address meanwhile', async () => {
  expect(await guess(wrongKeysMax + 10)).toEqual([401, 429])
  expect((await ask('right')).statusCode).toBe(200)
  expect((await ask('the-operator', undefined, undefined, '/admin')).statusCode).toBe(200)
})

it('counts wrong operator tokens in the same budget', async () => {
  expect(await guess(wrongKeysMax, undefined, undefined, '/admin')).toEqual([401])
  expect((await ask('wrong')).statusCode).toBe(429)
  expect((await ask('wrong', undefined, undefined, '/admin')).statusCode).toBe(429)
})

it('counts each address by itself, and an IPv6 network of 64 bits as one', async () => {
  expect(await guess(wrongKeysMax, '2001:db8::1')).toEqual([401])
  expect((await ask('wrong', '2001:db8::2')).statusCode).toBe(429)
  expect((await ask('wrong', '2001:db8:0:1::1')).statusCode).toBe(401)
})

it('counts the clients of a trusted proxy, not the proxy', async () => {
  expect(await guess(wrongKeysMax, '10.0.0.1', '192.0.2.7')).toEqual([401])
  expect((await ask('wrong', '10.0.0.1', '192.0.2.7')).statusCode).toBe(429)
  expect((await ask('wrong', '10.0.0.1', '192.0.2.8')).statusCode).toBe(401)
})

it('counts no request without a key', async () => {
  for (let i = 0; i < wrongKeysMax + 5; i++) expect((await ask(undefined)).statusCode).toBe(401)
})

it('names the limit in the log line, and counts refusals', async () => {
  expect(await metrics.registry.metrics()).toContain(
    'postrider_http_refused_total{bound="wrong-keys"} 0',
  )
  await guess(wrongKeysMax + 3)
  expect(lines.filter((line) => line.includes('"bound":"wrong-keys"'))).toHaveLength(3)
  expect(await metrics.registry.metrics()).toContain(
    'postrider_http_refused_total{bound="wrong-keys"} 3',
  )
})
