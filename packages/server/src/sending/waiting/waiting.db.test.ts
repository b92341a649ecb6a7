/**
 * retryEmails and cancelEmails (docs/reference/sending.md#many-at-once) over the real HTTP application, with a
 * sender and a mail server.
 */
import { cancelEmailsAnswer, retryEmailsAnswer } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { type BulkCallOptions, useBulkOperations } from '../../../test/bulk-operations.ts'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import type { ChangeWaitingDeps } from './change-waiting.ts'
import { waitingRoutes } from './routes.ts'

const world = useSending()
const { woken, serve, statuses, shorts, ...bulk } = useBulkOperations<ChangeWaitingDeps>(
  world,
  (app, parts, change) => waitingRoutes(app, { ...parts, ...change }),
)
const LATER = '451 4.3.0 busy'
const HOUR_MS = 3_600_000
const operations = {
  retry: { path: '/v1/email/retry', shape: retryEmailsAnswer },
  cancel: { path: '/v1/email/cancel', shape: cancelEmailsAnswer },
}

const call = (what: keyof typeof operations, payload: unknown, o?: BulkCallOptions) =>
  bulk.call(operations[what], payload, o)
const counts = async (...args: Parameters<typeof call>) => {
  const { status, body } = await call(...args)
  expect({ status, body }).toMatchObject({ status: 202 })
  return [body.matched, body.changed]
}
const serving = (reply = LATER) => bulk.serveMail(reply)

/** Waits for the second attempt, in an hour. */
async function deferred(change: Parameters<typeof accept>[1] = {}) {
  const refId = await accept(world.db, change)
  await world.sender({ retryScheduleMs: [HOUR_MS] }).runOnce()
  return refId
}
const many = (count: number, prefix = 'r') =>
  Array.from({ length: count }, (_, i) => ({ email: `${prefix}${i}@example.com` }))

describe('a retried recipient', () => {
  it('is sent to at once, under the next number and within the same budget', async () => {
    const { script, mailerId, server } = await serving()
    const refId = await deferred({ settings: { max_attempts: 3 } })
    expect(await statuses(refId)).toEqual(['deferred'])
    const sender = world.sender()
    await sender.runOnce()
    expect(await attemptsOf(world.db, refId)).toHaveLength(1)

    expect(await call('retry', { ref_ids: [refId] })).toMatchObject({
      status: 202,
      body: { success: true, message: 'Emails Retried', matched: 1, changed: 1 },
    })
    expect(woken).toMatchObject([{ tenantId: 'tn_a', mailerId, isBulk: true }])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 2, wait_s: 0 }])
    script.reply = undefined
    await drain(world.db, sender)
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, max_attempts: 3 },
      { attempt: 2, max_attempts: 3 },
    ])
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(server.messages).toHaveLength(1)
  })

  it('is not matched again while it is due already', async () => {
    await serving()
    await deferred()
    expect(await counts('retry', { filter: {} })).toEqual([1, 1])
    expect(await counts('retry', { filter: {} })).toEqual([0, 0])
  })

  it('ends with its last attempt when every retry fails', async () => {
    await serving()
    const refId = await deferred({ settings: { max_attempts: 2 } })
    await counts('retry', { filter: {} })
    await drain(world.db, world.sender())
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 final'])
    expect(await statuses(refId)).toEqual(['failed'])
    expect(await counts('retry', { ref_ids: [refId] })).toEqual([0, 0])
  })

  it('goes out once its inactive mailer is active again', async () => {
    const { script } = await serving()
    const refId = await deferred()
    await world.db.query(`update mailers_mailer set state = 'disabled'`)
    expect(await counts('retry', { filter: { status: 'deferred' } })).toEqual([0, 0])
    expect(await counts('retry', { filter: { status: 'held' } })).toEqual([1, 1])
    script.reply = undefined
    await world.db.query(`update mailers_mailer set state = 'active'`)
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual(['delivered'])
  })
})

describe('a cancelled recipient', () => {
  it('is rejected without an event, whatever it waited for', async () => {
    const { script, server } = await serving()
    const waits = await deferred()
    const queued = await accept(world.db, { to: many(2) })
    const scheduled = await accept(world.db, {
      send_at: new Date(Date.now() + HOUR_MS).toISOString(),
    })
    expect(await counts('cancel', { filter: {}, dry_run: true })).toEqual([4, 0])
    expect(await call('cancel', { filter: {} })).toMatchObject({
      status: 202,
      body: { message: 'Emails Cancelled', matched: 4, changed: 4 },
    })
    script.reply = undefined
    await world.sender().runOnce()
    expect(server.messages).toEqual([])
    expect(await queueOf(world.db)).toEqual([])
    expect((await world.db.query('select from sending_scheduled')).rowCount).toBe(0)
    for (const refId of [waits, queued, scheduled])
      expect(new Set(await statuses(refId))).toEqual(new Set(['rejected']))
    expect(await recipientsOf(world.db, waits)).toMatchObject([{ attempts: 1, failed_reason: '' }])
    expect((await recipientsOf(world.db, waits))[0]?.message_id).not.toBe('')
    expect((await recipientsOf(world.db, queued))[0]).toMatchObject({ attempts: 0, message_id: '' })
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry'])
    expect(await counts('cancel', { filter: {} })).toEqual([0, 0])
    const counted = await world.db.query(
      `select sum(e.n)::int as n, count(e.groups ->> 'recipient_domain')::int > 0 as is_grouped
         from platform_counter_change c,
              json_to_recordset(c.counts) as e (name text, n integer, groups json)
        where e.name = 'rejected'`,
    )
    expect(counted.rows).toEqual([{ n: 4, is_grouped: true }])
  })

  it('is found by its status, and cannot be rescued', async () => {
    await serving()
    await deferred()
    await accept(world.db)
    await accept(world.db, { send_at: new Date(Date.now() + HOUR_MS).toISOString() })
    const of = (status: string) => counts('cancel', { filter: { status }, dry_run: true })
    expect(await of('deferred')).toEqual([1, 0])
    expect(await of('queued')).toEqual([1, 0])
    expect(await of('scheduled')).toEqual([1, 0])
    expect(await of('held')).toEqual([0, 0])
    await world.db.query(`update mailers_mailer set state = 'disabled'`)
    expect(await of('held')).toEqual([2, 0])
    expect(await of('queued')).toEqual([0, 0])
    expect(await of('scheduled')).toEqual([1, 0])
  })

  it('is left alone while an attempt is under way, and is found when its process is gone', async () => {
    await serving()
    const refId = await accept(world.db)
    const set = (phase: string, ahead: string) =>
      world.db.query(
        `update sending_queue set phase = $1, started_at = now(), due_at = now() + $2::interval`,
        [phase, ahead],
      )
    for (const [phase, ahead] of [
      ['sending', '1 minute'],
      ['dot', '1 minute'],
      ['dot', '-1 minute'],
    ] as const) {
      await set(phase, ahead)
      expect(await counts('cancel', { ref_ids: [refId] })).toEqual([0, 0])
      expect(await counts('retry', { ref_ids: [refId] })).toEqual([0, 0])
    }
    await set('sending', '-1 minute')
    expect(await counts('cancel', { ref_ids: [refId] })).toEqual([1, 1])
    expect(await statuses(refId)).toEqual(['rejected'])
  })

  it('is found although it moves into the queue just then', async () => {
    await serving()
    const refId = await accept(world.db, { send_at: new Date(Date.now() + HOUR_MS).toISOString() })
    let cancelled: Promise<number[]> | undefined
    await world.db.transaction(async (tx) => {
      await tx.query(
        `with due as (delete from sending_scheduled returning *)
         insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
                                    expires_at, content_bytes)
         select tenant_id, ref_id, n, mailer_id, bucket, now(), max_attempts, expires_at,
                content_bytes from due`,
      )
      cancelled = counts('cancel', { ref_ids: [refId] })
      for (;;) {
        const { rowCount } = await tx.query(
          `select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
        )
        if (rowCount > 0) break
      }
    })
    expect(await cancelled).toEqual([1, 1])
    expect(await statuses(refId)).toEqual(['rejected'])
    expect(await queueOf(world.db)).toEqual([])
  })
})

describe.each(['retry', 'cancel'] as const)('%s', (what) => {
  it('passes over what has ended, a time ahead, and other tenants', async () => {
    const { script } = await serving('')
    await accept(world.db)
    await drain(world.db, world.sender())
    script.reply = '550 5.7.1 no'
    await accept(world.db)
    await drain(world.db, world.sender())
    expect(await counts(what, { filter: {} })).toEqual([0, 0])
    script.reply = LATER
    const refId = await deferred()
    if (what === 'retry') {
      await accept(world.db, { send_at: new Date(Date.now() + HOUR_MS).toISOString() })
      await accept(world.db)
    }
    expect(await counts(what, { filter: {} }, { key: 'b' })).toEqual([0, 0])
    expect(await counts(what, { ref_ids: [refId] }, { key: 'b' })).toEqual([0, 0])
    expect(await statuses(refId)).toEqual(['deferred'])
    expect(await counts(what, { filter: {} })).toEqual([1, 1])
  })

  it('filters by each field of the filter', async () => {
    const { mailerId } = await serving()
    const first = await deferred({
      to: [{ email: 'ada@example.com' }],
      bcc: [{ email: 'bob@example.net' }],
      subject: 'Spring offer',
      campaign_id: 'spring',
    })
    const second = await deferred({ subject: 'Receipt' })
    const of = (filter: object, more: object = {}) =>
      counts(what, { filter, ...more, dry_run: true })
    expect(await of({})).toEqual([3, 0])
    expect(await of({ email: 'ADA@example.com' })).toEqual([2, 0])
    expect(await of({ recipientDomain: 'example.net' })).toEqual([1, 0])
    expect(await of({ refId: second })).toEqual([1, 0])
    expect(await of({ refId: second }, { ref_ids: [first] })).toEqual([0, 0])
    expect(await of({ refId: 'x' })).toEqual([0, 0])
    expect(await of({ recipientType: 'bcc' })).toEqual([1, 0])
    expect(await of({ subject: 'SPRING' })).toEqual([2, 0])
    expect(await of({ campaignId: 'spring' })).toEqual([2, 0])
    expect(await of({ mailerId })).toEqual([3, 0])
    expect(await of({ mailerId: 'smtp_1' })).toEqual([0, 0])
    const [reason] = (await recipientsOf(world.db, first)).map((one) => one.failed_reason)
    expect(await of({ failedReason: reason })).toEqual([3, 0])
    expect(await of({ failedReason: 'The mailbox is full' })).toEqual([0, 0])
    expect(await of({ startCreatedAt: new Date(Date.now() + HOUR_MS).toISOString() })).toEqual([
      0, 0,
    ])
    expect(await of({ endCreatedAt: new Date(Date.now() - HOUR_MS).toISOString() })).toEqual([0, 0])
    const late = new Date(Date.now() - HOUR_MS).toISOString()
    expect(await of({ startCreatedAt: late })).toEqual([3, 0])
  })

  it('goes page by page through what one call does not reach, each recipient once', async () => {
    await serving()
    const first = await deferred({ to: many(11) })
    await deferred({ to: many(4, 's') })
    const on = serve({ bounds: { walkedMax: 7, matchedMax: 3, pieceMax: 2 } })
    for (const body of [{ filter: {} }, { ref_ids: [first] }, { ref_ids: [first], filter: {} }]) {
      let matched = 0
      let page: { pageToken?: string } | undefined = {}
      for (let calls = 0; page !== undefined; calls++) {
        expect(calls).toBeLessThan(20)
        const answer = await call(what, { ...body, dry_run: true, ...page }, { on })
        matched += answer.body.matched
        page = answer.body.nextPageToken && { pageToken: answer.body.nextPageToken }
      }
      expect(matched).toBe('ref_ids' in body ? 11 : 15)
    }
    let changed = 0
    let page: { pageToken?: string } | undefined = {}
    while (page !== undefined) {
      const { body } = await call(what, { filter: {}, ...page }, { on })
      changed += body.changed
      page = body.nextPageToken && { pageToken: body.nextPageToken }
    }
    expect(changed).toBe(15)
    expect(await counts(what, { filter: {} })).toEqual([0, 0])
  })

  it('changes each recipient once, also with concurrent calls', async () => {
    await serving()
    await deferred({ to: many(60) })
    const on = serve({ bounds: { walkedMax: 1_000, matchedMax: 1_000, pieceMax: 7 } })
    const results = await Promise.all([1, 2, 3, 4].map(() => counts(what, { filter: {} }, { on })))
    expect(results.reduce((sum, [, changed]) => sum + (changed ?? 0), 0)).toBe(60)
  })

  it.each([
    [{}, '/filter'],
    [{ filter: { unknown: 1 } }, '/filter/unknown'],
    [{ filter: { status: 'failed' } }, '/filter/status'],
    [{ filter: { email: 'nobody' } }, '/filter/email'],
    [{ filter: { startCreatedAt: 'yesterday' } }, '/filter/startCreatedAt'],
    [{ ref_ids: [] }, '/ref_ids'],
    [{ ref_ids: ['x'] }, '/ref_ids/0'],
    [{ filter: {}, pageToken: 'x' }, '/pageToken'],
    [{ filter: {}, mailer_id: 'x' }, '/mailer_id'],
    [{ filter: {}, dry_run: 'yes' }, '/dry_run'],
  ])('answers 400 to %j', async (payload, path) => {
    expect(await call(what, payload)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
  })

  it('refuses a token of another body, and one of the other operation', async () => {
    await serving()
    await deferred({ to: many(5) })
    const on = serve({ bounds: { walkedMax: 3, matchedMax: 3, pieceMax: 2 } })
    const { body } = await call(what, { filter: {}, dry_run: true }, { on })
    const pageToken = body.nextPageToken
    const other = what === 'retry' ? 'cancel' : 'retry'
    for (const refused of [
      call(what, { filter: { status: 'held' }, dry_run: true, pageToken }, { on }),
      call(what, { filter: {}, pageToken }, { on }),
      call(other, { filter: {}, dry_run: true, pageToken }, { on }),
    ])
      expect(await refused).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/pageToken' }] },
      })
  })

  it('needs the scope send', async () => {
    expect((await call(what, { filter: {} }, { key: 'reader' })).status).toBe(403)
    expect((await call(what, { filter: {} }, { key: 'nobody' })).status).toBe(401)
    expect((await call(what, { filter: {} }, { key: 'sender' })).status).toBe(202)
  })
})

it('keeps the record exact while senders, retries and cancels race', async () => {
  let turn = 0
  // Accepts every sixth, and refuses a few for good: some mail lasts until all is cancelled.
  const server = await world.serve((now) => {
    if (now.phase !== 'rcpt') return undefined
    turn += 1
    if (turn % 11 === 0) return '550 5.7.1 no'
    return turn % 6 === 0 ? undefined : LATER
  })
  await addMailer(world.db, { port: server.port })
  const refIds: string[] = []
  for (let i = 0; i < 4; i++)
    refIds.push(await accept(world.db, { to: many(50, `e${i}x`), settings: { max_attempts: 40 } }))
  const senders = [0, 1].map(() => world.sender({ retryScheduleMs: [HOUR_MS] }))
  const on = serve({ bounds: { walkedMax: 1_000, matchedMax: 1_000, pieceMax: 9 } })
  let isOver = false
  let cancelled = 0
  const sending = senders.map(async (sender) => {
    while (!isOver) await sender.runOnce()
  })
  const retrying = (async () => {
    while (!isOver) await counts('retry', { filter: {} }, { on })
  })()
  for (let i = 0; (await queueOf(world.db)).length > 0; i++) {
    expect(i).toBeLessThan(500)
    const filter = i < 16 ? { email: `e${i % 4}x${i}@example.com` } : {}
    const [, changed = 0] = await counts('cancel', { filter }, { on })
    cancelled += changed
  }
  isOver = true
  await Promise.all([...sending, retrying])

  let rejected = 0
  for (const refId of refIds) {
    const recipients = await recipientsOf(world.db, refId)
    const attempts = await attemptsOf(world.db, refId)
    const events = await eventsOf(world.db, refId)
    for (const [n, { email, status, attempts: count }] of recipients.entries()) {
      const own = attempts.filter((one) => one.n === n)
      expect(own.map(({ attempt }) => attempt)).toEqual(own.map((_, i) => i + 1))
      expect(count).toBe(own.length)
      const told = events.filter(({ details }) => details.email[0] === email).map(inShort)
      expect(told).toHaveLength(own.length)
      const last = told.at(-1) ?? ''
      if (status === 'delivered') expect(last).toBe('MAIL_DELIVERED')
      else if (status === 'failed') expect(last).toMatch(/ final$/)
      else {
        expect(status).toBe('rejected')
        expect(told.every((one) => one.endsWith(' retry'))).toBe(true)
        rejected += 1
      }
    }
  }
  expect(rejected).toBe(cancelled)
  expect(rejected).toBeGreaterThan(0)
}, 60_000)
