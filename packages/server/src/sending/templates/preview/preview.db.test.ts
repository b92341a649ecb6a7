/** The preview of a stored template, as the frame of a browser asks for it. */
import { createTemplateRenderer } from '@postrider/mail'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { emptyTables } from '../../../../test/empty-tables.ts'
import { silent } from '../../../../test/sending.ts'
import { createHttpApp, type HttpApp } from '../../../platform/http/app.ts'
import type { Person } from '../../../platform/http/sessions/session.ts'
import { createMetrics } from '../../../platform/metrics.ts'
import { createTemplate, updateTemplate } from '../change-template.ts'
import { templatePreviewRoute } from './routes.ts'

const A = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const B = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAW'
const viewer = (tenantId: string): Person => ({
  ...{ userId: 'usr_1', sessionId: 'ses_1', operatorRole: undefined, content: false },
  memberships: [{ tenantId, role: 'viewer', content: false }],
})
const PEOPLE: Readonly<Record<string, Person>> = { of_a: viewer(A), of_b: viewer(B) }

const ORIGIN = 'https://mail.example.com'

const renderer = createTemplateRenderer()
let database: TestDatabase
let app: HttpApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: () => ({ tenantId: A, keyId: 'key_a', scopes: [] }),
    sessions: {
      cookieName: 'session',
      find: async (token) => PEOPLE[token],
      isOwnOrigin: (origin) => origin === ORIGIN,
      hasTenant: async () => true,
    },
  })
  templatePreviewRoute(app, { db: database.db, renderer })
})
afterAll(async () => {
  await app.close()
  await renderer.stop()
  await database.close()
})
beforeEach(() => emptyTables(database.db, 'sending_template'))

async function make(type: 'text/html' | 'text/plain', value: string) {
  const deps = { db: database.db, renderer }
  const { templateId } = await createTemplate(deps, A, {
    ...{ name: 'Receipt', subject: 'Order' },
    content: [{ type, value }],
    sample_data: { name: 'Ada & <b>Bob</b>' },
  })
  return { templateId, deps }
}

const get = (templateId: string, query: string, who = 'of_a') =>
  app.inject({
    method: 'GET',
    url: `/ui/api/v1/templates/${templateId}/preview${query}`,
    headers: { cookie: `session=${who}` },
  })

it('shows a version with its sample data, in a page that runs and loads nothing', async () => {
  const { templateId, deps } = await make('text/html', '<p>{{ name }}<script>a()</script></p>')
  const content = [{ type: 'text/html' as const, value: '<p>New</p>' }]
  await updateTemplate(deps, { tenantId: A, templateId }, { content })
  expect((await get(templateId, `?tenant=${A}`)).payload).toBe('<p>New</p>')
  const first = await get(templateId, `?tenant=${A}&version=1`)
  expect(first.payload).toBe('<p>Ada &amp; &lt;b&gt;Bob&lt;/b&gt;<script>a()</script></p>')
  expect(first.headers).toMatchObject({
    'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none';/),
    'cache-control': 'private, no-store',
  })
})

it('shows a text as text', async () => {
  const { templateId } = await make('text/plain', '{{ name }}')
  const { payload } = await get(templateId, `?tenant=${A}`)
  expect(payload).toContain('Ada &amp; &lt;b&gt;Bob&lt;/b&gt;')
})

describe('of a draft', () => {
  const draft = {
    subject: 'Order {{ id }}',
    content: [
      { type: 'text/html', value: '<link rel=preconnect href="//a.test"><p>{{ name }}</p>' },
    ],
    sample_data: { name: 'Ada & Bob' },
  }
  const post = (o: { body?: string; origin?: string; type?: string; who?: string } = {}) =>
    app.inject({
      method: 'POST',
      url: `/ui/api/v1/templates/preview/page?tenant=${A}`,
      headers: {
        cookie: `session=${o.who ?? 'of_a'}`,
        'content-type': o.type ?? 'text/plain',
        ...(o.origin === '' ? {} : { origin: o.origin ?? ORIGIN }),
      },
      payload: o.body ?? `draft=${JSON.stringify(draft)}\r\n`,
    })

  it('shows what a form of the dashboard posts, in the same page', async () => {
    const shown = await post()
    expect(shown.statusCode).toBe(200)
    expect(shown.payload).toBe('<bgsound rel=preconnect href="//a.test"><p>Ada &amp; Bob</p>')
    expect(shown.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none';/),
    })
  })

  it('refuses a form of another page, and of nobody', async () => {
    expect((await post({ origin: 'https://evil.example.com' })).statusCode).toBe(403)
    expect((await post({ origin: '' })).statusCode).toBe(403)
    expect((await post({ who: 'nobody' })).statusCode).toBe(401)
    expect((await post({ who: 'of_b' })).statusCode).toBe(403)
  })

  it('refuses what is no draft, with its place', async () => {
    expect((await post({ body: 'other={}\r\n' })).statusCode).toBe(400)
    expect((await post({ body: 'draft={' })).statusCode).toBe(400)
    const unknown = await post({ body: 'draft={"subject":"a","content":[],"more":1}' })
    expect(unknown.statusCode).toBe(400)
    expect(unknown.payload).toContain('/more')
    expect((await post({ type: 'application/x-www-form-urlencoded' })).statusCode).toBe(415)
  })
})

it('is for people of the tenant alone', async () => {
  const { templateId } = await make('text/html', '<p>')
  expect((await get(templateId, `?tenant=${A}`, 'nobody')).statusCode).toBe(401)
  expect((await get(templateId, `?tenant=${A}`, 'of_b')).statusCode).toBe(403)
  expect((await get(templateId, `?tenant=${B}`, 'of_b')).statusCode).toBe(404)
  expect((await get(templateId, `?tenant=${A}&version=2`)).statusCode).toBe(404)
  const byKey = await app.inject({
    method: 'GET',
    url: `/v1/templates/${templateId}/preview`,
    headers: { authorization: 'Bearer a' },
  })
  expect(byKey.statusCode).toBe(404)
})
