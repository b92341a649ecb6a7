/**
 * What is repeated after which failure, measured against a server that fails once, or until nobody
 * asks any more. The table of the README is what comes out (UPDATE_GOLDEN=1 writes it).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { Postrider, PostriderError } from '../src/index.ts'
import {
  cut,
  drop,
  hang,
  refusal,
  reply,
  type Step,
  startScriptedServer,
} from './scripted-server.ts'

const readme = new URL('../README.md', import.meta.url)
const block = /(?<=<!-- measured -->\n).*?(?=<!-- \/measured -->)/s
const boundMs = 60_000

const sound = reply(200, { success: true, message: 'm', domains: [], ref_id: 'r', recipients: [] })

const operations: Record<string, (client: Postrider) => Promise<unknown>> = {
  reading: (client) => client.listDomains(),
  'replacing, deleting': (client) => client.deleteDomain('example.com'),
  creating: (client) => client.addDomain({ domain: 'example.com' }),
  '`sendEmail`': (client) =>
    client.sendEmail({
      from: { email: 'news@example.com' },
      to: [{ email: 'ada@example.com' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hello' }],
    }),
  'a stream': async (client) =>
    await new Response(await client.exportEmailLogs({ format: 'csv' })).text(),
}

const html = (status: number, headers = {}) => reply(status, '<h1>no</h1>', headers)

const failures: Record<string, Step | 'refused'> = {
  'no connection': 'refused',
  'the connection breaks before the answer': drop,
  'the answer is cut off': cut,
  'no answer in time': hang,
  'status 429 with `Retry-After: 1`': refusal(429, 'rate_limited', { 'retry-after': '1' }),
  'status 429 with `Retry-After: 3600`': refusal(429, 'quota_exceeded', { 'retry-after': '3600' }),
  'status 503 of the service': refusal(503, 'unavailable', { 'retry-after': '1' }),
  'status 503 of the service, `outcome: "unknown"`': reply(
    503,
    {
      ...{ success: false, message: 'm', code: 'unavailable', request_id: 'r' },
      outcome: 'unknown',
    },
    { 'retry-after': '1' },
  ),
  'status 503 of a proxy, with `Retry-After`': html(503, { 'retry-after': '1' }),
  'status 503 of a proxy, without': html(503),
  'status 500': refusal(500, 'internal_error'),
  'status 502 of a proxy': html(502),
  'status 504 of a proxy': html(504),
  'status 408': refusal(408, 'request_timeout'),
  'status 409 `idempotency_in_progress`': refusal(409, 'idempotency_in_progress'),
  'status 409 of any other kind': refusal(409, 'conflict'),
  'status 400': refusal(400, 'validation_failed'),
  'status 501': html(501),
  'a redirect': reply(302, '', { location: '/elsewhere' }),
  'HTML with status 200': html(200),
}

/** `repeated`, or the code of the error that comes at once. */
async function measure(name: string, failure: Step | 'refused'): Promise<string> {
  const server = await startScriptedServer(
    ...(failure === 'refused' ? [] : [failure]),
    ...Array<Step>(3).fill(sound),
  )
  let attempts = 0
  const client = new Postrider({
    ...{ apiKey: 'k', basePath: server.url, timeout: failure === hang ? 3_000 : 30_000 },
    fetch: async (url, init) => {
      attempts += 1
      if (failure === 'refused' && attempts === 1) throw unreachable()
      return fetch(url, init)
    },
  })
  const result = await operations[name]?.(client).then(
    () => 'repeated',
    (error: unknown) => (error instanceof PostriderError ? `\`${error.code}\`` : String(error)),
  )
  // A stream takes any bytes; the others say nothing without a second attempt.
  if (attempts === 1) return result === 'repeated' ? 'taken' : String(result)
  return String(result)
}

/** As `fetch` of Node.js tells it. The port of a server that was closed may be another's by now. */
function unreachable(): TypeError {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  return new TypeError('fetch failed', { cause })
}

it('measures every row of the table in the README', { timeout: boundMs }, async () => {
  const names = Object.keys(operations)
  const rows = await Promise.all(
    Object.entries(failures).map(async ([what, failure]) => {
      const cells = await Promise.all(names.map((name) => measure(name, failure)))
      return `| ${[what, ...cells].join(' | ')} |`
    }),
  )
  const head = [`| what happens | ${names.join(' | ')} |`, `|---${'|---'.repeat(names.length)}|`]
  const table = `${[...head, ...rows].join('\n')}\n`
  const text = readFileSync(readme, 'utf8')
  if (process.env.UPDATE_GOLDEN === '1')
    writeFileSync(
      readme,
      text.replace(block, () => table),
    )
  expect(readFileSync(readme, 'utf8').match(block)?.[0]).toBe(table)
})
