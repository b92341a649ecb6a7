/**
 * The examples of the OpenAPI description are what a running service is asked and answers. After a
 * change: `UPDATE_GOLDEN=1 npx vitest run e2e/examples.test.ts packages/server/test/openapi.db.test.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { eventNames, operations } from '@postrider/contract'
import { createDnsServer } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
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
