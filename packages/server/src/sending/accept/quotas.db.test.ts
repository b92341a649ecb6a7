/** docs/reference/operator.md#quotas. Two instances of acceptance share one database, as two processes do. */
import { setTimeout } from 'node:timers/promises'
import type { QuotaName, SendEmailBody } from '@postrider/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import { addMailer, emailBody, silent, unsubscribe } from '../../../test/sending.ts'
import { createDb, type Db, type Tx } from '../../platform/db/index.ts'
import { newId } from '../../platform/ids.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import {
  chargeQuotas,
  createTenant,
  createUsageCounts,
  getTenant,
  updateTenant,
} from '../../tenants/index.ts'
import { countQueued } from '../queue-watch/tenant-store.ts'
import { type AcceptEmails, createAcceptEmails } from './accept-email.ts'
import { cancelEmail } from './cancel-email.ts'
import { checkEmail } from './check-email.ts'

const DAY_MS = 86_400_000
/** Refusals after which a tenant is refused from memory. */
const askedAnywayMax = 20
let database: TestDatabase
let second: Db
let statements: string[] = []
let instances: AcceptEmails[]
let nowMs = 0
const deps = () => ({
  db: database.db,
  ...{ retentionMs: 30 * DAY_MS, contentRetentionMs: 30 * DAY_MS },
  countQueued,
})

/** Its transactions tell their statements. */
function listening(db: Db): Db {
  return {
    ...db,
    transaction: (work, o) =>
      db.transaction(
        (tx: Tx) =>
          work({
            ...tx,
            query: (s, values) => {
              statements.push(typeof s === 'string' ? s : (s.name ?? ''))
              return tx.query(s, values)
            },
          }),
        o,
      ),
  }
}

beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true, poolMax: 10 })
  second = createDb({ url: database.url, poolMax: 10, log: silent, applicationName: 'second' })
})
afterAll(async () => {
  await second.close()
  await database.close()
})
beforeEach(async () => {
  await emptyTables(database.db, 'sending_queue', 'sending_scheduled')
  nowMs = 0
  instances = [database.db, second].map((db) =>
    createAcceptEmails({
      db: listening(db),
      failpoints: { hit: () => undefined },
      disk: noDiskGuard,
      usageCounts: createUsageCounts({ ...deps(), db, monotonicMs: () => nowMs }),
      monotonicMs: () => nowMs,
    }),
  )
  statements = []
})

type Limits = Partial<Record<QuotaName, number>>

async function newTenant(quotas?: Limits): Promise<string> {
  const { tenantId } = await createTenant(database, { name: 'Acme' })
  await addMailer(database.db, { tenantId })
  if (quotas !== undefined) await updateTenant(deps(), tenantId, { quotas })
  return tenantId
}

interface Asked {
  readonly isTest?: boolean
  readonly by?: number
  readonly recipients?: number
  readonly body?: Partial<SendEmailBody>
  readonly key?: string
}

async function send(tenantId: string, o: Asked = {}) {
  const to = Array.from({ length: o.recipients ?? 1 }, (_, i) => ({ email: `to${i}@example.com` }))
  const body = emailBody({ to, ...o.body })
  const email = checkEmail(body, { maxAttempts: 5, expiresInMs: DAY_MS })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const idempotency =
    o.key === undefined ? {} : { idempotency: { key: o.key, bodyHash: Buffer.from(o.key) } }
  const { refId } = await (instances[o.by ?? 0] as AcceptEmails).accept({
    ...{ tenantId, email, traceparent, isTest: o.isTest ?? false, ...idempotency },
  })
  return refId
}

/** Alternately by both instances; answers how many recipients were accepted, and the quotas that refused others. */
async function flood(tenantId: string, count: number, o: Asked = {}) {
  const results = await Promise.allSettled(
    Array.from({ length: count }, (_, i) => send(tenantId, { by: i % 2, ...o })),
  )
  const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  for (const error of refused)
    expect(error).toMatchObject({
      code: 'quota_exceeded',
      status: 429,
      retryAfterS: expect.any(Number),
    })
  const accepted = (count - refused.length) * (o.recipients ?? 1)
  return { accepted, paths: [...new Set(refused.map((error) => error.errors[0].path))] }
}

async function recipientsOf(tenantId: string): Promise<number> {
  const { rows } = await database.db.query<{ n: number }>(
    `select count(*)::int as n from sending_recipient where tenant_id = $1 and status <> 'suppressed'`,
    [tenantId],
  )
  return rows[0]?.n ?? 0
}

describe('50 sends at once by two processes', () => {
  it.each<[QuotaName, number]>([
    ['emails_per_day', 17],
    ['queued_max', 23],
    ['emails_per_day', 0],
    ['emails_per_day', 50],
  ])('use up %s of %i exactly', async (quota, max) => {
    const tenantId = await newTenant({ [quota]: max })
    const { accepted, paths } = await flood(tenantId, 50)
    expect(accepted).toBe(max)
    expect(paths).toEqual(max === 50 ? [] : [`/quotas/${quota}`])
    expect(await recipientsOf(tenantId)).toBe(max)
    expect((await getTenant(deps(), tenantId)).usage).toMatchObject({
      emails_today: max,
      queued: max,
    })
  })

  it('never pass a quota that they do not fit into evenly, also when each goes alone', async () => {
    const tenantId = await newTenant({ emails_per_day: 1_000 })
    const { accepted } = await flood(tenantId, 50, { recipients: 30 })
    expect(accepted).toBe(990)
    expect(await recipientsOf(tenantId)).toBe(990)
  })

  it('never pass emails_per_second within a second of the clock', async () => {
    const tenantId = await newTenant({ emails_per_second: 7 })
    for (let round = 0; round < 3; round += 1) await flood(tenantId, 50)
    const { rows } = await database.db.query<{ n: number }>(
      `select count(*)::int as n from sending_recipient where tenant_id = $1
        group by date_trunc('second', created_at)`,
      [tenantId],
    )
    expect(rows.length).toBeGreaterThan(0)
    for (const { n } of rows) expect(n).toBeLessThanOrEqual(7)
  })

  it('never pass storage_bytes_max', async () => {
    const tenantId = await newTenant({ storage_bytes_max: 100_000 })
    const { accepted, paths } = await flood(tenantId, 50)
    const { storage_bytes: bytes } = (await getTenant(deps(), tenantId)).usage
    expect(bytes).toBeLessThanOrEqual(100_000)
    expect(bytes + bytes / accepted).toBeGreaterThan(100_000)
    expect(paths).toEqual(['/quotas/storage_bytes_max'])
  })

  it('do not disturb other tenants in the same commits', async () => {
    const [limited, other, free] = [
      await newTenant({ emails_per_day: 5 }),
      await newTenant({ emails_per_day: 50 }),
      await newTenant(),
    ]
    const [of, ofOther, ofFree] = await Promise.all([
      ...[flood(limited, 50), flood(other, 50), flood(free, 50)],
    ])
    expect([of?.accepted, ofOther?.accepted, ofFree?.accepted]).toEqual([5, 50, 50])
  })
})

describe('a quota', () => {
  it('counts no suppressed recipient, no repetition and no refused request', async () => {
    const tenantId = await newTenant({ emails_per_day: 3 })
    await unsubscribe(database.db, 'to0@example.com', tenantId)
    const first = await send(tenantId, { recipients: 3, key: 'k' })
    expect(await send(tenantId, { recipients: 3, key: 'k' })).toBe(first)
    await expect(
      send(tenantId, { body: { from: { email: 'x@example.com' } } }),
    ).rejects.toMatchObject({ code: 'no_mailer' })
    expect((await getTenant(deps(), tenantId)).usage.emails_today).toBe(2)
    await send(tenantId, { body: { to: [{ email: 'last@example.com' }] } })
    await expect(send(tenantId, { key: 'late', recipients: 2 })).rejects.toMatchObject({
      code: 'quota_exceeded',
    })
    // The key of a refused request is free again.
    await updateTenant(deps(), tenantId, { quotas: { emails_per_day: null } })
    await send(tenantId, { key: 'late', recipients: 2 })
  })

  it('tells when to come again, and of a request that never fits', async () => {
    const tenantId = await newTenant({ emails_per_day: 2, emails_per_second: 100 })
    const error = await send(tenantId, { recipients: 3 }).catch((reason: unknown) => reason)
    const untilMidnightS = (DAY_MS - (Date.now() % DAY_MS)) / 1_000
    expect(error).toMatchObject({
      retryAfterS: expect.closeTo(untilMidnightS, -2),
      errors: [{ path: '/quotas/emails_per_day', message: expect.stringContaining('never fits') }],
    })
  })

  it('of queued recipients has room again when mail has left the queue', async () => {
    const tenantId = await newTenant({ queued_max: 2 })
    const [first] = [await send(tenantId), await send(tenantId, { by: 1 })]
    await expect(send(tenantId)).rejects.toMatchObject({ retryAfterS: 60 })
    await cancelEmail(database.db, tenantId, first ?? '')
    // It was counted a moment ago.
    await expect(send(tenantId)).rejects.toMatchObject({ code: 'quota_exceeded' })
    nowMs += 60_000
    await send(tenantId)
    await expect(send(tenantId, { by: 1 })).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  it('counts mail for later in the queue', async () => {
    const tenantId = await newTenant({ queued_max: 1 })
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    await send(tenantId, { body: { send_at } })
    expect((await getTenant(deps(), tenantId)).usage.queued).toBe(1)
    await expect(send(tenantId)).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  it('counts what was accepted before it was set, and while there was none', async () => {
    const tenantId = await newTenant()
    for (let i = 0; i < 3; i += 1) await send(tenantId)
    await updateTenant(deps(), tenantId, { quotas: { emails_per_day: 4 } })
    expect((await flood(tenantId, 4)).accepted).toBe(1)
    await updateTenant(deps(), tenantId, { quotas: null })
    for (let i = 0; i < 3; i += 1) await send(tenantId)
    await updateTenant(deps(), tenantId, { quotas: { emails_per_day: 8 } })
    expect((await flood(tenantId, 4)).accepted).toBe(1)
  })

  it('counts the sends that were under way when it was set, from the answer on', async () => {
    const tenantId = await newTenant()
    const gate = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const { db } = database
    const open = instances[0]
    instances[0] = createAcceptEmails({
      db: {
        ...db,
        transaction: (work, o) =>
          db.transaction(async (tx: Tx) => {
            const result = await work(tx)
            written.resolve()
            await gate.promise
            return result
          }, o),
      },
      ...{ failpoints: { hit: () => undefined }, disk: noDiskGuard },
      usageCounts: createUsageCounts(deps()),
    })
    const underWay = send(tenantId)
    await written.promise
    let isSet = false
    const setting = updateTenant(deps(), tenantId, { quotas: { emails_per_day: 2 } }).then(() => {
      isSet = true
    })
    await expect.poll(async () => (await getTenant(deps(), tenantId)).quotas.emails_per_day).toBe(2)
    // Time enough to count without the one under way.
    await Promise.race([setting, setTimeout(300)])
    expect(isSet).toBe(false)
    gate.resolve()
    await Promise.all([underWay, setting])
    instances[0] = open as AcceptEmails
    expect((await flood(tenantId, 6)).accepted).toBe(1)
  })

  it('begins anew on the next day', async () => {
    const tenantId = await newTenant({ emails_per_day: 1 })
    await send(tenantId)
    await database.db.query(
      `update tenants_usage set day = day - 1, second = second - 86400 where tenant_id = $1`,
      [tenantId],
    )
    await send(tenantId)
    await expect(send(tenantId)).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  it('is not raised by a count during which the first mail of a day was accepted', async () => {
    const tenantId = await newTenant({ emails_per_day: 3 })
    await database.db.query(
      'update tenants_usage set day = current_date - 1, in_day = 900 where tenant_id = $1',
      [tenantId],
    )
    const counts = createUsageCounts({
      ...deps(),
      async countQueued(...asked) {
        await send(tenantId)
        return countQueued(...asked)
      },
    })
    await counts.freshen(tenantId)
    await flood(tenantId, 5)
    expect(await recipientsOf(tenantId)).toBeLessThanOrEqual(3)
  })

  it('of a second counts what began in it and ends in the next, and nothing of a second long over', async () => {
    const tenantId = await newTenant({ emails_per_second: 5 })
    const charge = (emails: number, second: number) =>
      database.db.transaction((tx) =>
        chargeQuotas(tx, [{ tenantId, emails, bytes: 1 }], new Date(second * 1_000)),
      )
    expect(await charge(4, 2_000_000_000)).toBe(true)
    expect(await charge(1, 2_000_000_001)).toBe(true)
    expect(await charge(2, 2_000_000_000)).toBe(false)
    expect(await charge(1, 2_000_000_000)).toBe(true)
    expect(await charge(1, 2_000_000_000)).toBe(false)
    expect(await charge(1, 1_999_999_999)).toBe(false)
  })

  it('is not known to a tenant without quotas: the statements are those of before', async () => {
    const [free, limited] = [await newTenant(), await newTenant({ emails_per_day: 9 })]
    await send(free)
    const ofFree = statements
    statements = []
    await send(limited)
    expect(ofFree.filter((name) => /tenants|savepoint/.test(name))).toEqual([
      'tenants.read_senders',
    ])
    const more = ['savepoint before_writing', 'tenants.charge_quotas']
    expect(statements.toSorted()).toEqual([...ofFree, ...more].toSorted())
    await updateTenant(deps(), limited, { quotas: { emails_per_day: 90_000 } })
    statements = []
    await send(limited)
    expect(statements.toSorted()).toEqual([...ofFree, 'tenants.charge_quotas'].toSorted())
  })

  it('that is reached against all expectation is not passed: the group is run again', async () => {
    const tenantId = await newTenant({ emails_per_day: 6_000 })
    const { db } = database
    let isFirst = true
    const colliding: Db = {
      ...db,
      transaction: (work, o) =>
        db.transaction(
          (tx: Tx) =>
            work({
              ...tx,
              async query(s, values) {
                const isCharge = typeof s !== 'string' && s.name === 'tenants.charge_quotas'
                if (isCharge && isFirst) {
                  isFirst = false
                  await second.query(
                    'update tenants_usage set in_day = 5999 where tenant_id = $1',
                    [tenantId],
                  )
                }
                return await tx.query(s, values)
              },
            }),
          o,
        ),
    }
    instances[0] = createAcceptEmails({
      ...{ db: colliding, failpoints: { hit: () => undefined }, disk: noDiskGuard },
      usageCounts: createUsageCounts(deps()),
    })
    const results = await Promise.allSettled([
      ...[send(tenantId, { recipients: 2 }), send(tenantId), send(tenantId)],
    ])
    expect(results.map(({ status }) => status).toSorted()).toEqual([
      ...['fulfilled', 'rejected', 'rejected'],
    ])
    expect(await recipientsOf(tenantId)).toBe(1)
  })

  it('that a flood passes is refused without the database, until the quota may have changed', async () => {
    const tenantId = await newTenant({ emails_per_day: 3 })
    await send(tenantId, { recipients: 2 })
    await flood(tenantId, 2 * askedAnywayMax, { recipients: 2 })
    const asked = statements.length
    await expect(send(tenantId, { recipients: 2 })).rejects.toMatchObject({
      code: 'quota_exceeded',
      errors: [{ path: '/quotas/emails_per_day' }],
    })
    expect(statements.length).toBe(asked)
    const [first] = instances
    expect(first?.refuseEarly(tenantId, false)).toBeUndefined()
    // It fits, and so the database is asked.
    await send(tenantId)
    await flood(tenantId, 2 * askedAnywayMax)
    expect(first?.refuseEarly(tenantId, false)).toMatchObject({
      code: 'quota_exceeded',
      status: 429,
    })
    // By another process.
    await updateTenant(deps(), tenantId, { quotas: { emails_per_day: 4 } })
    nowMs += 1_000
    expect(first?.refuseEarly(tenantId, false)).toBeUndefined()
    await send(tenantId)
  })

  it('of an unknown tenant is none', async () => {
    const tenantId = newId('tn')
    await addMailer(database.db, { tenantId })
    await send(tenantId)
  })
})

describe('test mail', () => {
  it('uses up none of the quotas of recipients, and counts in no usage but that of storage', async () => {
    const tenantId = await newTenant({ emails_per_day: 1, emails_per_second: 1, queued_max: 1 })
    await send(tenantId, { isTest: true, recipients: 30 })
    await send(tenantId, { isTest: true, recipients: 30 })
    const { usage } = await getTenant(deps(), tenantId)
    expect(usage).toMatchObject({ emails_today: 0, queued: 0 })
    expect(usage.storage_bytes).toBeGreaterThan(60_000)
    await send(tenantId)
    await expect(send(tenantId)).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  it('has a limit of its own, which real mail does not know', async () => {
    const tenantId = await newTenant()
    await database.db.query(
      `insert into platform_counter (tenant_id, subject, span, at, name, n)
       values ($1, '', 'hour', date_trunc('hour', now()), 'test_recipients', 9999)`,
      [tenantId],
    )
    const beyond = { isTest: true, recipients: 2 }
    await expect(send(tenantId, beyond)).rejects.toMatchObject({
      code: 'quota_exceeded',
      errors: [{ path: '/quotas/test_emails_per_day' }],
    })
    await send(tenantId, { isTest: true })
    await flood(tenantId, 2 * askedAnywayMax, { isTest: true })
    const [first] = instances
    expect(first?.refuseEarly(tenantId, true)).toMatchObject({ code: 'quota_exceeded' })
    expect(first?.refuseEarly(tenantId, false)).toBeUndefined()
    await send(tenantId)
  })

  it('keeps to its limit when much is asked for at once', async () => {
    const tenantId = await newTenant()
    const asked = Array.from({ length: 16 }, () =>
      send(tenantId, { isTest: true, recipients: 900 }),
    )
    const answers = await Promise.allSettled(asked)
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(11)
    for (const answer of answers)
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ errors: [{ path: '/quotas/test_emails_per_day' }] })
  })
})
