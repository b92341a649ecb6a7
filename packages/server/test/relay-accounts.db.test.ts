/** Accounts at relay providers in the service as it is composed, with the sending domains that use them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { insertDomainMailer } from '../src/mailers/index.ts'
import { newId } from '../src/platform/ids.ts'
import { ADMIN_TOKEN, composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

let database: TestDatabase
let app: App
let tenantId: string
let apiKey: string

beforeAll(async () => {
  database = await createTestDatabase()
  app = composeForTest(database.url, { env: { POSTRIDER_ROLES: 'api' } })
  await app.start()
  const made = await call('POST', '/admin/v1/tenants', { name: 'Acme' }, ADMIN_TOKEN)
  tenantId = made.body.tenant_id
  apiKey = made.body.api_key
})
afterAll(async () => {
  await app.stop()
  await database.close()
})

async function call(method: string, path: string, body?: object, token = apiKey) {
  const { host, port } = app.address()
  const response = await fetch(`http://${host}:${port}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  return { status: response.status, body: (await response.json()) as any }
}

async function addDomain(domain: string): Promise<string> {
  const mailerId = newId('domain')
  await database.db.transaction((tx) =>
    insertDomainMailer(tx, { tenantId, mailerId, name: domain, domain, relay: 'sparkpost' }),
  )
  return mailerId
}

const deactivate = (mailerId: string) =>
  database.db.query(
    `update mailers_mailer set state = 'deactivated', state_reason = 'provider_auth_error',
       state_evidence = '401' where tenant_id = $1 and mailer_id = $2`,
    [tenantId, mailerId],
  )

const stateOf = async (mailerId: string) => {
  const { body } = await call('GET', '/v1/mailers')
  return body.mailers.find((one: { mailer_id: string }) => one.mailer_id === mailerId)?.state
}

it('[contract 3.4] a new key activates the domains that the old one had deactivated, and nothing else does', async () => {
  await call('PUT', '/v1/relay/sparkpost', { api_key: 'first-key' })
  const mailerId = await addDomain('a.example.com')
  await deactivate(mailerId)
  expect(await stateOf(mailerId)).toBe('deactivated')
  await call('PUT', '/v1/relay/sparkpost', { callback_secret: 'secret' })
  await call('PUT', '/v1/relay/sendgrid', { api_key: 'of-another-provider' })
  expect(await stateOf(mailerId)).toBe('deactivated')
  expect((await call('PUT', '/v1/relay/sparkpost', { api_key: 'second-key' })).status).toBe(200)
  expect(await stateOf(mailerId)).toBe('active')
})

it('[contract 3.4] an account that sending domains use is not deleted, and the refusal names them', async () => {
  for (const name of ['b', 'c', 'd']) await addDomain(`${name}.example.com`)
  expect(await call('DELETE', '/v1/relay/sparkpost')).toMatchObject({
    status: 409,
    body: {
      code: 'conflict',
      message:
        'Sending domains use this account: a.example.com, b.example.com, c.example.com and others',
    },
  })
  await database.db.query('delete from mailers_mailer where tenant_id = $1', [tenantId])
  expect((await call('DELETE', '/v1/relay/sparkpost')).status).toBe(200)
})
