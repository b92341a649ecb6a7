/** The OpenAPI document of the service as it is composed, and the guard of every route in it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { eventNames, type OperationId, operations, tags, webhookEvents } from '@postrider/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const golden = new URL('../../../docs/openapi.json', import.meta.url)
const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)
interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security?: readonly Record<string, unknown>[]
  readonly parameters?: readonly { readonly $ref?: string; readonly name?: string }[]
  readonly requestBody?: { readonly content: unknown }
  readonly responses: Record<string, Answer>
  readonly 'x-required-scope'?: readonly string[]
}
interface Answer {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content: unknown
}
interface Schema {
  readonly $ref?: string
  readonly type?: unknown
  readonly enum?: readonly string[]
  readonly items?: { readonly oneOf: readonly Schema[] }
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}
interface Content {
  readonly schema: Schema
  readonly example?: unknown
}
interface Received {
  readonly requestBody: { readonly content: { 'application/json': Content } }
}
interface Document {
  readonly webhooks: Record<string, { readonly post: Received }>
  readonly components: {
    readonly schemas: Record<string, Schema>
    readonly responses: Record<string, Answer>
  }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Record<string, Record<string, Described>>
}

let database: TestDatabase
let app: App
let base: string
let text: string
let document: Document

beforeAll(async () => {
  database = await createTestDatabase()
  app = composeForTest(database.url, {
    env: { POSTRIDER_ROLES: 'api', POSTRIDER_PUBLIC_URL: 'https://mail.example.com' },
    version: manifest.version,
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

type Fields = Readonly<Record<string, unknown>>
type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** A tenant's key, or the operator's token and the tenant that it acts for. */
const SECURITY = {
  tenant: ['apiKey', 'adminToken', 'actingFor'],
  admin: ['adminToken'],
  session: ['session'],
  public: [],
}

const HEADERS: Readonly<Record<string, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  503: ['Retry-After'],
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function operationsOf({ paths }: Document): Described[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods))
}

/** What Ajv has against a value; null: nothing. */
function misfits(schema: object, value: unknown): unknown {
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile({
    ...schema,
    components: document.components,
  })
  return validate(value) ? null : validate.errors
}

/** Every object in a value. */
function* walk(value: unknown): Generator<Fields> {
  if (!isObject(value)) return
  if (!Array.isArray(value)) yield value
  for (const inner of Object.values(value)) yield* walk(inner)
}

/** Every object in a value and in all that it refers to. */
function schemasIn(value: unknown, seen = new Set<string>()): Fields[] {
  return [...walk(value)].flatMap((one) => {
    if (typeof one.$ref !== 'string') return [one]
    if (seen.has(one.$ref)) return []
    seen.add(one.$ref)
    const [, ...path] = one.$ref.split('/')
    const target = path.reduce<unknown>((at, name) => Reflect.get(Object(at), name), document)
    return schemasIn(target, seen)
  })
}

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
      auth: SECURITY[o.auth],
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

  it('has each group of operations in the order of the contract, with a paragraph', () => {
    expect(document.tags).toEqual(tags)
    const groups = operationsOf(document).map(({ tags: [name = ''] }) => name)
    expect([...new Set(groups)]).toEqual(tags.map(({ name }) => name))
  })

  it('has no dangling reference, and no unused component', () => {
    const referred = [...walk(document)].flatMap(({ $ref }) =>
      typeof $ref === 'string' ? $ref : [],
    )
    const { securitySchemes: _, ...components } = document.components as Components
    const present = Object.entries(components).flatMap(([kind, named]) =>
      Object.keys(named).map((name) => `#/components/${kind}/${name}`),
    )
    expect([...new Set(referred)].sort()).toEqual(present.sort())
  })

  it.each([
    'Address',
    'ApiKey',
    'Attachment',
    'Domain',
    'Mailer',
    'MailerLimits',
    'Recipient',
    'Suppression',
    'Webhook',
    'WebhookDelivery',
  ])('has the shape %s once, under its name', (name) => {
    const lookOf = ({ properties, required }: Fields) =>
      isObject(properties) && JSON.stringify([Object.keys(properties), required])
    const look = lookOf({ ...document.components.schemas[name] })
    const alike = [...walk(document)].filter((one) => look !== false && lookOf(one) === look)
    const { [`${name}Input`]: input } = document.components.schemas
    expect(alike.length).toBe(input === undefined ? 1 : 2)
  })

  it('describes each shape and field', () => {
    const { schemas } = document.components
    const isSaid = ({ $ref, description }: Fields): boolean =>
      description !== undefined || (typeof $ref === 'string' && isSaid(shapeAt($ref)))
    const shapeAt = (ref: string): Fields => ({ ...schemas[ref.split('/').at(-1) ?? ''] })
    const unsaid = Object.entries(schemas).flatMap(([name, shape]) => [
      // Those of an operation are said by it. Others: componentDescriptions of the contract.
      ...(/(?:Body|Answer)$/.test(name) || isSaid({ ...shape }) ? [] : [name]),
      ...[...walk(shape)].flatMap(({ properties }) =>
        Object.entries(isObject(properties) ? properties : {}).flatMap(([field, one]) =>
          isObject(one) && isSaid(one) ? [] : `${name}: ${field}`,
        ),
      ),
    ])
    expect(unsaid).toEqual([])
  })

  it('gives the type of each list of words', () => {
    const untyped = [...walk(document)].filter((one) => 'enum' in one && !('type' in one))
    expect(untyped).toEqual([])
  })

  it('closes what callers send, and opens what callers and receivers get', () => {
    const sent = operationsOf(document).map(({ requestBody }) => requestBody ?? {})
    const got = [
      ...operationsOf(document).map(({ responses }) => responses),
      ...Object.values(document.webhooks),
    ]
    const known = (one: Fields) => 'properties' in one
    expect(
      schemasIn(sent).filter((one) => known(one) && one.additionalProperties !== false),
    ).toEqual([])
    expect(
      schemasIn(got).filter((one) => known(one) && one.additionalProperties === false),
    ).toEqual([])
  })

  it('names the header fields of every answer', () => {
    for (const { operationId, responses } of operationsOf(document))
      for (const [status, response] of Object.entries(responses)) {
        const name = response.$ref?.split('/').at(-1) ?? ''
        const headers = Object.keys((document.components.responses[name] ?? response).headers ?? {})
        expect([operationId, status, headers]).toEqual([
          operationId,
          status,
          expect.arrayContaining(['X-Request-Id', ...(HEADERS[status] ?? [])]),
        ])
      }
  })

  it('names the scopes of each tenant operation, and its header for operators', () => {
    for (const { operationId, 'x-required-scope': scopes, parameters = [] } of operationsOf(
      document,
    )) {
      const isTenants = operations[operationId as OperationId].auth === 'tenant'
      expect([operationId, scopes !== undefined]).toEqual([operationId, isTenants])
      const refs = parameters.map(({ $ref }) => $ref)
      expect(refs.includes('#/components/parameters/X-Postrider-Tenant')).toBe(isTenants)
    }
    const [send] = operationsOf(document).filter(({ operationId }) => operationId === 'sendEmail')
    expect(send?.['x-required-scope']).toEqual(['send'])
    expect(send?.parameters?.[0]?.$ref).toBe('#/components/parameters/Idempotency-Key')
    expect(send?.responses['202']?.headers).toHaveProperty('Idempotent-Replayed')
  })

  it.each(Object.keys(operations))(
    'has valid examples of %s, which `e2e/examples.test.ts` records',
    (id) => {
      const described = operationsOf(document).find(({ operationId }) => operationId === id)
      const { status } = operations[id as OperationId]
      const contents = [described?.requestBody, described?.responses[status]].flatMap((one) =>
        one === undefined ? [] : Object.entries(one.content as Record<string, Content>).slice(0, 1),
      )
      expect(contents.length).toBeGreaterThan(0)
      for (const [type, { schema, example }] of contents)
        expect([type, example !== undefined, misfits(schema, example)]).toEqual([type, true, null])
    },
  )

  it('has a valid example of each webhook request', () => {
    for (const { post } of Object.values(document.webhooks)) {
      const { schema, example } = post.requestBody.content['application/json']
      expect([example !== undefined, misfits(schema, example)]).toEqual([true, null])
    }
  })

  it('marks every time in an answer as one', () => {
    const untold: string[] = []
    const look = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [name, inner] of Object.entries(value)) {
        const { type, format } = (inner ?? {}) as { type?: unknown; format?: unknown }
        const isText = [type].flat().includes('string')
        if (/_at$/.test(name) && !/Body\//.test(at) && isText && format !== 'date-time')
          untold.push(`${at}/${name}`)
        look(inner, `${at}/${name}`)
      }
    }
    look(JSON.parse(text).components.schemas, '')
    expect(untold).toEqual([])
  })

  it('equals the committed file (UPDATE_GOLDEN=1 renews it)', () => {
    if (process.env.UPDATE_GOLDEN === '1' || !existsSync(golden)) writeFileSync(golden, text)
    expect(readFileSync(golden, 'utf8')).toBe(text)
  })
})

describe('every operation', () => {
  const closed = Object.entries(operations).filter(([, { auth }]) => auth !== 'public')
  it.each(closed)('%s answers 401 without a credential', async (_id, o) => {
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
