/** docs/reference/sending.md#batches. */

import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { SendEmailBody } from '@postrider/contract'
import { createLinkFinder, createTemplateRenderer } from '@postrider/mail'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import { addMailer, createSendingDatabase, emailBody, unsubscribe } from '../../../test/sending.ts'
import { createDb, type Db } from '../../platform/db/index.ts'
import { createHttpApp } from '../../platform/http/app.ts'
import { createLogger } from '../../platform/log.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { createTenant, createUsageCounts, updateTenant } from '../../tenants/index.ts'
import { createAcceptEmails } from '../accept/accept-email.ts'
import { createKeysInProgress } from '../accept/idempotency.ts'
import { createQueueWakeups, type WokenQueue } from '../queue/queue-wakeups.ts'
import { countQueued } from '../queue-watch/tenant-store.ts'
import { sendRoutes } from '../routes.ts'
import { batchRoutes } from './routes.ts'

let database: TestDatabase
let db: Db
let app: FastifyInstance
let transactions = 0
const templates = createTemplateRenderer()
const links = createLinkFinder()
const woken: WokenQueue[] = []
const keysInProgress = createKeysInProgress()
const logged = new PassThrough()

beforeAll(async () => {
  database = await createSendingDatabase()
  db = database.db
  await addMailer(db)
  await addMailer(db, { tenantId: 'tn_b', email: 'b@example.com' })
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
  transactions = 0
  await emptyTables(
    db,
    'sending_email',
    'sending_content',
    'sending_recipient',
    'sending_own',
    'sending_rendering',
    'sending_queue',
    'sending_scheduled',
    'sending_link',
    'sending_idempotency',
    'tenants_usage',
  )
})

/** A process of the service, as far as sending goes. */
function serve(on: Db): FastifyInstance {
  const counting: Db = {
    ...on,
    query: on.query,
    get stats() {
      return on.stats
    },
    transaction: (work, o) => {
      transactions += 1
      return on.transaction(work, o)
    },
  }
  const made = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: (key) => ({
      ...{ keyId: 'key_1', scopes: ['send'] },
      tenantId: key.startsWith('tn_') ? key : `tn_${key}`,
    }),
  })
  const wakeups = createQueueWakeups()
  wakeups.onWake((queues) => woken.push(...queues))
  const usage = {
    db: on,
    ...{ retentionMs: 86_400_000, contentRetentionMs: 86_400_000 },
    countQueued,
  }
  const deps = {
    db: counting,
    templates,
    links,
    log: createLogger({ level: 'warn', destination: logged }),
    emails: createAcceptEmails({
      ...{ db: counting, failpoints: { hit: () => undefined }, disk: noDiskGuard },
      usageCounts: createUsageCounts(usage),
    }),
    keysInProgress,
    wakeups,
    defaults: { maxAttempts: 5, expiresInMs: 3_600_000 },
  }
  sendRoutes(made, deps)
  const limits = { atOnceMax: 4, atOncePerCallerMax: 2, waitingPerCallerMax: 20 }
  const limiter = createConcurrencyLimiter({ ...limits, name: 'batches-at-once' })
  batchRoutes(made, { ...deps, limiter })
  return made
}

async function call(path: string, payload: unknown, headers: Record<string, string>, on = app) {
  const response = await on.inject({
    method: 'POST',
    url: path,
    headers: { authorization: 'Bearer a', 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(payload),
  })
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}

interface BatchOptions {
  readonly atomic?: boolean
  readonly headers?: Record<string, string>
  readonly on?: FastifyInstance
}

async function sendBatch(messages: readonly unknown[], o: BatchOptions = {}) {
  const body = { messages, ...(o.atomic === undefined ? {} : { atomic: o.atomic }) }
  return call('/v1/email/batch', body, o.headers ?? {}, o.on)
}

const sendOne = (body: unknown, headers: Record<string, string> = {}) =>
  call('/v1/email/send', body, headers)

const mailTo = (name: string, change: Partial<SendEmailBody> & { idempotency_key?: string } = {}) =>
  emailBody({ to: [{ email: `${name}@example.com` }], ...change })

const many = (count: number) => Array.from({ length: count }, (_, i) => mailTo(`to${i}`))

/** The key of a new tenant that may send so many emails a day. */
async function withQuota(emailsPerDay: number): Promise<Record<string, string>> {
  const { tenantId } = await createTenant(database, { name: 'Limited' })
  await addMailer(db, { tenantId })
  const usage = { db, ...{ retentionMs: 86_400_000, contentRetentionMs: 86_400_000 }, countQueued }
  await updateTenant(usage, tenantId, { quotas: { emails_per_day: emailsPerDay } })
  return { authorization: `Bearer ${tenantId}` }
}

async function count(table: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return rows[0]?.count ?? 0
}

async function storedTo(): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    'select email from sending_recipient order by email',
  )
  return rows.map(({ email }) => email)
}

describe('a batch', () => {
  it('is refused before its body is read, when its tenant floods beyond a quota', async () => {
    const headers = await withQuota(1)
    expect(await sendBatch(many(1), { headers })).toMatchObject({ status: 202 })
    const flood = await sendBatch(many(40), { headers })
    expect(new Set(flood.body.results.map((one: { code?: string }) => one.code))).toEqual(
      new Set(['quota_exceeded']),
    )
    expect(await call('/v1/email/batch', { nonsense: true }, headers)).toMatchObject({
      status: 429,
      body: { code: 'quota_exceeded', errors: [{ path: '/quotas/emails_per_day' }] },
    })
  })

  it('answers each message in order, as sendEmail would have answered it', async () => {
    await unsubscribe(db, 'gone@example.com')
    const wrong = [
      { ...mailTo('x'), subject: 7 },
      { ...mailTo('x'), to: [{ email: 'nowhere' }] },
      { ...mailTo('x'), cc: [{ email: 'X@example.com' }] },
      { ...mailTo('x'), from: { email: 'other@example.com' } },
      { ...mailTo('x'), send_at: '2001-01-01T00:00:00Z' },
      'no object',
      { ...mailTo('x'), nonsense: true },
    ]
    const alone = await Promise.all(wrong.map((body) => sendOne(body)))
    const right = [mailTo('ada'), mailTo('gone'), mailTo('later', { send_at: inAnHour() })]
    const { status, body } = await sendBatch([...wrong, ...right])
    expect(status).toBe(202)
    expect(body.success).toBe(true)
    expect(body.message).toBe('Batch Accepted In Part: 3 of 10 messages')
    const refusals = alone.map(({ body: { code, message, errors } }, index) => ({
      ...{ index, code, message },
      ...(errors === undefined ? {} : { errors }),
    }))
    expect(body.results.slice(0, wrong.length)).toEqual(refusals)
    expect(new Set(refusals.map(({ code }) => code))).toEqual(
      new Set(['validation_failed', 'duplicate_recipient', 'no_mailer']),
    )
    const one = (index: number, email: string, state: string) => ({
      ...{ index, ref_id: expect.stringMatching(/^[0-9A-Z]{26}$/) },
      recipients: [{ email, type: 'to', status: state }],
    })
    expect(body.results.slice(wrong.length)).toEqual([
      one(7, 'ada@example.com', 'queued'),
      one(8, 'gone@example.com', 'suppressed'),
      one(9, 'later@example.com', 'scheduled'),
    ])
    expect(await storedTo()).toEqual(['ada@example.com', 'gone@example.com', 'later@example.com'])
    expect(woken).toHaveLength(1)
  })

  it('stores 500 messages in a tenth as many commits', async () => {
    const { status, body } = await sendBatch(many(500))
    expect(status).toBe(202)
    expect(new Set(body.results.map(({ ref_id }: { ref_id: string }) => ref_id)).size).toBe(500)
    expect(await count('sending_queue')).toBe(500)
    expect(transactions).toBeLessThanOrEqual(16)
  })

  it.each([
    [{ messages: [] }, '/messages'],
    [{ messages: many(501) }, '/messages'],
    [{}, '/messages'],
    [{ messages: many(1), atomic: 'yes' }, '/atomic'],
    [{ messages: many(1), other: 1 }, '/other'],
  ])('is refused as a whole when it is no batch', async (body, path) => {
    expect(await call('/v1/email/batch', body, {})).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
    expect(await count('sending_email')).toBe(0)
  })

  it('renders templates and takes null as absent', async () => {
    const message = mailTo('ada', { subject: 'Hello {{ name }}', template_data: { name: 'Ada' } })
    const { body } = await sendBatch([{ ...message, campaign_id: null, idempotency_key: null }])
    expect(body.results[0]).toHaveProperty('ref_id')
    const { rows } = await db.query<{ subject: string }>('select subject from sending_email')
    expect(rows).toEqual([{ subject: 'Hello Ada' }])
  })

  it('gives the event loop a turn after each message', async () => {
    let [turns, isOver] = [0, false]
    const counting = (async () => {
      while (!isOver) {
        await setImmediate()
        turns += 1
      }
    })()
    const nothing = Array.from({ length: 300 }, () => ({ ...mailTo('x'), subject: 1 }))
    await sendBatch(nothing)
    isOver = true
    await counting
    expect(turns).toBeGreaterThanOrEqual(300)
  })

  it('lets the single mails of another tenant between its own', async () => {
    const order: string[] = []
    const batch = sendBatch(many(400)).then(() => order.push('batch'))
    const from = { email: 'b@example.com' }
    for (let i = 0; i < 3; i += 1)
      order.push(
        String((await sendOne(mailTo('b', { from }), { authorization: 'Bearer b' })).status),
      )
    await batch
    expect(order).toEqual(['202', '202', '202', 'batch'])
  })

  it('counts exactly against a quota, and accepts what fits', async () => {
    const headers = await withQuota(100)
    const [first, second] = await Promise.all([
      sendBatch(many(90), { headers }),
      sendBatch(many(90), { headers }),
    ])
    const results = [...first.body.results, ...second.body.results]
    expect(results.filter((one) => 'ref_id' in one)).toHaveLength(100)
    expect(results.find((one) => 'code' in one)).toMatchObject({
      code: 'quota_exceeded',
      errors: [{ path: '/quotas/emails_per_day' }],
    })
    expect(await count('sending_queue')).toBe(100)
    const { rows } = await db.query('select in_day::int from tenants_usage')
    expect(rows).toEqual([{ in_day: 100 }])
  })
})

describe('idempotency keys of a batch', () => {
  it('give the first answer again, to a batch and to sendEmail', async () => {
    const messages = [mailTo('a', { idempotency_key: 'a' }), mailTo('b', { idempotency_key: 'b' })]
    const first = await sendBatch(messages)
    const second = await sendBatch(messages)
    expect(second.body.results).toEqual(first.body.results)
    const single = await sendOne(mailTo('a'), { 'idempotency-key': 'a' })
    expect(single).toMatchObject({
      headers: { 'idempotent-replayed': 'true' },
      body: { ref_id: first.body.results[0].ref_id },
    })
    expect(await count('sending_email')).toBe(2)
  })

  it.each([true, false])('give one ref_id to one body twice, atomic: %s', async (atomic) => {
    const twice = mailTo('a', { idempotency_key: 'k' })
    const { body } = await sendBatch([twice, mailTo('b'), twice], { atomic })
    const [first, other, again] = body.results
    expect(again).toEqual({ ...first, index: 2 })
    expect(other.ref_id).not.toBe(first.ref_id)
    expect(await count('sending_email')).toBe(2)
  })

  it('refuse another body under a key of the batch', async () => {
    const one = mailTo('a', { idempotency_key: 'k' })
    const other = mailTo('b', { idempotency_key: 'k' })
    const { body } = await sendBatch([one, other])
    expect(body.results).toMatchObject([{ index: 0 }, { index: 1, code: 'idempotency_mismatch' }])
    const atomic = await sendBatch(
      [one, other].map((message) => ({ ...message, idempotency_key: 'l' })),
      { atomic: true },
    )
    expect(atomic).toMatchObject({ status: 400, body: { code: 'batch_refused' } })
    expect(atomic.body.errors[0].path).toBe('/messages/1')
    expect(await storedTo()).toEqual(['a@example.com'])
  })

  it('are judged after the outcome of the first', async () => {
    const wrong = { ...mailTo('a', { idempotency_key: 'k' }), from: { email: 'no@example.com' } }
    const right = mailTo('b', { idempotency_key: 'k' })
    const { body } = await sendBatch([wrong, right, right])
    expect(body.results[0]).toMatchObject({ code: 'no_mailer' })
    expect(body.results[2]).toEqual({ ...body.results[1], index: 2 })
    expect(await storedTo()).toEqual(['b@example.com'])
  })

  it('are refused while another request has them, and free afterwards', async () => {
    const release = keysInProgress.hold('tn_a', 'k')
    const message = mailTo('a', { idempotency_key: 'k' })
    const { body } = await sendBatch([message, mailTo('b')])
    expect(body.results).toMatchObject([{ code: 'idempotency_in_progress' }, { index: 1 }])
    release()
    expect((await sendBatch([message])).body.results[0]).toHaveProperty('ref_id')
    expect((await sendBatch([message])).body.results[0]).toHaveProperty('ref_id')
  })

  it('are named by their field, and no header', async () => {
    const { body } = await sendBatch([mailTo('a', { idempotency_key: 'ü' })])
    expect(body.results).toMatchObject([{ errors: [{ path: '/idempotency_key' }] }])
    expect(await sendBatch(many(1), { headers: { 'idempotency-key': 'k' } })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'Idempotency-Key' }] },
    })
    expect(await count('sending_email')).toBe(0)
  })
})

describe('recipients of a batch with data of their own', () => {
  const own = (name: string, more: Record<string, unknown> = {}) =>
    mailTo('x', {
      to: [{ email: `${name}@example.com`, template_data: { name } }],
      subject: 'For {{ name }}',
      ...more,
    })

  it.each([true, false])('have renderings of their own, atomic: %s', async (atomic) => {
    const { body } = await sendBatch([own('a'), own('b'), mailTo('c')], { atomic })
    expect(body.results).toMatchObject([{ index: 0 }, { index: 1 }, { index: 2 }])
    const { rows } = await db.query('select subject from sending_rendering order by 1')
    expect(rows).toEqual([{ subject: 'For a' }, { subject: 'For b' }])
    expect(await count('sending_own')).toBe(2)
  })

  it('are refused by their path within the message, others are not', async () => {
    const wrong = own('a', {
      to: [{ email: 'a@example.com', custom_args: { x: 'x'.repeat(10_240) } }],
    })
    const { body } = await sendBatch([wrong, own('b')])
    expect(body.results).toMatchObject([
      { code: 'validation_failed', errors: [{ path: '/to/0/custom_args' }] },
      { ref_id: expect.any(String) },
    ])
    const cc = own('a', { cc: [{ email: 'c@example.com', template_data: {} }] })
    const atomic = await sendBatch([own('b'), cc], { atomic: true })
    expect(atomic.body.errors).toMatchObject([{ path: '/messages/1/cc/0/template_data' }])
  })

  it('are part of what an idempotency key stands for', async () => {
    const first = own('a', { idempotency_key: 'k' })
    const other = own('a', {
      to: [{ email: 'a@example.com', template_data: { name: 'b' } }],
      idempotency_key: 'k',
    })
    const { body } = await sendBatch([first, other, first])
    expect(body.results[1]).toMatchObject({ code: 'idempotency_mismatch' })
    expect(body.results[2].ref_id).toBe(body.results[0].ref_id)
  })
})

describe('an atomic batch', () => {
  it('is accepted in one transaction', async () => {
    const { status, body } = await sendBatch(many(200), { atomic: true })
    expect(status).toBe(202)
    expect(body.results).toHaveLength(200)
    expect(transactions).toBe(1)
    expect(await count('sending_queue')).toBe(200)
  })

  it('is refused with every message at fault, by its path', async () => {
    const wrong = [
      mailTo('a'),
      { ...mailTo('b'), subject: 7, nonsense: 1 },
      mailTo('c', { cc: [{ email: 'c@example.com' }] }),
    ]
    const { status, body } = await sendBatch(wrong, { atomic: true })
    expect(status).toBe(400)
    expect(body.code).toBe('batch_refused')
    expect(body.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      '/messages/1/nonsense',
      '/messages/1/subject',
      '/messages/2/cc/0/email',
    ])
    expect(transactions).toBe(0)
  })

  it('leaves nothing behind when the database refuses one message', async () => {
    const from = { email: 'other@example.com' }
    const keyed = mailTo('a', { idempotency_key: 'k' })
    const { status, body } = await sendBatch([keyed, mailTo('b', { from })], { atomic: true })
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'batch_refused' })
    expect(body.errors).toEqual([
      { path: '/messages/1', message: expect.stringMatching(/^no_mailer: /) },
    ])
    expect(await count('sending_email')).toBe(0)
    expect(await count('sending_idempotency')).toBe(0)
    expect((await sendOne(mailTo('z'), { 'idempotency-key': 'k' })).status).toBe(202)
  })

  it('spends nothing of a quota that it does not fit into', async () => {
    const headers = await withQuota(10)
    const refused = await sendBatch(many(11), { headers, atomic: true })
    expect(refused).toMatchObject({ status: 400, body: { code: 'batch_refused' } })
    expect(refused.body.errors).toMatchObject([{ path: '/messages/10' }])
    expect(await sendBatch(many(10), { headers, atomic: true })).toMatchObject({ status: 202 })
    expect(await count('sending_queue')).toBe(10)
  })

  it('is refused when its templates render to more than a request may bring', async () => {
    const content = [
      { type: 'text/plain' as const, value: '{% for i in (1..4096) %}{{ line }}{% endfor %}' },
    ]
    const template_data = { line: 'x'.repeat(1024) }
    const messages = Array.from({ length: 12 }, (_, i) =>
      mailTo(`to${i}`, { content, template_data }),
    )
    const { status, body } = await sendBatch(messages, { atomic: true })
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'batch_refused' })
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual([
      '/messages/10/content',
      '/messages/11/content',
    ])
    expect(await count('sending_email')).toBe(0)
  })

  it('is refused with more recipients than one transaction takes', async () => {
    const to = (i: number) =>
      Array.from({ length: 1_000 }, (_, n) => ({ email: `to${i}-${n}@example.com` }))
    const messages = Array.from({ length: 11 }, (_, i) => mailTo('a', { to: to(i) }))
    const { status, body } = await sendBatch(messages, { atomic: true })
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'batch_refused' })
    expect(body.errors).toMatchObject([{ path: '/messages/10/to' }])
  })

  it('does not call a key used for another body whose message is refused itself', async () => {
    const refused = mailTo('a', { idempotency_key: 'k', subject: 'a\nb\u0000' })
    const { body } = await sendBatch([refused, mailTo('b', { idempotency_key: 'k' })], {
      atomic: true,
    })
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(['/messages/0/subject'])
  })

  it('stores more than one slice of content in its one transaction', async () => {
    const content = [{ type: 'text/plain' as const, value: 'x'.repeat(1024 * 1024) }]
    const messages = Array.from({ length: 9 }, (_, i) => mailTo(`to${i}`, { content }))
    expect(await sendBatch(messages, { atomic: true })).toMatchObject({ status: 202 })
    expect(transactions).toBe(1)
    expect(await count('sending_email')).toBe(9)
  })
})

describe('a batch while the database is away', () => {
  it('is 503, atomic or not, and tries once', async () => {
    const away = createDb({
      url: 'postgres://nobody@127.0.0.1:1/none',
      poolMax: 1,
      log: createLogger({ level: 'silent' }),
      applicationName: 'away',
    })
    const on = serve(away)
    await on.ready()
    for (const atomic of [true, false]) {
      const answer = await sendBatch(many(200), { on, atomic })
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(answer.headers).toHaveProperty('retry-after')
    }
    expect(transactions).toBeLessThanOrEqual(1 + 2)
    await on.close()
    await away.close()
  })
})

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString()
}
