/** The preview of an email (docs/reference/sending.md#preview), as a browser asks for it. */
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { accept, useSending } from '../../../../test/sender.ts'
import { addMailer, silent } from '../../../../test/sending.ts'
import { createHttpApp, type HttpApp } from '../../../platform/http/app.ts'
import type { Person } from '../../../platform/http/sessions/session.ts'
import { createMetrics } from '../../../platform/metrics.ts'
import { previewRoute } from './routes.ts'

const world = useSending()
const A = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const B = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAW'
const member = (tenantId: string, content: boolean): Person => ({
  userId: 'usr_1',
  sessionId: 'ses_1',
  operatorRole: undefined,
  content: false,
  memberships: [{ tenantId, role: 'support', content }],
})
const PEOPLE: Readonly<Record<string, Person>> = {
  reads: member(A, true),
  lists: member(A, false),
  elsewhere: member(B, true),
}

let app: HttpApp
beforeEach(() => {
  app = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) =>
      key === 'a' ? { tenantId: A, keyId: 'key_a', scopes: [] } : undefined,
    sessions: {
      cookieName: 'session',
      find: async (token) => PEOPLE[token],
      isOwnOrigin: () => true,
      hasTenant: async () => true,
    },
  })
  const name = 'contents'
  const limits = { atOnceMax: 1, atOncePerCallerMax: 1, waitingPerCallerMax: 1 }
  previewRoute(app, { db: world.db, limiter: createConcurrencyLimiter({ name, ...limits }) })
})
afterEach(() => app.close())

const get = (url: string, headers: Record<string, string>) =>
  app.inject({ method: 'GET', url, headers })
const asPerson = (refId: string, who: string, query = `?tenant=${A}`) =>
  get(`/ui/api/v1/email/${refId}/preview${query}`, { cookie: `session=${who}` })

async function emailOf(value: string, type: 'text/html' | 'text/plain' = 'text/html') {
  await addMailer(world.db, { tenantId: A })
  const settings = { open_tracking: true, click_tracking: true }
  return await accept(world.db, { content: [{ type, value }], settings }, A)
}

it('shows the HTML as it was given, in a page that runs and loads nothing', async () => {
  const html =
    '<style>p{color:red}</style><p>Hi <a href="https://a.example/">a</a><img src="https://b.example/p.png"><script>alert(1)</script></p>'
  const refId = await emailOf(html)
  const response = await asPerson(refId, 'reads')
  expect(response.statusCode).toBe(200)
  expect(response.payload).toBe(html)
  expect(response.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  })
})

it('leaves out what browsers connect for before the policy refuses it', async () => {
  const refId = await emailOf('<link rel=preconnect href="https://a.test"><p>Hi</p>')
  const { payload } = await asPerson(refId, 'reads')
  expect(payload).toBe('<bgsound rel=preconnect href="https://a.test"><p>Hi</p>')
})

it('shows a text in place of HTML, as text', async () => {
  const refId = await emailOf('a < b & <script>', 'text/plain')
  const { payload } = await asPerson(refId, 'reads')
  expect(payload).toContain('a &lt; b &amp; &lt;script&gt;')
})

it('is 410 when the content was removed, and 404 for another tenant', async () => {
  const refId = await emailOf('<p>')
  await world.db.query('delete from sending_content')
  const removed = await asPerson(refId, 'reads')
  expect(removed.statusCode).toBe(410)
  expect(removed.json()).toMatchObject({ code: 'content_removed' })
  expect((await asPerson(refId, 'elsewhere', `?tenant=${B}`)).statusCode).toBe(404)
})

it('takes the tenant from the header as well, which goes first', async () => {
  const refId = await emailOf('<p>')
  const url = `/ui/api/v1/email/${refId}/preview`
  const headers = { cookie: 'session=reads', 'x-postrider-tenant': A }
  expect((await get(url, headers)).statusCode).toBe(200)
  expect((await get(`${url}?tenant=${B}`, headers)).statusCode).toBe(200)
  expect((await asPerson(refId, 'reads', '')).statusCode).toBe(400)
})

it('is for people with the permission content, each in the own tenant', async () => {
  const refId = await emailOf('<p>')
  expect((await asPerson(refId, 'nobody')).statusCode).toBe(401)
  expect((await asPerson(refId, 'lists')).statusCode).toBe(403)
  expect((await asPerson(refId, 'elsewhere')).statusCode).toBe(403)
  expect((await asPerson(refId, 'elsewhere', `?tenant=${B}`)).statusCode).toBe(404)
  expect((await asPerson(refId, 'reads', `?tenant=${A}&tenant=${B}`)).statusCode).toBe(400)
})

it('is opened by no key, and by no cookie outside of /ui/api', async () => {
  const refId = await emailOf('<p>')
  const path = `/v1/email/${refId}/preview`
  expect((await get(path, { authorization: 'Bearer a' })).statusCode).toBe(404)
  expect((await get(`${path}?tenant=${A}`, { cookie: 'session=reads' })).statusCode).toBe(401)
  expect((await get(`/ui/api${path}?tenant=${A}`, { authorization: 'Bearer a' })).statusCode).toBe(
    401,
  )
})
