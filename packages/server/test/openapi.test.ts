/** The OpenAPI document of the service as it is composed, and the guard of every route in it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { eventNames, operations, webhookEvents } from '@postrider/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const golden = new URL('../../../docs/openapi.json', import.meta.url)
const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)
const ADMIN_TOKEN = 'operator-token-1'

interface Described {
  readonly operationId?: string
  readonly security?: readonly Record<string, unknown>[]
  readonly responses: Record<string, unknown>
}
interface Schema {
  readonly $ref?: string
  readonly enum?: readonly string[]
  readonly items?: { readonly oneOf: readonly Schema[] }
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Received {
  readonly requestBody: { readonly content: { 'application/json': { schema: Schema } } }
}
interface Document {
  readonly webhooks: Record<string, { readonly post: Received }>
  readonly components: { readonly schemas: Record<string, Schema> }
  readonly paths: Record<string, Record<string, Described>>
}

let database: TestDatabase
let app: App
let base: string
let text: string
let document: Document

beforeAll(async () => {
  database = await createTestDatabase()
  const config = loadConfig({
    POSTRIDER_DATABASE_URL: database.url,
    POSTRIDER_SECRET_KEYS: `k:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`,
    POSTRIDER_ADMIN_TOKEN: ADMIN_TOKEN,
    POSTRIDER_ROLES: 'api',
    POSTRIDER_PORT: '0',
    POSTRIDER_INBOUND_PORT: '0',
    POSTRIDER_PUBLIC_URL: 'https://mail.example.com',
  })
  app = compose({
    config,
    secrets: { secretKeys: config.secretKeys ?? '', adminToken: ADMIN_TOKEN },
    databaseUrl: database.url,
    log: createLogger({ level: 'silent' }),
    build: { version: manifest.version, commit: 'unknown' },
  })
  await app.start()
  const { host, port } = app.address()
  base = `http://${host}:${port}`
  const response = await fetch(`${base}/openapi.json`)
  document = (await response.json()) as Document
  text = `${JSON.stringify(document, null, 2)}\n`
})
afterAll(async () => {
  await app.stop()
  await database.close()
})

describe('the OpenAPI document', () => {
  it('describes every operation of the contract, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, security, responses }]) => ({
        operationId,
        route: `${method.toUpperCase()} ${path}`,
        auth: security?.flatMap((one) => Object.keys(one)),
        success: Object.keys(responses).filter((status) => status < '300'),
      })),
    )
    const expected = Object.entries(operations).map(([operationId, o]) => ({
      operationId,
      route: `${o.method} ${o.path}`,
      // A tenant's key, or the operator's token and the tenant that it acts for.
      auth: o.auth === 'admin' ? ['adminToken'] : ['apiKey', 'adminToken', 'actingFor'],
      success: [String(o.status)],
    }))
    const byId = (a: { operationId: unknown }, b: { operationId: unknown }) =>
      String(a.operationId).localeCompare(String(b.operationId))
    expect(described.sort(byId)).toEqual(expected.sort(byId))
  })

  it('describes the request of every event type, with every event that it can carry', () => {
    const { webhooks, components } = document
    expect(Object.keys(webhooks)).toEqual([...webhookEvents, 'INCOMING'])
    const described = Object.values(webhooks).flatMap(({ post }) => {
      const { schema } = post.requestBody.content['application/json']
      const refs = (schema.items?.oneOf ?? schema.oneOf ?? [schema]).map((one) => one.$ref ?? '')
      return refs.map((ref) => {
        const { event } = components.schemas[ref.split('/').at(-1) ?? '']?.properties ?? {}
        return event?.enum?.[0]
      })
    })
    expect([...new Set(described)].sort()).toEqual([...eventNames].sort())
  })

  it('is the committed one (UPDATE_GOLDEN=1 renews it)', () => {
    if (process.env.UPDATE_GOLDEN === '1' || !existsSync(golden)) writeFileSync(golden, text)
    expect(readFileSync(golden, 'utf8')).toBe(text)
  })
})

describe('every operation', () => {
  it.each(Object.entries(operations))('%s answers 401 without a credential', async (_id, o) => {
    const path = o.path.replaceAll(/\{\w+\}/g, 'x')
    const response = await fetch(base + path, { method: o.method })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
  })

  it.each(Object.entries(operations))('%s answers 405 to another method', async (_id, o) => {
    const path = o.path.replaceAll(/\{\w+\}/g, 'x')
    const response = await fetch(base + path, { method: 'PATCH' })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toContain(o.method)
  })
})
