/** What simulateEvent refuses, that a test of processes cannot bring about. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { App } from '../src/compose.ts'
import { createClock } from '../src/platform/clock.ts'
import { createApiKey, createTenant } from '../src/tenants/index.ts'
import { composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

let database: TestDatabase
let app: App
beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  app = composeForTest(database.url)
  await app.start()
})
afterAll(async () => {
  await app.stop()
  await database.close()
})

interface Answer {
  readonly ref_id?: string
  readonly email?: { readonly recipients: readonly { readonly status: string }[] }
}

async function call(method: string, path: string, key: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${app.address().port}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Answer }
}

it('refuses opens and clicks of an email whose content was removed: it has no links any more', async () => {
  const { tenantId, apiKey: live } = await createTenant(database, { name: 'Own' })
  await call('PUT', '/v1/relay/simulator', live, {})
  await call('POST', '/v1/domain', live, { domain: 'mail.example.com', relay: 'simulator' })
  const { apiKey } = await createApiKey({ ...database, clock: createClock() }, tenantId, {
    mode: 'test',
  })
  const sent = await call('POST', '/v1/email/send', apiKey, {
    ...{
      from: { email: 'news@mail.example.com' },
      to: [{ email: 'bob@example.com' }],
      subject: 'Hi',
    },
    content: [{ type: 'text/html', value: '<p>Hi</p>' }],
    settings: { open_tracking: true },
  })
  expect(sent.status).toBe(202)
  const email = `/v1/email/${sent.body.ref_id}`
  await vi.waitFor(async () => {
    const { body } = await call('GET', email, apiKey)
    expect(body.email?.recipients[0]?.status).toBe('delivered')
  }, 20_000)
  await database.db.query('delete from sending_content')
  for (const event of ['open', 'click'])
    expect(await call('POST', `${email}/simulate`, apiKey, { event })).toMatchObject({
      status: 410,
      body: { code: 'content_removed' },
    })
})
