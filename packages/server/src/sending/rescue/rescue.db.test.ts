/**
 * rescueEmails (docs/reference/sending.md#rescue) over the real HTTP application, with a sender and a mail
 * server.
 */
import { rescueEmailsAnswer } from '@postrider/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BulkCallOptions, useBulkOperations } from '../../../test/bulk-operations.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import {
  accept,
  acceptTogether,
  attemptsOf,
  drain,
  eventsOf,
  noUsageCounts,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, trackingUrls, unsubscribe } from '../../../test/sending.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { reportStatuses } from '../record/report-store.ts'
import { findLink } from '../tracking/store.ts'
import type { RescueDeps } from './rescue-emails.ts'
import { rescueRoutes } from './routes.ts'

const DAY_MS = 86_400_000
const REFUSED = '550 5.7.1 not now'
const REFUSAL = "The message was rejected by the receiving server's policy"

const world = useSending()
const { woken, serve, statuses, shorts, ...bulk } = useBulkOperations<RescueDeps>(
  world,
  (app, parts, change) =>
    rescueRoutes(app, {
      ...{ ...parts, clock: { now: () => new Date() }, retentionMs: 30 * DAY_MS },
      contentRetentionMs: 30 * DAY_MS,
      ...{ usageCounts: noUsageCounts, ...change },
    }),
)
beforeEach(() => emptyTables(world.db, 'suppressions_address'))

const rescue = (payload: unknown, o?: BulkCallOptions) =>
  bulk.call({ path: '/v1/email/rescue', shape: rescueEmailsAnswer }, payload, o)
const counts = async (...args: Parameters<typeof rescue>) => {
  const { status, body } = await rescue(...args)
  expect({ status, body }).toMatchObject({ status: 202 })
  return [body.matched, body.rescued]
}
const refusing = () => bulk.serveMail(REFUSED)

/** An email all of whose recipients were refused for good. */
async function failed(change: Parameters<typeof accept>[1] = {}) {
  const refId = await accept(world.db, change)
  await drain(world.db, world.sender())
  return refId
}

describe('a rescued recipient', () => {
  it('continues the attempt numbers with a new budget, and ends in one terminal event', async () => {
    const { script, mailerId, server } = await refusing()
    const refId = await failed({ settings: { max_attempts: 3, expires_in: '6h' } })
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    const before = await recipientsOf(world.db, refId)

    expect(await rescue({ ref_ids: [refId] })).toMatchObject({
      status: 202,
      body: { success: true, message: 'Emails Rescued', matched: 1, rescued: 1, uncertain: 0 },
    })
    expect(woken).toMatchObject([{ tenantId: 'tn_a', mailerId }])
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'queued', attempts: 1, failed_reason: '', message_id: before[0]?.message_id },
    ])
    const { rows } = await world.db.query(
      `select attempt, max_attempts, mailer_id, content_bytes > 50 and content_bytes < 5000 as is_small,
              round(extract(epoch from expires_at - now()) / 3600)::int as hours
         from sending_queue`,
    )
    expect(rows).toEqual([
      { attempt: 2, max_attempts: 6, mailer_id: mailerId, is_small: true, hours: 6 },
    ])

    script.reply = '451 4.3.0 busy'
    const sender = world.sender()
    for (let i = 0; i < 2; i++) await sender.runOnce()
    script.reply = undefined
    await drain(world.db, sender)
    const seen = await shorts()
    expect(seen[0]).toBe('SMTP_ERROR 1 final')
    expect(seen.at(-1)).toBe('MAIL_DELIVERED')
    expect(seen.slice(1, -1).every((one) => / \d retry$/.test(one))).toBe(true)
    const attempts = await attemptsOf(world.db, refId)
    expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, i) => i + 1))
    expect(attempts.slice(1).every(({ max_attempts }) => max_attempts === 6)).toBe(true)
    expect(await statuses(refId)).toEqual(['delivered'])
    expect(server.messages.map(({ messageId }) => messageId)).toEqual([before[0]?.message_id])
  })

  it('may fail for good and be rescued again; each series has its own end', async () => {
    await refusing()
    const refId = await failed()
    for (const attempt of [2, 3]) {
      expect(await counts({ filter: { refId } })).toEqual([1, 1])
      await drain(world.db, world.sender())
      expect(await shorts(refId)).toHaveLength(attempt)
    }
    expect(await shorts(refId)).toEqual([1, 2, 3].map((n) => `SMTP_ERROR ${n} final`))
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'failed', attempts: 3, failed_reason: REFUSAL },
    ])
    expect((await attemptsOf(world.db, refId)).map((a) => a.max_attempts)).toEqual([5, 10, 15])
  })

  /** Taken by its server, and reported as failed later, as a relay provider does. */
  async function failedLater(change: Parameters<typeof accept>[1] = {}) {
    const refId = await accept(world.db, change)
    await drain(world.db, world.sender())
    const ended = await recipientsOf(world.db, refId)
    expect(ended.every(({ status }) => status === 'delivered')).toBe(true)
    const reports = ended.map(
      (_, n) => ({ refId, n, status: 'failed', failedReason: 'x' }) as const,
    )
    await world.db.transaction((tx) => reportStatuses(tx, 'tn_a', reports))
    return refId
  }

  it('is sent once more when it was taken and then reported as failed', async () => {
    const { script, server } = await refusing()
    script.reply = undefined
    const refId = await failedLater()
    expect(await counts({ ref_ids: [refId], dry_run: true })).toEqual([1, 0])
    expect(await counts({ filter: { status: 'expired' } })).toEqual([0, 0])
    expect(await counts({ filter: { status: 'failed' } })).toEqual([1, 1])
    expect(await counts({ filter: {} })).toEqual([0, 0])
    await drain(world.db, world.sender())
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'delivered', attempts: 2, failed_reason: '' },
    ])
    expect(server.messages).toHaveLength(2)
    expect(await counts({ filter: {} })).toEqual([0, 0])
  })

  it('is found once and rescued again when its new attempts fail', async () => {
    const { script } = await refusing()
    script.reply = undefined
    const refId = await failedLater()
    script.reply = REFUSED
    for (const attempts of [2, 3]) {
      expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
      await drain(world.db, world.sender())
      expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'failed', attempts }])
    }
  })

  it('is found page by page, however it failed', async () => {
    const { script } = await refusing()
    const names = (prefix: string) =>
      Array.from({ length: 4 }, (_, i) => ({ email: `${prefix}${i}@example.com` }))
    for (const turn of [0, 1, 2]) {
      await failed({ to: names(`a${turn}`) })
      script.reply = undefined
      await failedLater({ to: names(`b${turn}`) })
      script.reply = REFUSED
    }
    const on = serve({ bounds: { walkedMax: 5, matchedMax: 3, pieceMax: 2 } })
    let rescued = 0
    let page: { readonly pageToken?: string } | undefined = {}
    while (page !== undefined) {
      const { body } = await rescue({ filter: {}, ...page }, { on })
      rescued += body.rescued
      page = body.nextPageToken && { pageToken: body.nextPageToken }
    }
    expect(rescued).toBe(24)
    expect(await queueOf(world.db)).toHaveLength(24)
  })

  it('is tried again after it expired', async () => {
    const { script } = await refusing()
    const refId = await accept(world.db)
    await world.db.query(`update sending_queue set expires_at = now() - interval '1 s'`)
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual(['expired'])
    script.reply = undefined
    expect(await counts({ filter: { status: 'failed' } })).toEqual([0, 0])
    expect(await counts({ filter: { status: 'expired' } })).toEqual([1, 1])
    await drain(world.db, world.sender())
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 final', 'MAIL_DELIVERED'])
  })

  it('a rescued recipient of a scheduled email has the full time until expiry, counted from the rescue', async () => {
    const { script } = await refusing()
    const at = Date.now() + 20 * 86_400_000
    const refId = await accept(world.db, {
      send_at: new Date(at).toISOString(),
      settings: { expires_in: '6h' },
    })
    await world.db.query('update sending_scheduled set due_at = now()')
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual(['failed'])
    script.reply = undefined
    expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
    const { rows } = await world.db.query(
      'select round(extract(epoch from expires_at - now()) / 3600)::int as hours from sending_queue',
    )
    expect(rows).toEqual([{ hours: 6 }])
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual(['delivered'])
  })

  it('starts its retention anew, and keeps the targets of its tracked links', async () => {
    const { script, server } = await refusing()
    const content = [{ type: 'text/html' as const, value: '<a href="https://a.example/">a</a>' }]
    const refId = await failed({ content, settings: { click_tracking: true } })
    const queuedSince = async () =>
      (await world.db.query('select queued_at is not null as is_late from sending_email')).rows
    await rescue({ ref_ids: [refId], dry_run: true })
    expect(await queuedSince()).toEqual([{ is_late: false }])
    script.reply = undefined
    expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
    expect(await queuedSince()).toEqual([{ is_late: true }])
    await drain(world.db, world.sender())
    const who = { tenantId: 'tn_a', refId, n: 0 }
    const raw = server.messages[0]?.raw.toString().replaceAll('=\r\n', '')
    expect(raw).toContain(trackingUrls.clickUrl(who, 0))
    expect(await findLink(world.db, who, 0)).toBe('https://a.example/')
  })

  it('goes through another mailer on request', async () => {
    await refusing()
    const other = await world.serve()
    const { mailerId } = await addMailer(world.db, { port: other.port, email: 'b@example.com' })
    const refId = await failed()
    expect(await counts({ ref_ids: [refId], mailer_id: mailerId })).toEqual([1, 1])
    expect(woken).toMatchObject([{ mailerId }])
    await drain(world.db, world.sender())
    expect(other.messages).toHaveLength(1)
    const [, delivered] = await eventsOf(world.db, refId)
    expect(delivered).toMatchObject({ event: 'MAIL_DELIVERED', details: { mailer_id: mailerId } })
  })

  it('is counted as uncertain, also by a dry run, when its last attempt may have delivered it', async () => {
    await refusing()
    const refId = await failed({ cc: [{ email: 'bob@example.com' }] })
    await world.db.query(
      `update sending_attempt set outcome = 'uncertain' where ref_id = $1 and n = 1`,
      [refId],
    )
    const body = { filter: { status: 'failed' } }
    expect((await rescue({ ...body, dry_run: true })).body).toMatchObject({
      ...{ matched: 2, rescued: 0, uncertain: 1 },
    })
    expect((await rescue(body)).body).toMatchObject({ matched: 2, rescued: 2, uncertain: 1 })
  })

  it('a rescued recipient of a large email is sent with its content', async () => {
    const { script, server } = await refusing()
    const content = Buffer.alloc(300_000, 'abc').toString('base64')
    const refId = await failed({
      attachments: [{ filename: 'a.bin', content }],
      cc: [{ email: 'bob@example.com' }],
    })
    script.reply = undefined
    expect(await counts({ ref_ids: [refId] })).toEqual([2, 2])
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual(['delivered', 'delivered'])
    expect(server.messages).toHaveLength(2)
  })

  it('is not sent to an address that was suppressed meanwhile', async () => {
    await refusing()
    const refId = await failed()
    await unsubscribe(world.db, 'ada@example.com')
    expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
    await drain(world.db, world.sender())
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'suppressed', attempts: 1 },
    ])
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
  })

  it('cannot be finished with a claim of the earlier series', async () => {
    await refusing()
    const refId = await accept(world.db)
    await world.db.query('update sending_queue set fence = 7000')
    await drain(world.db, world.sender())
    expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
    const { rows } = await world.db.query<{ fence: string }>('select fence from sending_queue')
    expect(Number(rows[0]?.fence)).toBeGreaterThan(7_100)
  })
})

describe('a rescue', () => {
  it('takes every failed recipient once, also with concurrent calls', async () => {
    const { script } = await refusing()
    const to = Array.from({ length: 60 }, (_, i) => ({ email: `r${i}@example.com` }))
    const refId = await failed({ to })
    const on = serve()
    const answers = await Promise.all([1, 2, 3, 4].map(() => rescue({ filter: {} }, { on })))
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202])
    const rescued = answers.reduce((sum, { body }) => sum + body.rescued, 0)
    expect(rescued).toBe(60)
    expect(await queueOf(world.db)).toHaveLength(60)
    expect(await counts({ filter: {} })).toEqual([0, 0])
    script.reply = undefined
    await drain(world.db, world.sender())
    expect(await counts({ filter: {} })).toEqual([0, 0])
    expect((await shorts(refId)).filter((one) => one === 'MAIL_DELIVERED')).toHaveLength(60)
  })

  it('leaves out delivered, deferred and suppressed recipients, and other tenants', async () => {
    const server = await world.serve((now) => {
      if (now.phase !== 'rcpt') return undefined
      if (now.line?.includes('later@')) return '451 4.3.0 busy'
      return now.line?.includes('never@') ? REFUSED : undefined
    })
    await addMailer(world.db, { port: server.port })
    await unsubscribe(world.db, 'gone@example.com')
    const to = ['well', 'later', 'never', 'gone'].map((name) => ({ email: `${name}@example.com` }))
    const refId = await accept(world.db, { to })
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    expect(await statuses(refId)).toEqual(['delivered', 'deferred', 'failed', 'suppressed'])
    expect(await counts({ filter: {} }, { key: 'b' })).toEqual([0, 0])
    expect(await counts({ ref_ids: [refId] }, { key: 'b' })).toEqual([0, 0])
    expect(await counts({ ref_ids: [refId], dry_run: true })).toEqual([1, 0])
    expect(await queueOf(world.db)).toHaveLength(1)
    expect(await counts({ ref_ids: [refId] })).toEqual([1, 1])
    expect((await queueOf(world.db)).map(({ n, attempt }) => [n, attempt])).toEqual([
      [1, 2],
      [2, 2],
    ])
  })

  it('filters by each field of the filter', async () => {
    const { mailerId } = await refusing()
    const first = await failed({
      to: [{ email: 'Ada@Exämple.com' }],
      bcc: [{ email: 'bob@example.com' }],
      subject: 'Spring ÄPFEL offer',
      campaign_id: 'spring',
    })
    const second = await failed({ subject: 'Receipt' })
    const day = dayAt(Date.now())
    const of = (filter: object, more: object = {}) => counts({ filter, ...more, dry_run: true })
    expect(await of({})).toEqual([3, 0])
    expect(await of({ email: 'ada@xn--exmple-cua.com' })).toEqual([1, 0])
    expect(await of({ email: 'nobody@example.com' })).toEqual([0, 0])
    expect(await of({ recipientDomain: 'EXÄMPLE.com' })).toEqual([1, 0])
    expect(await of({ recipientDomain: 'example.com' })).toEqual([2, 0])
    expect(await of({ refId: second })).toEqual([1, 0])
    expect(await of({ refId: second }, { ref_ids: [first] })).toEqual([0, 0])
    for (const refId of ['', 'x', 'x'.repeat(500)]) expect(await of({ refId })).toEqual([0, 0])
    expect(await of({ recipientType: 'bcc' }, { ref_ids: [first] })).toEqual([1, 0])
    expect(await of({ subject: 'äpfel' })).toEqual([2, 0])
    expect(await of({ campaignId: 'spring' })).toEqual([2, 0])
    expect(await of({ campaignId: 'Spring' })).toEqual([0, 0])
    expect(await of({ mailerId })).toEqual([3, 0])
    expect(await of({ mailerId: 'smtp_1' })).toEqual([0, 0])
    expect(await of({ failedReason: REFUSAL })).toEqual([3, 0])
    expect(await of({ failedReason: 'The mailbox is full' })).toEqual([0, 0])
    expect(await of({ status: 'expired' })).toEqual([0, 0])
    expect(await of({ startCreatedAt: day, endCreatedAt: day })).toEqual([3, 0])
    expect(await of({ endCreatedAt: dayAt(Date.now() - DAY_MS) })).toEqual([0, 0])
    expect(await of({ startCreatedAt: dayAt(Date.now() + DAY_MS) })).toEqual([0, 0])
    const { rows } = await world.db.query<{ created_at: Date }>(
      'select created_at from sending_email where ref_id = $1',
      [second],
    )
    const at = rows[0]?.created_at.getTime() ?? 0
    expect(await of({ startCreatedAt: new Date(at).toISOString() })).toEqual([1, 0])
    expect(await of({ endCreatedAt: new Date(at - 1).toISOString() })).toEqual([2, 0])
  })

  it('says in its message what it did', async () => {
    await refusing()
    await failed()
    const messageOf = async (body: object) => (await rescue(body)).body.message
    const none = { recipientDomain: 'nowhere.example.com' }
    expect(await messageOf({ filter: none, dry_run: true })).toBe('Nothing Was Rescued')
    expect(await messageOf({ filter: {}, dry_run: true })).toBe('Emails Matched, None Rescued Yet')
    expect(await messageOf({ filter: {} })).toBe('Emails Rescued')
    expect(await messageOf({ filter: {} })).toBe('Nothing Was Rescued')
  })

  it('leaves out what retention may be about to remove', async () => {
    await refusing()
    const refId = await failed()
    const at = (ageMs: number) =>
      serve({ clock: { now: () => new Date(Date.now() + ageMs) }, contentRetentionMs: 10 * DAY_MS })
    const body = { ref_ids: [refId], dry_run: true }
    expect(await counts(body, { on: at(9 * DAY_MS) })).toEqual([1, 0])
    expect(await counts({ filter: {}, dry_run: true }, { on: at(11 * DAY_MS) })).toEqual([0, 0])
  })

  it('says so where it names emails whose content was removed, and sends others', async () => {
    await refusing()
    const refId = await failed()
    const on = serve({
      clock: { now: () => new Date(Date.now() + 3 * DAY_MS) },
      contentRetentionMs: DAY_MS,
    })
    const { status, body } = await rescue({ ref_ids: [refId] }, { on })
    expect({ status, body }).toMatchObject({
      status: 410,
      body: { code: 'content_removed', message: expect.stringContaining(refId) },
    })
    expect(await statuses(refId)).toEqual(['failed'])
    const unknown = await counts({ ref_ids: [ulidAtTime(Date.now())] }, { on })
    expect(unknown).toEqual([0, 0])
    const elsewhere = await rescue({ ref_ids: [refId] }, { on, key: 'b' })
    expect(elsewhere).toMatchObject({ status: 202, body: { matched: 0 } })
    const kept = serve({ contentRetentionMs: DAY_MS })
    expect(await counts({ ref_ids: [refId] }, { on: kept })).toEqual([1, 1])
  })
})

describe('pages of a rescue', () => {
  const bounds = { walkedMax: 7, matchedMax: 3, pieceMax: 2 }

  it('hold each failure once, and continue from the token', async () => {
    await refusing()
    const to = Array.from({ length: 8 }, (_, i) => ({ email: `r${i}@example.com` }))
    await failed({ to })
    const refId = await failed()
    const on = serve({ bounds })
    const seen: number[][] = []
    let pageToken: string | undefined
    do {
      const { body } = await rescue({ filter: {}, ...(pageToken && { pageToken }) }, { on })
      seen.push([body.matched, body.rescued])
      pageToken = body.nextPageToken
    } while (pageToken !== undefined && seen.length < 9)
    expect(seen.slice(0, 3)).toEqual([
      [3, 3],
      [3, 3],
      [3, 3],
    ])
    expect(
      seen
        .slice(3)
        .flat()
        .every((count) => count === 0),
    ).toBe(true)
    expect(await queueOf(world.db)).toHaveLength(9)
    expect(await statuses(refId)).toEqual(['queued'])
  })

  it('may be empty before the last page when little matches', async () => {
    await refusing()
    const rare = await failed({ to: [{ email: 'rare@example.com' }] })
    const to = Array.from({ length: 9 }, (_, i) => ({ email: `r${i}@example.com` }))
    await failed({ to })
    const on = serve({ bounds })
    const filter = { email: 'rare@example.com' }
    const first = await rescue({ filter }, { on })
    expect(first.body).toMatchObject({ matched: 0, rescued: 0, nextPageToken: expect.any(String) })
    const { nextPageToken: pageToken } = first.body
    expect(await counts({ filter, pageToken }, { on })).toEqual([1, 1])
    expect(await statuses(rare)).toEqual(['queued'])
    const other = await rescue({ filter: {}, pageToken }, { on })
    expect(other).toMatchObject({ status: 400, body: { errors: [{ path: '/pageToken' }] } })
  })

  it('find the last failure of a recipient who was rescued before, at any page size', async () => {
    await refusing()
    const refId = await failed({ cc: [{ email: 'bob@example.com' }] })
    for (let i = 0; i < 3; i++) {
      await rescue({ ref_ids: [refId] })
      await drain(world.db, world.sender())
    }
    for (const pieceMax of [1, 2, 3, 5]) {
      const on = serve({ bounds: { walkedMax: 100, matchedMax: 100, pieceMax } })
      expect(await counts({ filter: {}, dry_run: true }, { on })).toEqual([2, 0])
    }
  })
})

describe('a refused rescue', () => {
  it.each([
    [{}, '/filter'],
    [{ filter: { unknown: 1 } }, '/filter/unknown'],
    [{ filter: { status: 'delivered' } }, '/filter/status'],
    [{ filter: { email: 'nobody' } }, '/filter/email'],
    [{ filter: { recipientDomain: 'localhost' } }, '/filter/recipientDomain'],
    [{ filter: { startCreatedAt: 'yesterday' } }, '/filter/startCreatedAt'],
    [{ filter: { endCreatedAt: '2026-02-30' } }, '/filter/endCreatedAt'],
    [
      { filter: { startCreatedAt: '2026-01-02', endCreatedAt: '2026-01-01' } },
      '/filter/startCreatedAt',
    ],
    [{ ref_ids: [] }, '/ref_ids'],
    [{ ref_ids: ['x'] }, '/ref_ids/0'],
    [{ filter: {}, pageToken: 'x' }, '/pageToken'],
    [{ filter: {}, pageSize: 1 }, '/pageSize'],
    [{ filter: {}, dry_run: 'yes' }, '/dry_run'],
  ])('answers 400 to %j', async (payload, path) => {
    expect(await rescue(payload)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
  })

  it('answers 422 or 409 for a mailer that is unknown or not active', async () => {
    await refusing()
    const refId = await failed()
    const theirs = await addMailer(world.db, { tenantId: 'tn_b', mailerId: 'smtp_theirs' })
    const off = await addMailer(world.db, { email: 'off@example.com' })
    await world.db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
      off.mailerId,
    ])
    const through = (mailer_id: string) => rescue({ ref_ids: [refId], mailer_id })
    expect(await through(theirs.mailerId)).toMatchObject({
      status: 422,
      body: {
        code: 'no_mailer',
        message:
          'mailer_id names no mailer that can send: listMailers (GET /v1/mailers) has their ids',
      },
    })
    expect(await through(off.mailerId)).toMatchObject({
      status: 409,
      body: { code: 'mailer_inactive' },
    })
    expect(await statuses(refId)).toEqual(['failed'])
  })

  const setTenant = (state: string, queuedMax: number) =>
    world.db.query(
      `with tenant as (
         insert into tenants_tenant (tenant_id, name, state, queued_max) values ('tn_a', 'A', $1, $2)
         on conflict (tenant_id) do update set state = $1, queued_max = $2)
       insert into tenants_usage (tenant_id) values ('tn_a') on conflict do nothing`,
      [state, queuedMax],
    )

  it('counts no test mail in the queue of the tenant', async () => {
    await refusing()
    const refIds = [await failed(), await failed()]
    for (const table of ['sending_email', 'sending_attempt'])
      await world.db.query(
        `update ${table} set mailer_id = 'test_' || right(mailer_id, 26) where ref_id = $1`,
        [refIds[0]],
      )
    try {
      await setTenant('active', 1)
      expect(await counts({ ref_ids: refIds })).toEqual([2, 2])
      const { rows } = await world.db.query('select queued::int from tenants_usage')
      expect(rows).toEqual([{ queued: 1 }])
    } finally {
      await emptyTables(world.db, 'tenants_usage', 'tenants_tenant')
    }
  })

  it('answers 403 while the tenant is suspended, and 429 where its queue would be too long', async () => {
    await refusing()
    const refIds = [await failed(), await failed()]
    try {
      await setTenant('suspended', 5)
      expect(await rescue({ ref_ids: refIds })).toMatchObject({
        ...{ status: 403, body: { code: 'tenant_suspended' } },
      })
      await setTenant('active', 1)
      expect(await rescue({ ref_ids: refIds })).toMatchObject({
        status: 429,
        body: { code: 'quota_exceeded', errors: [{ path: '/quotas/queued_max' }] },
      })
      expect(await statuses(refIds[0] ?? '')).toEqual(['failed'])
      await setTenant('active', 2)
      expect(await counts({ ref_ids: refIds })).toEqual([2, 2])
    } finally {
      await emptyTables(world.db, 'tenants_usage', 'tenants_tenant')
    }
  })

  it('answers 403 to a read-only key', async () => {
    expect((await rescue({ filter: {} }, { key: 'reader' })).status).toBe(403)
    expect((await rescue({ filter: {} }, { key: 'sender' })).status).toBe(202)
  })
})

describe('content that retention has taken', () => {
  it('is told of each email that shares a row with others', async () => {
    await refusing()
    const subjects = [{ subject: 'one' }, { subject: 'two' }]
    const [, second = ''] = await acceptTogether(world.db, subjects)
    await drain(world.db, world.sender())
    expect(await counts({ ref_ids: [second] })).toEqual([1, 1])
    await world.db.query('delete from sending_content')
    await drain(world.db, world.sender()).catch(() => undefined)
    expect(await rescue({ ref_ids: [second] })).toMatchObject({ status: 410 })
  })

  it('is not queued again, also after the time was made longer', async () => {
    await refusing()
    const refId = await failed()
    await world.db.query('delete from sending_content')
    expect(await rescue({ ref_ids: [refId] })).toMatchObject({
      status: 410,
      body: { code: 'content_removed', message: expect.stringContaining(refId) },
    })
    expect(await counts({ filter: {} })).toEqual([0, 0])
    expect(await statuses(refId)).toEqual(['failed'])
  })

  it('is no refusal of a page that ends others', async () => {
    await refusing()
    const [gone, refId] = [
      await failed(),
      await failed({ to: [1, 2, 3].map((n) => ({ email: `r${n}@example.com` })) }),
    ]
    await world.db.query('delete from sending_content where ref_id = $1', [gone])
    const on = serve({ bounds: { walkedMax: 7, matchedMax: 3, pieceMax: 2 } })
    const ref_ids = [refId, gone]
    const { body } = await rescue({ ref_ids }, { on })
    expect(body).toMatchObject({ rescued: 3, nextPageToken: expect.any(String) })
    expect(await counts({ ref_ids, pageToken: body.nextPageToken }, { on })).toEqual([0, 0])
  })

  it('counts from when a scheduled email was queued', async () => {
    await refusing()
    const atMs = Date.now() + 5 * DAY_MS
    const refId = await accept(world.db, { send_at: new Date(atMs).toISOString() })
    await world.db.query('update sending_scheduled set due_at = now()')
    await drain(world.db, world.sender())
    const at = (ms: number) =>
      serve({ clock: { now: () => new Date(ms) }, contentRetentionMs: 2 * DAY_MS })
    const body = { ref_ids: [refId], dry_run: true }
    expect(await counts(body, { on: at(atMs + DAY_MS) })).toEqual([1, 0])
    expect((await rescue(body, { on: at(atMs + 2 * DAY_MS) })).status).toBe(410)
  })
})
