/** getOverview and getMailerActivity, of mail really sent. */
import {
  type GetOverviewQuery,
  getMailerActivityAnswer,
  getOverviewAnswer,
  type Overview,
} from '@postrider/contract'
import { Check } from 'typebox/value'
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { accept, drain, useSending } from '../../test/sender.ts'
import { addMailer, silent } from '../../test/sending.ts'
import { insertWebhook } from '../../test/webhook-record.ts'
import { createCounterFolder } from '../platform/counters/counter-folder.ts'
import { getMailerActivity } from './get-mailer-activity.ts'
import { getOverview } from './get-overview.ts'

const world = useSending()
beforeEach(() => emptyTables(world.db, 'webhooks_stream', 'webhooks_subscription', 'webhooks_open'))

async function overview(
  query: GetOverviewQuery = {},
  o: { tenantId?: string; nowMs?: number } = {},
) {
  const clock = { now: () => new Date(o.nowMs ?? Date.now()) }
  const found = await getOverview({ db: world.db, clock }, o.tenantId ?? 'tn_a', query)
  const body = { success: true, message: 'm', overview: found }
  expect(Check(getOverviewAnswer, body) || body).toBe(true)
  return found
}

async function activity(mailerId: string, tenantId = 'tn_a') {
  const clock = { now: () => new Date() }
  const found = await getMailerActivity({ db: world.db, clock }, tenantId, mailerId)
  const body = { success: true, message: 'm', activity: found }
  expect(Check(getMailerActivityAnswer, body) || body).toBe(true)
  return found
}

const countsOf = (all: object) =>
  Object.fromEntries(Object.entries(all).filter(([, n]) => n !== 0 && typeof n === 'number'))
const reasonsOf = ({ attention }: Overview) => attention.map(({ reason }) => reason)
const fold = () => createCounterFolder({ db: world.db, log: silent }).runOnce()
const EMPTY = { waiting: 0, due: 0, held: 0, scheduled: 0, oldest_due_at: null }
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const ago = (s: number) =>
  world.db.query(`update sending_queue set due_at = now() - $1 * interval '1 s'`, [s])

describe('the overview', () => {
  it('counts what happened, and names reasons and domains', async () => {
    const server = await world.serve((now) =>
      now.phase === 'rcpt' && now.recipient?.startsWith('bob@')
        ? '550 5.1.1 no such user'
        : undefined,
    )
    await addMailer(world.db, { port: server.port })
    await accept(world.db, {
      to: ['ada@a.example', 'bob@a.example', 'eve@b.example'].map((email) => ({ email })),
    })
    await drain(world.db, world.sender())
    for (let turn = 0; turn < 2; turn++) {
      const found = await overview()
      expect(countsOf(found.counts)).toEqual({ accepted: 3, delivered: 2, failed: 1 })
      expect(found.rates).toMatchObject({ delivery: 2 / 3, opens: 0 })
      expect(found).toMatchObject({ queue: EMPTY, attention: [] })
      expect(found.top_failed_reasons).toMatchObject([
        { failed_reason: 'The recipient address does not exist', totals: { failed: 1 } },
      ])
      expect(found.top_recipient_domains).toMatchObject([
        { recipient_domain: 'a.example', totals: { accepted: 2, delivered: 1 } },
        { recipient_domain: 'b.example', totals: { accepted: 1 } },
      ])
      await fold()
    }
    expect(await overview({}, { tenantId: 'tn_b' })).toMatchObject({
      counts: { accepted: 0 },
      rates: { delivery: null },
      queue: EMPTY,
      attention: [],
      top_failed_reasons: [],
      top_recipient_domains: [],
    })
    const tomorrow = { nowMs: Date.now() + 25 * 3_600_000 }
    expect((await overview({}, tomorrow)).counts.accepted).toBe(0)
    const today = new Date().toISOString().slice(0, 10)
    expect((await overview({ start: today }, tomorrow)).counts.accepted).toBe(3)
    expect((await overview({ start: '2026-01-01', end: today })).counts.accepted).toBe(3)
  })

  it('says how much waits, and what is scheduled apart from that', async () => {
    const { mailerId } = await addMailer(world.db)
    await addMailer(world.db, { tenantId: 'tn_b' })
    await accept(world.db, { to: [{ email: 'a@a.example' }, { email: 'b@b.example' }] })
    await accept(world.db, { send_at: inAnHour() })
    await accept(world.db, {}, 'tn_b')
    const before = Date.now()
    const { queue } = await overview()
    expect(queue).toMatchObject({ waiting: 2, due: 2, scheduled: 1 })
    expect(Math.abs(Date.parse(queue.oldest_due_at ?? '') - before)).toBeLessThan(10_000)
    await ago(-60)
    expect((await overview()).queue).toEqual({ ...EMPTY, waiting: 2, scheduled: 1 })
    await ago(10)
    await world.db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
      mailerId,
    ])
    const held = await overview()
    expect(held.queue).toEqual({ ...EMPTY, waiting: 2, held: 2, scheduled: 1 })
    expect(held.attention).toMatchObject([{ mailer_id: mailerId, reason: 'mail_held' }])
  })

  it('names a disabled mailer for which no mail waits, and that of no other tenant', async () => {
    const { mailerId } = await addMailer(world.db)
    await addMailer(world.db, { tenantId: 'tn_b' })
    await world.db.query(`update mailers_mailer set state = 'disabled' where tenant_id = 'tn_a'`)
    expect((await overview()).attention).toEqual([
      {
        ...{ mailer_id: mailerId, reason: 'mailer_disabled' },
        since: expect.stringMatching(/Z$/),
        detail: expect.stringContaining('disabled'),
      },
    ])
    expect(reasonsOf(await overview({}, { tenantId: 'tn_b' }))).toEqual([])
  })

  it('tells a suspended tenant so, and that its mail is held and not late', async () => {
    const { mailerId } = await addMailer(world.db)
    await accept(world.db)
    await ago(120)
    await world.db.query(
      `insert into tenants_tenant (tenant_id, name, state, state_changed_at)
       values ('tn_a', 'Acme', 'suspended', '2026-11-20T13:00:00Z')`,
    )
    try {
      const found = await overview()
      expect(found.queue).toEqual({ ...EMPTY, waiting: 1, held: 1 })
      expect(found.attention).toEqual([
        {
          reason: 'tenant_suspended',
          since: '2026-11-20T13:00:00.000Z',
          detail: expect.stringContaining('suspended'),
        },
      ])
      expect((await activity(mailerId)).queue).toEqual({
        ...{ waiting: 1, due: 0, held: 1, oldest_due_at: null },
      })
    } finally {
      await world.db.query(`delete from tenants_tenant where tenant_id = 'tn_a'`)
    }
    expect(reasonsOf(await overview())).toEqual(['queue_late'])
  })

  it('names a mailer that is down, and one that fails', async () => {
    const down = await addMailer(world.db, { email: 'down@example.com' })
    await world.db.query(
      `update mailers_mailer set state = 'deactivated', state_reason = 'smtp_auth_rejected', state_evidence = '535 no'
        where mailer_id = $1`,
      [down.mailerId],
    )
    const server = await world.serve((now) =>
      now.phase === 'connect' ? '421 4.3.2 busy' : undefined,
    )
    const failing = await addMailer(world.db, { port: server.port })
    await accept(world.db)
    await world.sender({ retryScheduleMs: [60_000] }).runOnce()
    const found = await overview()
    expect(found.attention).toMatchObject([
      { mailer_id: down.mailerId, reason: 'mailer_deactivated', detail: '535 no' },
      { mailer_id: failing.mailerId, reason: 'mailer_failing', detail: '421 4.3.2 busy' },
    ])
    expect(found.queue).toMatchObject({ waiting: 1, due: 0 })
    expect(found.top_failed_reasons).toMatchObject([{ totals: { deferred: 1 } }])
    expect(await overview({}, { tenantId: 'tn_b' })).toMatchObject({ attention: [] })
  })

  it('names a queue that is late and a webhook that fails or is paused with events, and none that is idle', async () => {
    const { mailerId } = await addMailer(world.db)
    await accept(world.db)
    await ago(120)
    const { webhookId } = await insertWebhook(world.db)
    await insertWebhook(world.db, { event: 'DOMAIN_VERIFICATION' })
    await insertWebhook(world.db, { tenantId: 'tn_b' })
    await world.db.query(
      `update webhooks_stream set state = 'active', first_failure_at = '2026-11-20T13:00:00Z',
              delivery_id = 'dl_1'
        where webhook_id = $1 or tenant_id = 'tn_b'`,
      [webhookId],
    )
    const found = await overview()
    expect(found.attention).toMatchObject([
      { mailer_id: mailerId, reason: 'queue_late' },
      { webhook_id: webhookId, reason: 'webhook_failing', since: '2026-11-20T13:00:00.000Z' },
    ])
    const since = Date.now() - Date.parse(found.attention[0]?.since ?? '')
    expect(since).toBeGreaterThan(119_000)
    await world.db.query('update webhooks_stream set paused_at = now()')
    expect(reasonsOf(await overview())).toEqual(['queue_late', 'webhook_paused'])
    await world.db.query('update webhooks_stream set delivery_id = null')
    expect(reasonsOf(await overview())).toEqual(['queue_late'])
  })

  it('names what fails and is late before what a person paused', async () => {
    const paused = [await addMailer(world.db), await addMailer(world.db)]
    await accept(world.db, paused[0] === undefined ? {} : { mailer_id: paused[0].mailerId })
    await world.db.query(`update mailers_mailer set state = 'disabled'`)
    const down = await addMailer(world.db, { email: 'down@example.com' })
    await world.db.query(
      `update mailers_mailer set state = 'deactivated', state_reason = 'smtp_auth_rejected'
        where mailer_id = $1`,
      [down.mailerId],
    )
    const late = await addMailer(world.db)
    await accept(world.db, { mailer_id: late.mailerId })
    await ago(120)
    const webhooks = [
      await insertWebhook(world.db),
      await insertWebhook(world.db, { event: 'DOMAIN_VERIFICATION' }),
    ]
    await world.db.query(
      `update webhooks_stream set state = 'active', first_failure_at = now(), delivery_id = 'dl_1'`,
    )
    await world.db.query('update webhooks_stream set paused_at = $2 where webhook_id = $1', [
      webhooks[0]?.webhookId,
      new Date('2026-11-20T13:00:00Z'),
    ])
    expect(reasonsOf(await overview())).toEqual([
      ...['mailer_deactivated', 'queue_late', 'webhook_failing'],
      ...['mail_held', 'webhook_paused', 'mailer_disabled'],
    ])
  })

  it('names a webhook that fails beside any number of paused ones', async () => {
    await world.db.query(
      `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, paused_at, delivery_id)
       select 'tn_a', 'wh_' || n, 0, 'array', now(), 'dl' from generate_series(1, 60) n`,
    )
    await world.db.query(
      `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, first_failure_at, delivery_id)
       values ('tn_a', 'wh_failing', 0, 'array', now(), 'dl')`,
    )
    const reasons = reasonsOf(await overview())
    expect(reasons[0]).toBe('webhook_failing')
    expect(reasons.filter((reason) => reason === 'webhook_paused')).toHaveLength(50)
  })

  it('counts no part of an address that a server named', async () => {
    const long = 'x'.repeat(173)
    const server = await world.serve((now) => {
      if (now.phase !== 'rcpt') return undefined
      if (now.recipient?.startsWith('ada')) return '554 user ada.lovelace is odd'
      return `554 ${long} rejected <${now.recipient}>`
    })
    await addMailer(world.db, { port: server.port })
    const to = ['maria.mustermann@a.example', 'ada.lovelace@a.example'].map((email) => ({ email }))
    await accept(world.db, { to })
    await drain(world.db, world.sender())
    const { top_failed_reasons: reasons } = await overview()
    expect(reasons.map((one) => one.failed_reason).toSorted()).toEqual([
      '554 user <address> is odd',
      `554 ${long} rejected <address>`,
    ])
  })

  it.each([
    [{ start: 'x' }, '/start'],
    [{ end: 'x' }, '/end'],
    [{ start: '2026-01-02', end: '2026-01-01' }, '/start'],
    [{ start: '2024-01-01' }, '/start'],
  ])('refuses %j by its path', async (query, path) => {
    await expect(overview(query)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path }],
    })
  })
})

describe("a mailer's activity", () => {
  it('shows 24 hours by ten minutes, the queue, limits and last replies', async () => {
    let isBusy = true
    const server = await world.serve((now) =>
      now.phase === 'connect' && isBusy ? '421 4.3.2 busy' : undefined,
    )
    const limits = { per_minute: 2, connections: 3 }
    const { mailerId } = await addMailer(world.db, { port: server.port, limits })
    await addMailer(world.db, { tenantId: 'tn_b' })
    await accept(world.db)
    await world.sender({ retryScheduleMs: [0] }).runOnce()
    isBusy = false
    await world.db.query('delete from mailers_permission')
    const to = ['a', 'b', 'c', 'd'].map((name) => ({ email: `${name}@a.example` }))
    await accept(world.db, { to })
    await world.sender().runOnce()
    for (let turn = 0; turn < 2; turn++) {
      const found = await activity(mailerId)
      expect(found.intervals.length).toBe(144)
      expect(Date.parse(found.intervals[143]?.at ?? '') % 600_000).toBe(0)
      const sums = { sent: 0, deferred: 0, failed: 0 }
      for (const one of found.intervals.slice(-2)) {
        sums.sent += one.sent
        sums.deferred += one.deferred
        sums.failed += one.failed
      }
      expect(sums).toEqual({ sent: 2, deferred: 1, failed: 0 })
      expect(found.queue).toMatchObject({ waiting: 3, due: 3 })
      expect(found.limits).toMatchObject({
        rates: [{ name: 'per_minute', limit: 2, used: 2 }],
        connections: 3,
        waiting: 3,
      })
      expect(found.limits.wait_ms).toBeGreaterThan(30_000)
      expect(found.last_replies).toMatchObject([{ provider_error: '421 4.3.2 busy' }])
      await fold()
    }
  })

  it('is empty of a mailer that has sent nothing', async () => {
    const { mailerId } = await addMailer(world.db)
    const { intervals, ...rest } = await activity(mailerId)
    expect(intervals.every(({ sent, deferred, failed }) => sent + deferred + failed === 0)).toBe(
      true,
    )
    expect(rest).toEqual({
      mailer_id: mailerId,
      queue: { waiting: 0, due: 0, held: 0, oldest_due_at: null },
      limits: { rates: [], connections: 5, waiting: 0, wait_ms: 0 },
      last_replies: [],
    })
  })

  it('is of a mailer of the tenant alone', async () => {
    const { mailerId } = await addMailer(world.db)
    for (const [id, tenantId] of [
      [mailerId, 'tn_b'],
      ['smtp_none', 'tn_a'],
      ['', 'tn_a'],
    ] as const)
      await expect(activity(id, tenantId)).rejects.toMatchObject({ code: 'not_found' })
  })
})
