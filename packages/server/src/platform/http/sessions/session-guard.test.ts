/** Calls by a session, without a database. */
import { beforeEach, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { createHttpApp, type HttpApp } from '../app.ts'
import type { Person } from './session.ts'

const tenantId = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const owner: Person = {
  userId: 'user_a',
  sessionId: 'ses_a',
  operatorRole: undefined,
  content: false,
  memberships: [{ tenantId, role: 'owner', content: false }],
}

let app: HttpApp
let person: Person | undefined
beforeEach(() => {
  person = owner
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: () => undefined,
    sessions: {
      cookieName: 'c',
      find: async () => person,
      isOwnOrigin: (origin) => origin === 'https://mail.example.com',
      hasTenant: async () => true,
    },
    requestsPerKeyMax: 1,
  })
  return async () => await app.close()
})

const headers = {
  cookie: 'c=token',
  'x-postrider-session': '1',
  'x-postrider-tenant': tenantId,
  origin: 'https://mail.example.com',
}

it('counts the calls of one user at once, as those of a key', async () => {
  const [entered, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()]
  const config = { auth: 'tenant', scopes: ['read'] } as const
  app.get('/v1/slow', { config }, () => {
    entered.resolve()
    return slow.promise
  })
  const call = async () => (await app.inject({ url: '/ui/api/v1/slow', headers })).statusCode
  const first = call()
  await entered.promise
  expect(await call()).toBe(429)
  slow.resolve({})
  expect(await first).toBe(200)
  for (let n = 0; n < 3; n++) expect(await call()).toBe(200)
})
