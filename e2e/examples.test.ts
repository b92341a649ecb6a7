/**
 * The examples of the OpenAPI description are what a running service is asked and answers. After a
 * change: `npm run docs:api`.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Postrider } from '@postrider/client'
import { type ApiKeyScope, eventNames, type OperationId, operations } from '@postrider/contract'
import { createDnsServer } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { playEvents } from './examples/play-events.ts'
import { onPath, playOperations } from './examples/play-operations.ts'
import { createRecorder, type Recorder } from './examples/recorder.ts'
import { createSettle } from './examples/settle.ts'
import { createWorld, type World } from './world.ts'

const committed = new URL(
  '../packages/server/src/platform/http/description/examples.json',
  import.meta.url,
)
const ADMIN_TOKEN = 'operator-token-1'
const PUBLIC_URL = 'https://postrider.example.com'

let world: World
let dns: Awaited<ReturnType<typeof createDnsServer>>
let recorder: Recorder
let text: string

beforeAll(async () => {
  dns = await createDnsServer()
  world = createWorld({
    ADMIN_TOKEN,
    DNS_SERVERS: dns.address,
    PUBLIC_URL,
  })
  await world.start()
  const receiver = await world.newReceiver()
  let apiKey = ''
  const { origin } = world.service()
  recorder = createRecorder({
    ...{ origin, adminToken: ADMIN_TOKEN, publicOrigin: PUBLIC_URL },
    apiKey: () => apiKey,
  })
  const texts = new Map([
    [receiver.origin, 'https://hooks.example.com'],
    ['127.0.0.1', '192.0.2.10'],
  ])
  const servers = new Map<number, { host: string; port: number }>()
  await playOperations({
    ...{ world, dns, receiver, texts, servers, call: recorder.call },
    useKey: (key) => {
      apiKey = key
    },
  })
  const events = await playEvents({ world, dns, receiver, call: recorder.call })
  const settle = createSettle({ texts, servers })
  const requests = (path: string) => onPath(receiver.requests, path).map(({ json }) => json)
  const webhooks = {
    EMAIL_EVENT: requests('/postrider').find((body) => !isTest(body)),
    DOMAIN_VERIFICATION: requests('/domains')[0],
    INCOMING: requests('/inbound')[0],
  }
  const examples = settle({ operations: Object.fromEntries(recorder.examples), webhooks, events })
  text = `${JSON.stringify(examples, null, 2)}\n`
}, 240_000)
afterAll(async () => {
  await world.destroy()
  await dns.close()
})

/** What sendTestEvent made. */
function isTest(body: unknown): boolean {
  return JSON.stringify(body).includes('"test":true')
}

it('every operation has an example: add the missing ones to e2e/examples/play-operations.ts', () => {
  expect([...recorder.examples.keys()].sort()).toEqual(Object.keys(operations).sort())
})

it('every event has an example: add the missing ones to e2e/examples/play-events.ts', () => {
  const { events } = JSON.parse(text) as { readonly events: Record<string, unknown> }
  const names = [...eventNames].sort()
  expect(Object.keys(events).sort()).toEqual(names)
})

it('the header fields of the answers are described', async () => {
  const response = await fetch(`${world.service().origin}/openapi.json`)
  const { paths } = (await response.json()) as {
    paths: Record<string, Record<string, { responses: Record<string, { headers: object }> }>>
  }
  for (const [id, headers] of recorder.headers) {
    const { path, method, status } = operations[id]
    const described = paths[path]?.[method.toLowerCase()]?.responses[status]?.headers ?? {}
    const names = Object.keys(described).map((name) => name.toLowerCase())
    expect([id, headers.filter((name) => !names.includes(name))]).toEqual([id, []])
  }
})

it('the examples equal the committed ones', () => {
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(committed, text)
  expect(readFileSync(committed, 'utf8')).toBe(text)
})

const DASHBOARD = fileURLToPath(new URL('../packages/dashboard/src', import.meta.url))
/** What lines of the dashboard answer that name a server, a domain or an account of the reader's own. */
const OF_ONES_OWN: Readonly<Partial<Record<OperationId, string>>> = {
  configureSMTP: 'mailer_unreachable',
  configureIMAP: 'url_unreachable',
  registerWebhook: 'url_unreachable',
  configureInboundRouting: 'url_unreachable',
  addDomain: 'no_relay',
  createInboundUsername: 'not_found',
}

interface Lines {
  readonly operation: OperationId
  readonly curl: string
  readonly needs?: 'all' | 'test'
}

it('the lines under empty lists work with the key that is named beside them, and with no lesser one', async () => {
  const { origin } = world.service()
  vi.stubGlobal('location', { origin })
  const operator = new Postrider({ apiKey: ADMIN_TOKEN, basePath: origin })
  const { tenant_id: tenantId, api_key: whole } = await operator.createTenant({ name: 'Lines' })
  const client = new Postrider({ apiKey: whole, basePath: origin })
  await client.configureRelay({ kind: 'simulator' })
  await client.addDomain({ domain: 'lines.example.com', relay: 'simulator' })
  const keyOf = async (scopes: ApiKeyScope[], mode: 'live' | 'test') =>
    (await client.createKey({ name: 'Lines', scopes, mode })).api_key
  const { permissions } = (await import(`${DASHBOARD}/session/permissions.ts`)) as {
    permissions: Partial<Record<OperationId, { readonly scope?: ApiKeyScope | 'all' }>>
  }
  const parameters: Readonly<Record<string, string>> = {
    ...{ sendSnippets: 'news@lines.example.com', testSnippets: 'news@lines.example.com' },
    ...{ usernameSnippets: 'lines.example.com', tenantKeySnippets: tenantId },
  }
  const [answers, expected]: [unknown[], unknown[]] = [[], []]
  for (const file of globSync('*/snippets.ts', { cwd: DASHBOARD })) {
    const made: Record<string, (text?: string) => Lines> = await import(`${DASHBOARD}/${file}`)
    for (const [name, make] of Object.entries(made)) {
      const { operation, curl, needs } = make(parameters[name])
      const scope = needs === 'all' ? needs : permissions[operation]?.scope
      const mode = needs === 'test' ? 'test' : 'live'
      answers.push([name, curl.includes('$POSTRIDER_TEST_KEY')])
      expected.push([name, name === 'testSnippets'])
      const key =
        scope === undefined ? ADMIN_TOKEN : scope === 'all' ? whole : await keyOf([scope], mode)
      const { ok, code } = await paste(curl, key)
      answers.push([name, ok ? undefined : code])
      expected.push([name, OF_ONES_OWN[operation]])
      if (scope !== undefined) {
        const others = (['send', 'read', 'content'] as const).filter((one) => one !== scope)
        const lesser = await paste(curl, await keyOf(others, mode))
        answers.push([name, lesser.code])
        expected.push([name, 'forbidden'])
      }
    }
  }
  expect(answers).toEqual(expected)
  expect(answers.length).toBeGreaterThan(30)
  vi.unstubAllGlobals()
}, 120_000)

/** As a shell would read the lines. */
async function paste(curl: string, key: string) {
  const [, verb, url = ''] = /^curl (?:-N )?(?:-X (\w+) )?(\S+) /.exec(curl) ?? []
  const body = / -d '([^']*)'$/.exec(curl)?.[1]
  const ending = new AbortController()
  const response = await fetch(url, {
    method: verb ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    signal: ending.signal,
  })
  const { ok } = response
  const code = ok ? undefined : ((await response.json()) as { readonly code: string }).code
  ending.abort()
  return { ok, code }
}
