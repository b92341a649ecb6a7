import { PassThrough } from 'node:stream'
import { cancelScheduledEmailAnswer, sendEmailAnswer } from '@postrider/contract'
import { createLinkFinder, createTemplateRenderer } from '@postrider/mail'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { noUsageCounts } from '../../test/sender.ts'
import {
  addMailer,
  createSendingDatabase,
  emailBody,
  LINKS_MAX,
  silent,
  unsubscribe,
} from '../../test/sending.ts'
import { createDb, type Db } from '../platform/db/index.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createDiskGuard } from '../platform/process/disk-guard.ts'
import { overQuotaError } from '../tenants/index.ts'
import { createAcceptEmails } from './accept/accept-email.ts'
import { createKeysInProgress } from './accept/idempotency.ts'
import { createQueueWakeups, type WokenQueue } from './queue/queue-wakeups.ts'
import { sendRoutes } from './routes.ts'

const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] },
  sender: { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send'] },
} as const

let database: TestDatabase
let db: Db
let app: FastifyInstance
let mailerId: string
const space = { bavail: 1, blocks: 1, bsize: 2 ** 40 }
const disk = createDiskGuard({
  dir: '.',
  freeMin: { bytes: 512 * 1024 },
  log: silent,
  readSpace: async () => ({ ...space }),
})
const templates = createTemplateRenderer()
const links = createLinkFinder()
const woken: WokenQueue[] = []
const logged = new PassThrough()
/** While set, commits wait for it. */
let limiter: Promise<void> | undefined
/** A tenant of which every request is refused before it is read. */
let flooding: string | undefined

beforeAll(async () => {
  database = await createSendingDatabase()
  db = database.db
  mailerId = (await addMailer(db)).mailerId
  await addMailer(db, { tenantId: 'tn_b', email: 'b@example.com', mailerId: 'smtp_of_b' })
  app = serve(db)
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await templates.stop()
  await links.stop()
  await database.close()
})
beforeEach(async () => {
  woken.length = 0
  await emptyTables(
    db,
    'sending_email',
    'sending_content',
    'sending_recipient',
    'sending_queue',
    'sending_scheduled',
    'sending_link',
    'sending_idempotency',
  )
})

/** A process of the service, as far as sendEmail goes. */
function serve(on: Db): FastifyInstance {
  const gated: Db = {
    ...on,
    query: on.query,
    get stats() {
      return on.stats
    },
    transaction: (work, o) =>
      on.transaction(async (tx) => {
        const result = await work(tx)
        await limiter
        return result
      }, o),
  }
  const made = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
  })
  const wakeups = createQueueWakeups()
  wakeups.onWake((queues) => woken.push(...queues))
  sendRoutes(made, {
    db: gated,
    templates,
    links,
    log: createLogger({ level: 'warn', destination: logged }),
    emails: {
      ...createAcceptEmails({
        ...{ db: gated, failpoints: { hit: () => undefined }, disk },
        usageCounts: noUsageCounts,
      }),
      refuseEarly: (tenantId) =>
        tenantId === flooding
          ? overQuotaError({ quota: 'emails_per_second', max: 5, asked: 1, retryAfterS: 1 })
          : undefined,
    },
    keysInProgress: createKeysInProgress(),
    wakeups,
    defaults: { maxAttempts: 5, expiresInMs: 3_600_000 },
  })
  return made
}

interface CallOptions {
  readonly key?: keyof typeof KEYS | 'nobody'
  readonly idempotency?: string
  readonly on?: FastifyInstance
}

async function send(payload: unknown = emailBody(), o: CallOptions = {}) {
  const response = await (o.on ?? app).inject({
    method: 'POST',
    url: '/v1/email/send',
    headers: {
      authorization: `Bearer ${o.key ?? 'a'}`,
      'content-type': 'application/json',
      ...(o.idempotency === undefined ? {} : { 'idempotency-key': o.idempotency }),
    },
    payload: JSON.stringify(payload),
  })
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}

async function cancel(refId: string, key: CallOptions['key'] = 'a') {
  const response = await app.inject({
    method: 'DELETE',
    url: `/v1/email/${refId}/schedule`,
    headers: { authorization: `Bearer ${key}` },
  })
  return { status: response.statusCode, body: response.json() }
}

describe('sendEmail of a tenant that floods beyond a quota', () => {
  beforeEach(() => {
    flooding = 'tn_a'
    return () => {
      flooding = undefined
    }
  })

  it('is 429 before its body is read, and of other tenants goes on', async () => {
    const refused = await send({ nonsense: true })
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: { code: 'quota_exceeded', errors: [{ path: '/quotas/emails_per_second' }] },
    })
    const from = { email: 'b@example.com' }
    expect(await send(emailBody({ from }), { key: 'b' })).toMatchObject({ status: 202 })
  })

  it('is 401 or 403 for a key that may not send', async () => {
    expect(await send({}, { key: 'nobody' })).toMatchObject({ status: 401 })
    expect(await send({}, { key: 'reader' })).toMatchObject({ status: 403 })
  })
})

const count = async (table: string) =>
  Number((await db.query<{ n: string }>(`select count(*) as n from ${table}`)).rows[0]?.n)

describe('sendEmail: 202', () => {
  it('names suppressed recipients, and repeats that answer under its idempotency key', async () => {
    await unsubscribe(db, 'bob@example.com')
    const body = emailBody({
      cc: [{ email: 'Bob@example.com' }],
      bcc: [{ email: 'c@example.com' }],
    })
    const first = await send(body, { idempotency: 'suppressed' })
    expect(first.body.recipients).toEqual([
      { email: 'ada@example.com', type: 'to', status: 'queued' },
      { email: 'Bob@example.com', type: 'cc', status: 'suppressed' },
      { email: 'c@example.com', type: 'bcc', status: 'queued' },
    ])
    expect(Check(sendEmailAnswer, first.body)).toBe(true)
    await unsubscribe(db, 'c@example.com')
    await db.query(`delete from suppressions_address where email_key = 'bob@example.com'`)
    const again = await send(body, { idempotency: 'suppressed' })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.body).toEqual(first.body)
    await emptyTables(db, 'suppressions_address')
    await db.query(`update sending_idempotency set created_at = now() - interval '25 hours'`)
    const anew = await send(body, { idempotency: 'suppressed' })
    expect(anew.body.recipients[1].status).toBe('queued')
    expect(await send(body, { idempotency: 'suppressed' })).toMatchObject({ body: anew.body })
  })

  it('answers the ref_id and every recipient, in order, as queued', async () => {
    const answer = await send(
      emailBody({
        cc: [{ email: 'Bob@Example.COM' }],
        bcc: [{ email: 'carol@example.com', name: 'Carol' }],
      }),
    )
    expect(answer).toMatchObject({
      status: 202,
      body: {
        success: true,
        message: 'Email Accepted',
        ref_id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
        recipients: [
          { email: 'ada@example.com', type: 'to', status: 'queued' },
          { email: 'Bob@Example.COM', type: 'cc', status: 'queued' },
          { email: 'carol@example.com', type: 'bcc', status: 'queued' },
        ],
      },
    })
    expect(Check(sendEmailAnswer, answer.body)).toBe(true)
  })

  it('stores email, recipients and queue rows, due at once by the clock of the database', async () => {
    const { body } = await send(
      emailBody({
        cc: [{ email: 'bob@example.com' }],
        custom_args: { order: 7 },
        campaign_id: 'spring',
        settings: { max_attempts: 2, expires_in: '6h' },
      }),
    )
    const email = await db.query('select * from sending_email')
    expect(email.rows).toEqual([
      expect.objectContaining({
        tenant_id: 'tn_a',
        ref_id: body.ref_id,
        mailer_id: mailerId,
        from_email: 'news@example.com',
        subject: 'Hello',
        campaign_id: 'spring',
        custom_args: { order: 7 },
        max_attempts: 2,
        traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/),
      }),
    ])
    const recipients = await db.query(
      'select n, email, type, status, message_id from sending_recipient order by n',
    )
    expect(recipients.rows).toEqual([
      {
        n: 0,
        email: 'ada@example.com',
        type: 'to',
        status: 'queued',
        message_id: `<${body.ref_id}.0@example.com>`,
      },
      {
        n: 1,
        email: 'bob@example.com',
        type: 'cc',
        status: 'queued',
        message_id: `<${body.ref_id}.1@example.com>`,
      },
    ])
    const queue = await db.query(
      `select n, phase, attempt, max_attempts, due_at <= now() as is_due,
              extract(epoch from expires_at - due_at)::int as lives_s, content_bytes > 50 as has_bytes
         from sending_queue order by n`,
    )
    const row = { phase: 'waiting', attempt: 1, max_attempts: 2, is_due: true, lives_s: 21_600 }
    expect(queue.rows).toEqual([
      { n: 0, ...row, has_bytes: true },
      { n: 1, ...row, has_bytes: true },
    ])
  })

  it('wakes the sender of the mailer', async () => {
    await send()
    expect(woken).toEqual([
      { tenantId: 'tn_a', mailerId, bucket: expect.any(Number), isBulk: false },
    ])
  })

  it('accepts a mailer by its id, and a key that may only send', async () => {
    const from = { email: 'other@example.org' }
    const answer = await send(emailBody({ from, mailer_id: mailerId }), { key: 'sender' })
    expect(answer.status).toBe(202)
  })

  it('accepts 1,000 recipients in one email', async () => {
    const to = Array.from({ length: 1000 }, (_, i) => ({ email: `r${i}@example.com` }))
    expect(await send(emailBody({ to }))).toMatchObject({ status: 202 })
    expect(await count('sending_queue')).toBe(1000)
  })

  it('accepts any JSON in custom_args, and internationalised addresses', async () => {
    const answer = await send(
      emailBody({
        to: [{ email: 'jörg@bücher.example', name: 'Jörg "J" <x>' }],
        subject: 'Grüße 🎉',
        custom_args: { text: 'line\nbreak', list: [1, null, true] },
      }),
    )
    expect(answer).toMatchObject({
      status: 202,
      body: { recipients: [{ email: 'jörg@bücher.example' }] },
    })
  })

  it('commits concurrent requests together; a request that the database refuses fails alone', async () => {
    await db.query(`alter table sending_email add constraint no_bad check (subject <> 'bad')`)
    const subjects = Array.from({ length: 12 }, (_, i) => (i === 5 ? 'bad' : `good ${i}`))
    const answers = await Promise.all(subjects.map((subject) => send(emailBody({ subject }))))
    await db.query('alter table sending_email drop constraint no_bad')
    expect(answers.map((answer) => answer.status)).toEqual(
      subjects.map((subject) => (subject === 'bad' ? 500 : 202)),
    )
    expect(await count('sending_email')).toBe(11)
    expect(await count('sending_queue')).toBe(11)
  })
})

describe('sendEmail with send_at', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

  it('answers 202 scheduled for every recipient, wakes nobody, and repeats that answer', async () => {
    const payload = emailBody({ cc: [{ email: 'bob@example.com' }], send_at: inAnHour() })
    const answer = await send(payload, { idempotency: 'k' })
    expect(answer).toMatchObject({
      status: 202,
      body: { recipients: [{ status: 'scheduled' }, { type: 'cc', status: 'scheduled' }] },
    })
    expect(await send(payload, { idempotency: 'k' })).toMatchObject({ body: answer.body })
    expect(woken).toEqual([])
    expect(await count('sending_scheduled')).toBe(2)
  })

  it('keeps no idempotency key when send_at is refused', async () => {
    const payload = emailBody({ send_at: '2020-01-01T00:00:00Z' })
    expect(await send(payload, { idempotency: 'k' })).toMatchObject({ status: 400 })
    expect(await count('sending_idempotency')).toBe(0)
  })

  it('cancels with 200, and with 200 again', async () => {
    const { body } = await send(emailBody({ send_at: inAnHour() }))
    const recipients = [{ email: 'ada@example.com', type: 'to', status: 'rejected' }]
    for (const [cancelled, message] of [
      [1, 'Email Cancelled'],
      [0, 'Nothing Was Left To Cancel'],
    ] as const) {
      const answer = await cancel(body.ref_id)
      expect(answer).toEqual({
        status: 200,
        body: { success: true, message, ref_id: body.ref_id, cancelled, recipients },
      })
      expect(Check(cancelScheduledEmailAnswer, answer.body)).toBe(true)
    }
    expect(await count('sending_scheduled')).toBe(0)
  })

  it('answers 404 to a cancellation by another tenant, and 403 to a read-only key', async () => {
    const { body } = await send(emailBody({ send_at: inAnHour() }))
    expect(await cancel(body.ref_id, 'b')).toMatchObject({ status: 404 })
    expect(await cancel('x', 'a')).toMatchObject({ status: 404 })
    expect(await cancel(body.ref_id, 'reader')).toMatchObject({ status: 403 })
    expect(await cancel(body.ref_id, 'nobody')).toMatchObject({ status: 401 })
    expect(await count('sending_scheduled')).toBe(1)
  })
})

it('sends a tab in the subject as a space', async () => {
  const { status, body } = await send(emailBody({ subject: 'Order\t12\t' }))
  expect(status).toBe(202)
  const values = [body.ref_id]
  const { rows } = await db.query('select subject from sending_email where ref_id = $1', values)
  expect(rows).toEqual([{ subject: 'Order 12 ' }])
})

describe('sendEmail with template_data', () => {
  it('answers 202, also when the template cannot be rendered', async () => {
    const template_data = { name: 'Ada' }
    for (const [subject, stored] of [
      ['Hello {{ name }}', 'Hello Ada'],
      ['Hello\t{{ name }}', 'Hello Ada'],
      ['Hello {{ name', 'Hello {{ name'],
    ] as const) {
      const { status, body } = await send(emailBody({ subject, template_data }))
      expect(status).toBe(202)
      const { rows } = await db.query('select subject from sending_email where ref_id = $1', [
        body.ref_id,
      ])
      expect(rows).toEqual([{ subject: stored }])
    }
  })

  it('makes template_data part of the idempotent request', async () => {
    const payload = (name: string) => emailBody({ template_data: { name } })
    const first = await send(payload('Ada'), { idempotency: 'k' })
    expect(await send(payload('Ada'), { idempotency: 'k' })).toMatchObject({ body: first.body })
    expect(await send(payload('Bob'), { idempotency: 'k' })).toMatchObject({ status: 409 })
  })
})

describe('Idempotency-Key', () => {
  it('repeats the first answer for the same key and the same JSON value', async () => {
    const payload = emailBody({ custom_args: { a: 1, b: 2 } })
    const first = await send(payload, { idempotency: 'k 1' })
    const again = await send(
      { custom_args: { b: 2, a: 1 }, ...emailBody() },
      { idempotency: 'k 1' },
    )
    expect(again).toMatchObject({ status: 202, body: first.body })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(await count('sending_email')).toBe(1)
    expect(woken).toHaveLength(1)
  })

  it('repeats the answer when the mailer is gone by now', async () => {
    const mailer = await addMailer(db, { email: 'gone@example.com' })
    const payload = emailBody({ mailer_id: mailer.mailerId })
    const first = await send(payload, { idempotency: 'gone' })
    await db.query('delete from mailers_mailer where mailer_id = $1', [mailer.mailerId])
    expect(await send(payload, { idempotency: 'gone' })).toMatchObject({
      status: 202,
      body: first.body,
    })
  })

  it('answers 409 idempotency_mismatch to the same key with another body', async () => {
    await send(emailBody(), { idempotency: 'k' })
    const other = await send(emailBody({ subject: 'Other' }), { idempotency: 'k' })
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_mismatch' } })
    expect(await send(emailBody(), { idempotency: 'k' })).toMatchObject({ status: 202 })
    expect(await count('sending_email')).toBe(1)
  })

  it('answers 409 idempotency_in_progress while the first request is under way', async () => {
    const opened = Promise.withResolvers<void>()
    limiter = opened.promise
    const first = send(emailBody(), { idempotency: 'k' })
    const second = await send(emailBody(), { idempotency: 'k' })
    limiter = undefined
    opened.resolve()
    expect(second).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    expect(second.headers['retry-after']).toBe('1')
    expect((await first).status).toBe(202)
  })

  it('is decided by the database between two processes', async () => {
    const elsewhere = serve(db)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        send(emailBody(), { idempotency: `k${i >> 1}`, on: i % 2 === 0 ? app : elsewhere }),
      ),
    )
    await elsewhere.close()
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]))
    for (let i = 0; i < 10; i += 2) expect(answers[i + 1]?.body).toEqual(answers[i]?.body)
    const replayed = answers.filter((answer) => answer.headers['idempotent-replayed'] === 'true')
    expect(replayed).toHaveLength(5)
    expect(await count('sending_email')).toBe(5)
  })

  it('belongs to its tenant', async () => {
    await send(emailBody(), { idempotency: 'k' })
    const from = { email: 'b@example.com' }
    const answer = await send(emailBody({ from }), { idempotency: 'k', key: 'b' })
    expect(answer.status).toBe(202)
    expect(answer.headers['idempotent-replayed']).toBeUndefined()
  })

  it('is not kept for a refused request', async () => {
    const from = { email: 'nobody@example.com' }
    expect((await send(emailBody({ from }), { idempotency: 'k' })).status).toBe(422)
    expect((await send(emailBody({ subject: '\n' }), { idempotency: 'k' })).status).toBe(400)
    expect(await count('sending_idempotency')).toBe(0)
    expect((await send(emailBody(), { idempotency: 'k' })).status).toBe(202)
  })

  it('is kept when another request of the same commit is refused', async () => {
    const from = { email: 'nobody@example.com' }
    const [kept, refused] = await Promise.all([
      send(emailBody(), { idempotency: 'kept' }),
      send(emailBody({ from }), { idempotency: 'refused' }),
    ])
    expect([kept.status, refused.status]).toEqual([202, 422])
    const { rows } = await db.query('select key from sending_idempotency')
    expect(rows).toEqual([{ key: 'kept' }])
  })

  it('is forgotten after 24 hours', async () => {
    const first = await send(emailBody(), { idempotency: 'k' })
    await db.query(
      `update sending_idempotency set created_at = now() - interval '24 hours 1 second'`,
    )
    const second = await send(emailBody({ subject: 'Other' }), { idempotency: 'k' })
    expect(second.status).toBe(202)
    expect(second.headers['idempotent-replayed']).toBeUndefined()
    expect(second.body.ref_id).not.toBe(first.body.ref_id)
    expect(await send(emailBody(), { idempotency: 'k' })).toMatchObject({ status: 409 })
  })

  it.each([['x'.repeat(256)], ['caf\u00e9']])('answers 400 to %j', async (idempotency) => {
    expect(await send(emailBody(), { idempotency })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'Idempotency-Key' }] },
    })
  })
})

describe('sendEmail: refusals', () => {
  it('answers 401 without a key, and to an unknown key', async () => {
    const answer = await send(emailBody(), { key: 'nobody' })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  })

  it('answers 403 to a read-only key', async () => {
    expect(await send(emailBody(), { key: 'reader' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  })

  it('answers 409 mailer_inactive for a deactivated or disabled mailer', async () => {
    for (const state of ['deactivated', 'disabled']) {
      const { mailerId: id } = await addMailer(db, { email: `${state}@example.com` })
      await db.query('update mailers_mailer set state = $2 where mailer_id = $1', [id, state])
      expect(await send(emailBody({ mailer_id: id }))).toMatchObject({
        status: 409,
        body: { code: 'mailer_inactive', message: `The mailer ${id} is ${state}` },
      })
    }
  })

  it('answers 413 to a body over 40 MiB', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/email/send',
      headers: {
        authorization: 'Bearer a',
        'content-type': 'application/json',
        'content-length': String(40 * 1024 * 1024 + 1),
      },
      payload: '{}',
    })
    expect(response).toMatchObject({ statusCode: 413 })
  })

  it('answers 415 to another content type', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/v1/email/send',
      headers: { authorization: 'Bearer a', 'content-type': 'text/plain' },
      payload: '{}',
    })
    expect(response.statusCode).toBe(415)
  })

  it('answers 422 no_mailer when no mailer sends for the address', async () => {
    const from = { email: 'nobody@example.com' }
    expect(await send(emailBody({ from }))).toMatchObject({
      status: 422,
      body: {
        code: 'no_mailer',
        message:
          'No mailer for this sender: nobody@example.com. Configure one for the address, add its domain, or name one in mailer_id',
      },
    })
  })

  it('answers 422 no_mailer for a mailer of another tenant, by id and by address', async () => {
    const byId = await send(emailBody({ mailer_id: 'smtp_of_b' }))
    const byAddress = await send(emailBody({ from: { email: 'b@example.com' } }))
    const unknownId = await send(emailBody({ mailer_id: 'smtp_of_nobody' }))
    const unknownAddress = await send(emailBody({ from: { email: 'nobody@example.com' } }))
    expect(unknownId.body.message).toBe(
      'mailer_id names no mailer that can send: listMailers (GET /v1/mailers) has their ids',
    )
    for (const [theirs, unknown] of [
      [byId, unknownId],
      [byAddress, unknownAddress],
    ] as const) {
      const { request_id: _, ...error } = theirs.body
      expect({ status: theirs.status, ...error }).toEqual({
        status: 422,
        success: false,
        code: 'no_mailer',
        message: unknown.body.message.replace('nobody@', 'b@'),
      })
    }
  })

  it('answers 503 with Retry-After when the disk is nearly full', async () => {
    space.bsize = 500 * 1024
    await disk.runOnce()
    const answer = await send()
    space.bsize = 2 ** 40
    await disk.runOnce()
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(await count('sending_email')).toBe(0)
  })

  it('answers 503 with Retry-After to a large email when the disk has space for small ones only', async () => {
    space.bsize = 1024 * 1024
    const content = Buffer.alloc(200 * 1024).toString('base64')
    const large = await send(emailBody({ attachments: [{ filename: 'a.bin', content }] }))
    const small = await send()
    space.bsize = 2 ** 40
    await disk.runOnce()
    expect(large).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(Number(large.headers['retry-after'])).toBeGreaterThan(0)
    expect(small.status).toBe(202)
    expect(await count('sending_email')).toBe(1)
  })

  it('answers 503 with Retry-After while the database is away, and 202 when it is back', async () => {
    const away = createDb({
      url: 'postgres://postgres@127.0.0.1:1/none',
      poolMax: 1,
      log: silent,
      applicationName: 'test',
    })
    const lost = serve(away)
    const answer = await send(emailBody(), { idempotency: 'k', on: lost })
    await lost.close()
    await away.close()
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect((await send(emailBody(), { idempotency: 'k' })).status).toBe(202)
  })
})

describe('sendEmail with tracking', () => {
  const tracked = (value: string, change = {}) =>
    emailBody({
      content: [{ type: 'text/html', value }],
      settings: { open_tracking: true, click_tracking: true },
      ...change,
    })
  const links = async () =>
    (await db.query<{ urls: string[] }>('select urls from sending_link')).rows.map((r) => r.urls)

  it('stores the links of rendered templates', async () => {
    const template = '<a href="https://a.example/{{ id }}?x=1&y=2">a</a>'
    const answer = await send(tracked(template, { template_data: { id: 7 } }))
    expect(answer.status).toBe(202)
    expect(await links()).toEqual([['https://a.example/7?x=1&y=2']])
  })

  it('stores no links of a refused or repeated request', async () => {
    const body = tracked('<a href="https://a.example/">a</a>')
    await send(body, { idempotency: 'k' })
    await send(body, { idempotency: 'k' })
    await send({ ...body, from: { email: 'nobody@example.com' } })
    expect(await links()).toEqual([['https://a.example/']])
  })

  it('tracks no clicks in HTML with too many links, and logs that', async () => {
    const html = '<a href="https://a.example/">a</a>'.repeat(LINKS_MAX + 1)
    const { status, body } = await send(tracked(html))
    expect(status).toBe(202)
    expect(await links()).toEqual([])
    const [line] = String(logged.read()).split('\n')
    expect(JSON.parse(line ?? '')).toMatchObject({
      msg: 'email.untracked',
      ref_id: body.ref_id,
      tenant_id: 'tn_a',
      left_out: 'clicks: too many links',
    })
  })
})

describe('sendEmail: 400', () => {
  const long = (n: number) => 'x'.repeat(n)
  const many = (n: number, prefix: string) =>
    Array.from({ length: n }, (_, i) => ({ email: `${prefix}${i}@example.com` }))
  const file = (change: object) => ({
    attachments: [{ filename: 'a.txt', content: 'aGk=', ...change }],
  })
  const { to: _to, ...withoutTo } = emailBody()

  it.each<[path: string, change: object]>([
    ['/from', { from: undefined }],
    ['/from/email', { from: { email: 'a@b' } }],
    ['/from/name', { from: { email: 'news@example.com', name: 'a\r\nBcc: x@example.com' } }],
    ['/to', { to: undefined }],
    ['/to', { to: [] }],
    ['/to', { to: many(1001, 'r') }],
    ['/bcc', { to: many(600, 'a'), cc: many(400, 'b'), bcc: many(1, 'c') }],
    ['/to/0/email', { to: [{}] }],
    ['/to/0/email', { to: [{ email: 'a@example.com\r\nRCPT TO:<evil@example.com>' }] }],
    ['/to/1/email', { to: [{ email: 'a@example.com' }, { email: 'b@@' }] }],
    ['/to/0/name', { to: [{ email: 'a@example.com', name: 'tab\there' }] }],
    ['/to/0/nick', { to: [{ email: 'a@example.com', nick: 'x' }] }],
    ['/cc/0/email', { cc: [{ email: 'no' }] }],
    ['/bcc/0/name', { bcc: [{ email: 'b@example.com', name: '\u0007' }] }],
    ['/replyTo/email', { replyTo: { email: '<a@example.com>' } }],
    ['/replyTo/name', { replyTo: { email: 'a@example.com', name: '\n' } }],
    ['/subject', { subject: undefined }],
    ['/subject', { subject: 'a\r\nX-Evil: 1' }],
    ['/subject', { subject: 'a\u0000b' }],
    ['/subject', { subject: long(999) }],
    ['/content', { content: undefined }],
    ['/content', { content: [] }],
    ['/content/0/type', { content: [{ type: 'text/rtf', value: '' }] }],
    [
      '/content/1/type',
      {
        content: [
          { type: 'text/html', value: '' },
          { type: 'text/html', value: '' },
        ],
      },
    ],
    ['/content/0/value', { content: [{ type: 'text/plain', value: 'a\u0000b' }] }],
    ['/headers/Subject', { headers: { Subject: 'x' } }],
    ['/headers/bCC', { headers: { bCC: 'evil@example.com' } }],
    ['/headers/Content-Type', { headers: { 'Content-Type': 'text/html' } }],
    ['/headers/X-A', { headers: { 'X-A': 'a\r\nBcc: evil@example.com' } }],
    ['/headers/x-a', { headers: { 'X-A': '1', 'x-a': '2' } }],
    ['/headers/a~1b:~0', { headers: { 'a/b:~': '1' } }],
    ['/headers/X-A', { headers: { 'X-A': 1 } }],
    [
      '/headers',
      { headers: Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`X-${i}`, long(880)])) },
    ],
    ['/attachments/0/content', file({ content: 'not base64!' })],
    ['/attachments/0/content', file({ content: 'aGk' })],
    ['/attachments/0/content', file({ content: 'a===' })],
    ['/attachments/0/content', file({ content: 'aG==aGk=' })],
    ['/attachments/0/filename', file({ filename: 'a\r\nb' })],
    ['/attachments/0/filename', file({ filename: '' })],
    ['/attachments/0/type', file({ type: 'text' })],
    ['/attachments/0/type', file({ type: 'text/plain\r\nX: 1' })],
    ['/attachments/0/disposition', file({ disposition: 'hidden' })],
    ['/attachments/0/content_id', file({ content_id: '<a>' })],
    [
      '/attachments/1/content_id',
      { attachments: [1, 2].map(() => ({ filename: 'a', content: '', content_id: 'a' })) },
    ],
    ['/attachments', file({ content: 'AAAA'.repeat((25 * 1024 * 1024) / 3 + 1) })],
    ['/custom_args', { custom_args: [] }],
    ['/custom_args', { custom_args: { a: long(10_240) } }],
    ['/custom_args', { custom_args: { a: Array.from({ length: 90_000 }, () => 1) } }],
    ['/custom_args', { custom_args: JSON.parse(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`) }],
    ['/campaign_id', { campaign_id: 'a\nb' }],
    ['/campaign_id', { campaign_id: long(256) }],
    ['/mailer_id', { mailer_id: '' }],
    ['/settings/max_attempts', { settings: { max_attempts: 0 } }],
    ['/settings/max_attempts', { settings: { max_attempts: 21 } }],
    ['/settings/expires_in', { settings: { expires_in: '31d' } }],
    ['/settings/expires_in', { settings: { expires_in: '10ms' } }],
    ['/settings/expires_in', { settings: { expires_in: 'soon' } }],
    ['/settings/open_tracking', { settings: { open_tracking: 'yes' } }],
    [
      '/headers/list-Unsubscribe',
      {
        headers: { 'list-Unsubscribe': '<mailto:u@example.com>' },
        settings: { unsubscribe: true },
      },
    ],
    [
      '/headers/List-Unsubscribe-Post',
      { headers: { 'List-Unsubscribe-Post': 'x' }, settings: { unsubscribe: true } },
    ],
    ['/template_data', { template_data: 'x' }],
    ['/template_data', { template_data: { x: long(1024 * 1024) } }],
    [
      '/content/0/value',
      {
        template_data: {},
        content: [{ type: 'text/plain', value: long(1024 * 1024 + 1) }],
      },
    ],
    ['/send_at', { send_at: '2026-11-20 18:00:00' }],
    ['/send_at', { send_at: 'tomorrow' }],
    ['/send_at', { send_at: '2026-02-30T18:00:00Z' }],
    ['/send_at', { send_at: '2020-01-01T00:00:00Z' }],
    ['/send_at', { send_at: '2999-01-01T00:00:00+01:00' }],
    ['/reply_to', { reply_to: { email: 'a@example.com' } }],
  ])('names %s', async (path, change) => {
    const answer = await send({ ...emailBody(), ...change })
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors).toEqual([{ path, message: expect.any(String) }])
  })

  it('names all invalid fields in one answer', async () => {
    const { body } = await send(
      emailBody({
        to: [{ email: 'a@b' }],
        subject: '\n',
        headers: { To: 'x' },
        settings: { expires_in: '1y' },
      }),
    )
    expect(body.errors.map((error: { path: string }) => error.path)).toEqual([
      '/to/0/email',
      '/subject',
      '/headers/To',
      '/settings/expires_in',
    ])
  })

  it('names duplicate recipients over to, cc and bcc, whatever the case or spelling of the domain', async () => {
    const answer = await send({
      ...withoutTo,
      to: [{ email: 'ada@bücher.example' }, { email: 'ADA@xn--bcher-kva.example' }],
      cc: [{ email: 'ren\u00e9@example.com' }],
      bcc: [
        { email: 'Ada@BÜCHER.example' },
        { email: 'bob@example.com' },
        { email: 'rene\u0301@example.com' },
      ],
    })
    expect(answer).toMatchObject({ status: 400, body: { code: 'duplicate_recipient' } })
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([
      '/to/1/email',
      '/bcc/0/email',
      '/bcc/2/email',
    ])
  })

  it('stores nothing', async () => {
    await send(emailBody({ subject: '\n' }))
    expect(await count('sending_email')).toBe(0)
    expect(await count('sending_queue')).toBe(0)
  })
})

describe('sendEmail: accepted bodies', () => {
  it.each([
    ['an empty subject', { subject: '' }],
    [
      'a header of its own',
      { headers: { 'List-Unsubscribe': '<mailto:u@example.com>', 'X-A': 'ü' } },
    ],
    [
      'an inline part without an id',
      { attachments: [{ filename: 'a.png', content: '', disposition: 'inline' as const }] },
    ],
    [
      'a media type with a parameter',
      { attachments: [{ filename: 'a', content: 'aGk=', type: 'text/csv; charset=utf-8' }] },
    ],
    ['wrapped base64', { attachments: [{ filename: 'a', content: 'aGk\r\n=' }] }],
    [
      'exactly 25 MiB of attachments',
      { attachments: [{ filename: 'a', content: `${'AAAA'.repeat(8738133)}AA==` }] },
    ],
    ['tracking', { settings: { open_tracking: true, click_tracking: true, unsubscribe: true } }],
  ])('accepts %s', async (_, change) => {
    expect((await send(emailBody(change))).status).toBe(202)
  })
})
