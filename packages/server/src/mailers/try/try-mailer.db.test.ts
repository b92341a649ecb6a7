/** testMailer (docs/reference/mailers.md#test) over the real HTTP application, against real servers. */
import { type TestStep, testMailerAnswer } from '@postrider/contract'
import { createImapServer, createSmtpServer, type SmtpServer } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  addDomainMailer,
  addMailer,
  keyRing,
  sealPassword,
  silent,
  unsubscribe,
} from '../../../test/sending.ts'
import { testLimiter } from '../../../test/webhook-api.ts'
import { createClock } from '../../platform/clock.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { createHttpApp, type HttpApp } from '../../platform/http/app.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { adapterOf, createRelayCalls } from '../../relays/index.ts'
import { tryRoutes } from './routes.ts'

const PASSWORD = 'hunter2-canary'
const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  mailers: { tenantId: 'tn_a', keyId: 'key_m', scopes: ['mailers'] },
  both: { tenantId: 'tn_a', keyId: 'key_n', scopes: ['mailers', 'send'] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read', 'send', 'content'] },
} as const

let database: TestDatabase
let app: HttpApp
let smtp: SmtpServer
const lookedUp: string[] = []
const egress = createEgress({
  allowNetworks: ['127.0.0.0/8'],
  lookup: async (host) => {
    lookedUp.push(host)
    if (host === 'internal.example') return [{ address: '10.1.2.3', family: 4 }]
    throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  },
})
const limitOf = (usesMax: number) => createRateLimit({ name: 'limit', usesMax, windowS: 60 })

function serve({ checks = 1_000, mails = 1_000 } = {}): HttpApp {
  const relays = createRelayCalls({
    egress,
    clock: createClock(),
    adapterOf,
    deliverCallback: async () => undefined,
  })
  const one = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
  })
  tryRoutes(one, {
    db: database.db,
    keyRing,
    egress,
    ehloName: 'sender.example.com',
    accessTokens: { get: async () => ({ kind: 'inactive' }) as const },
    sendByRelay: relays.send,
    checks: { limit: limitOf(checks), limiter: testLimiter },
    testMails: limitOf(mails),
  })
  return one
}

beforeAll(async () => {
  database = await createTestDatabase()
  app = serve()
})
afterAll(async () => {
  await app.close()
  await egress.close()
  await database.close()
})
beforeEach(async () => {
  await database.db.query('delete from mailers_mailer')
  smtp = await createSmtpServer({ auth: { users: { 'news@example.com': PASSWORD } } })
})
afterEach(() => smtp.close())

async function test(
  mailerId: string,
  o: { body?: object; key?: keyof typeof KEYS | 'nobody'; on?: HttpApp } = {},
) {
  const { body, key = 'a', on = app } = o
  const response = await on.inject({
    method: 'POST',
    url: `/v1/mailers/${mailerId}/test`,
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { payload: body }),
  })
  expect(response.payload).not.toContain(PASSWORD)
  const answer = response.json()
  if (response.statusCode === 200) expect(Check(testMailerAnswer, answer)).toBe(true)
  const steps: TestStep[] = answer.steps ?? []
  return {
    status: response.statusCode,
    answer,
    steps,
    short: steps.map(({ step, ok }) => `${step} ${ok ? 'ok' : 'FAIL'}`),
  }
}

async function withLogin(password = PASSWORD, port = smtp.port) {
  const mailerId = `smtp_${Math.random().toString(36).slice(2)}`
  const secret = sealPassword(keyRing, { tenantId: 'tn_a', mailerId }, password)
  return await addMailer(database.db, { mailerId, port, username: 'news@example.com', secret })
}
const LOGIN = ['dns ok', 'connect ok', 'greeting ok', 'ehlo ok', 'auth ok']

describe('a test of an SMTP mailer', () => {
  it('tells each step up to the login, and takes no body', async () => {
    const { mailerId } = await withLogin()
    const { status, short, steps, answer } = await test(mailerId)
    expect({ status, short }).toEqual({ status: 200, short: LOGIN })
    expect(answer.message).toBe('The Mailer Works')
    expect(steps.at(-1)?.reply).toContain('235')
    expect(smtp.messages).toEqual([])
  })

  it('sends a short mail to the address that is given, as the last step', async () => {
    const { mailerId } = await withLogin()
    const { short, steps } = await test(mailerId, { body: { to: 'Ada@Example.com' } })
    expect(short).toEqual([...LOGIN, 'message ok'])
    expect(steps.at(-1)?.reply).toMatch(/^250/)
    expect(smtp.messages).toMatchObject([{ from: 'news@example.com' }])
    expect(smtp.messages[0]?.recipients.join()).toMatch(/@example\.com$/)
    const raw = smtp.messages[0]?.raw.toString() ?? ''
    expect(raw).toContain('Subject: Test mail of Postrider\r\n')
    expect(raw).toContain('Auto-Submitted: auto-generated\r\n')
    const { rows } = await database.db.query(
      'select (select count(*) from sending_email)::int + (select count(*) from webhooks_event)::int as n',
    )
    expect(rows).toEqual([{ n: 0 }])
  })

  it('ends with the step that failed, in the words of the server', async () => {
    const { mailerId } = await withLogin('wrong')
    const { short, steps, answer } = await test(mailerId, { body: { to: 'ada@example.com' } })
    expect(short).toEqual([...LOGIN.slice(0, -1), 'auth FAIL'])
    expect(steps.at(-1)?.reply).toContain('535')
    expect(answer.message).toBe('The Test Failed: auth')
    const { rows } = await database.db.query('select state from mailers_mailer')
    expect(rows).toEqual([{ state: 'active' }])
  })

  it('tells which command refused the mail', async () => {
    smtp.setScript(({ phase }) => (phase === 'rcpt' ? '550 5.1.1 nobody here' : undefined))
    const { mailerId } = await withLogin()
    const { short, steps } = await test(mailerId, { body: { to: 'ada@example.com' } })
    expect(short).toEqual([...LOGIN, 'message FAIL'])
    expect(steps.at(-1)?.reply).toBe('rcpt: 550 5.1.1 nobody here')
  })

  it.each([
    ['nowhere.example', 'dns FAIL', 'could not be found'],
    ['internal.example', 'dns FAIL', 'not publicly reachable'],
    ['10.1.2.3', 'dns FAIL', 'not publicly reachable'],
  ])('tells no address of the host %s', async (host, short, reply) => {
    const { mailerId } = await addMailer(database.db)
    await database.db.query('update mailers_mailer set host = $1', [host])
    const tested = await test(mailerId)
    expect(tested.short).toEqual([short])
    expect(tested.steps[0]?.reply).toContain(reply)
    if (host === 'internal.example') expect(JSON.stringify(tested)).not.toContain('10.1.2.3')
  })

  it('tells of a closed port no more than that it could not connect', async () => {
    const { mailerId } = await addMailer(database.db, { port: 9 })
    const { short, steps } = await test(mailerId)
    expect(short).toEqual(['dns ok', 'connect FAIL'])
    expect(steps[1]?.reply).toBe('Could not connect to the mail server')
  })

  it('is for a mailer in any state, and leaves the state', async () => {
    const { mailerId } = await withLogin()
    await database.db.query(`update mailers_mailer set state = 'disabled'`)
    expect((await test(mailerId)).short).toEqual(LOGIN)
    const { rows } = await database.db.query('select state from mailers_mailer')
    expect(rows).toEqual([{ state: 'disabled' }])
  })

  it('asks for the password again where the stored one cannot be opened', async () => {
    const { mailerId } = await withLogin()
    await database.db.query(`update mailers_mailer set secret = secret || 'x'`)
    expect(await test(mailerId)).toMatchObject({ status: 409, answer: { code: 'conflict' } })
  })
})

describe('a test of a mailbox', () => {
  it('logs in by IMAP, and tells a rejected login', async () => {
    const imap = await createImapServer({ auth: { users: { 'ada@example.com': PASSWORD } } })
    for (const [password, expected] of [
      [PASSWORD, 'mailbox ok'],
      ['wrong', 'mailbox FAIL'],
    ] as const) {
      const mailerId = `imap_${expected.slice(8)}`
      const secret = sealPassword(keyRing, { tenantId: 'tn_a', mailerId }, password)
      await addMailer(database.db, {
        ...{ mailerId, port: imap.port, username: 'ada@example.com', secret, configType: 'imap' },
      })
      const { short } = await test(mailerId)
      expect(short).toEqual([expected])
      expect(await test(mailerId, { body: { to: 'ada@example.com' } })).toMatchObject({
        status: 400,
        answer: { errors: [{ path: '/to' }] },
      })
    }
    await imap.close()
  })
})

describe('a test of a sending domain', () => {
  it('tells whether the domain is verified, and sends by the provider', async () => {
    const { mailerId } = await addDomainMailer(database.db)
    expect((await test(mailerId)).short).toEqual(['domain ok'])
    const sent = await test(mailerId, { body: { to: 'ada@example.com' } })
    expect(sent.short).toEqual(['domain ok', 'message ok'])
    const unverified = await addDomainMailer(database.db, {
      domain: 'example.net',
      isVerified: false,
    })
    const { short, steps } = await test(unverified.mailerId, { body: { to: 'ada@example.com' } })
    expect(short).toEqual(['domain FAIL'])
    expect(steps[0]?.reply).toBe('example.net is not verified: POST /v1/domain/example.net/verify')
  })
})

describe('a refused test', () => {
  it('needs the scope mailers, and for a mail send as well', async () => {
    const { mailerId } = await withLogin()
    const body = { to: 'ada@example.com' }
    expect((await test(mailerId, { key: 'nobody' })).status).toBe(401)
    expect((await test(mailerId, { key: 'reader' })).status).toBe(403)
    expect((await test(mailerId, { key: 'mailers' })).status).toBe(200)
    expect(await test(mailerId, { key: 'mailers', body })).toMatchObject({
      status: 403,
      answer: { code: 'forbidden' },
    })
    expect((await test(mailerId, { key: 'both', body })).status).toBe(200)
  })

  it('is 404 for an unknown mailer and one of another tenant', async () => {
    const { mailerId } = await withLogin()
    expect((await test(mailerId, { key: 'b' })).status).toBe(404)
    expect((await test('smtp_nothing')).status).toBe(404)
  })

  it.each([
    [{ to: 'nobody' }, '/to'],
    [{ to: 5 }, '/to'],
    [{ cc: 'x' }, '/cc'],
  ])('is 400 for %j', async (body, path) => {
    const { mailerId } = await withLogin()
    expect(await test(mailerId, { body })).toMatchObject({
      status: 400,
      answer: { errors: [{ path }] },
    })
  })

  it('sends nothing to a suppressed address', async () => {
    const { mailerId } = await withLogin()
    await unsubscribe(database.db, 'gone@example.com')
    expect(await test(mailerId, { body: { to: 'GONE@example.com' } })).toMatchObject({
      status: 400,
      answer: { errors: [{ path: '/to', message: 'is suppressed: no mail is sent to it' }] },
    })
    expect(smtp.messages).toEqual([])
  })

  it('sends nothing for a suspended tenant, and tests its mailers all the same', async () => {
    const { mailerId } = await withLogin()
    await database.db.query(
      `insert into tenants_tenant (tenant_id, name, state) values ('tn_a', 'A', 'suspended')`,
    )
    expect(await test(mailerId, { body: { to: 'ada@example.com' } })).toMatchObject({
      status: 403,
      answer: { code: 'tenant_suspended' },
    })
    expect((await test(mailerId)).short).toEqual(LOGIN)
    await database.db.query('delete from tenants_tenant')
    expect(smtp.messages).toEqual([])
  })

  it('is 429 after so many tests, and after fewer mails', async () => {
    const { mailerId } = await withLogin()
    const on = serve({ checks: 4, mails: 2 })
    const body = { to: 'ada@example.com' }
    const of = async (o: object) => (await test(mailerId, { on, ...o })).status
    expect([await of({ body }), await of({ body }), await of({ body })]).toEqual([200, 200, 429])
    expect([await of({}), await of({})]).toEqual([200, 429])
    expect(smtp.messages).toHaveLength(2)
    await on.close()
  })
})
