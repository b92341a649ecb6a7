/** The preview of a stored template, as the frame of a browser asks for it. */
import { createTemplateRenderer } from '@postrider/mail'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
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
      isOwnOrigin: () => true,
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
