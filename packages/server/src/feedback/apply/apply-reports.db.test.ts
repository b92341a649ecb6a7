/** What follows from reports, over both providers' own words and the whole way from the request. */

import { createUserAgentReader } from '@postrider/mail'
import { describe, expect, it } from 'vitest'
import { bodyOf, providers, type SentMail, useFeedback } from '../../../test/feedback.ts'
import { queueOf, recipientsOf, type SeenEvent, TRACEPARENT } from '../../../test/sender.ts'
import { createClock } from '../../platform/clock.ts'
import { transactByIndex } from '../../platform/db/index.ts'
import { newId, newUlid, timeOfUlid } from '../../platform/ids.ts'
import { createLogger } from '../../platform/log.ts'
import { adapterOf } from '../../relays/index.ts'
import { applyReports } from './apply-reports.ts'

const world = useFeedback()

const inShort = (events: readonly SeenEvent[]) => events.map(({ event }) => event)
const recipientOf = async (mail: SentMail) => (await recipientsOf(world.db, mail.refId))[0]
const suppressed = async (tenantId: string) => {
  const { rows } = await world.db.query<{ email: string; reason: string }>(
    'select email, reason from suppressions_address where tenant_id = $1 order by email',
    [tenantId],
  )
  return rows
}
const counts = async (tenantId: string) => {
  const { rows } = await world.db.query<{ name: string; n: number }>(
    `select e.name, sum(e.n)::int as n
       from platform_counter_change c, json_to_recordset(c.counts) as e (name text, n integer)
      where tenant_id = $1 and e.name not in ('accepted', 'recipients', 'stored_bytes') group by 1 having sum(e.n) <> 0 order by 1`,
    [tenantId],
  )
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
}

describe.each(providers)('a report of %s', (kind) => {
  it('[6.5] makes the recipient delivered, with an event, when it is of delivery', async () => {
    const account = await world.account(kind)
    const mail = await world.send({
      tenantId: account.tenantId,
      email: { custom_args: { order: 7 } },
    })
    await world.report(account, { type: 'delivered', mail })
    const [event] = await world.events(mail)
    expect(event).toMatchObject({
      event: 'MAIL_DELIVERED',
      success: true,
      details: {
        ref_id: mail.refId,
        email: ['ada@example.com'],
        custom_args: { order: 7 },
        message_id: mail.messageIds[0],
        thread_id: '',
        failed_reason: '',
        tracking: { time: '', bot: false },
      },
    })
    expect(event?.details).not.toHaveProperty('attempt')
    expect(await recipientOf(mail)).toMatchObject({ status: 'delivered', delivered: true })
    expect(await counts(account.tenantId)).toEqual({ delivered: 1 })
    const { rows } = await world.db.query(
      'select traceparent from webhooks_event where ref_id = $1',
      [mail.refId],
    )
    expect(rows).toEqual([{ traceparent: TRACEPARENT }])
  })

  it.each([
    ['bounced', 'MAIL_BOUNCE', 'bounced', 'bounced', 'hard_bounce'],
    ['soft', 'MAIL_BOUNCE', 'bounced', undefined, 'soft_bounce'],
    ['complained', 'MAIL_SPAM', 'delivered', 'complained', 'complaint'],
    ['unsubscribed', 'MAIL_UNSUBSCRIBED', 'delivered', 'unsubscribed', 'unsubscription'],
  ] as const)(
    'makes an event, counts and suppresses when it is of %s',
    async (type, event, status, reason, counted) => {
      const account = await world.account(kind)
      const { tenantId } = account
      const mail = await world.send({ tenantId })
      const words = '550 5.1.1 <ada@example.com>: no such user'
      await world.report(account, { type: 'delivered', mail }, { type, mail, reason: words })
      const text = await world.metrics.registry.metrics()
      expect(text.match(/^postrider_recipient_reports_total.* [1-9]$/gm)).toEqual([
        `postrider_recipient_reports_total{kind="${counted}"} 1`,
      ])
      expect(inShort(await world.events(mail))).toEqual(['MAIL_DELIVERED', event])
      expect(await world.statuses(mail)).toEqual([status])
      expect(await suppressed(tenantId)).toEqual(
        reason === undefined ? [] : [{ email: 'ada@example.com', reason }],
      )
      const name = type === 'soft' ? 'bounced' : type
      expect(await counts(tenantId)).toEqual({ delivered: 1, [name]: 1 })
      const details = (await world.events(mail))[1]?.details
      if (type === 'unsubscribed') expect(details).toMatchObject({ failed_reason: '' })
      else expect(details).toMatchObject({ failed_reason: words })
    },
  )

  it.each([
    ['bounced', 'MAIL_BOUNCE'],
    ['complained', 'MAIL_SPAM'],
    ['unsubscribed', 'MAIL_UNSUBSCRIBED'],
  ] as const)('is the source of the suppression when it is of %s', async (type, event) => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.report(account, { type, mail })
    const { rows } = await world.db.query(
      'select source from suppressions_address where tenant_id = $1',
      [account.tenantId],
    )
    expect(rows).toEqual([{ source: { event, ref_id: mail.refId, relay: kind } }])
  })

  it('[2.4] has error_code and num_retries from provider A', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.report(account, { type: 'bounced', mail })
    const [event] = await world.events(mail)
    expect(event?.details).toMatchObject({ failed_reason: 'The email bounced' })
    const relayed = { error_code: '550', num_retries: '2' }
    if (kind === 'sparkpost') expect(event?.details).toMatchObject(relayed)
    else for (const name of Object.keys(relayed)) expect(event?.details).not.toHaveProperty(name)
  })

  it('makes no event when the provider keeps trying or has accepted the mail', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.report(
      account,
      { type: 'processed', mail },
      { type: 'deferred', mail },
      { type: 'opened', mail },
    )
    expect(await world.events(mail)).toEqual([])
    expect(await world.statuses(mail)).toEqual(['sent'])
  })

  it('is reported after its cause when both are of the same second', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    const types = ['complained', 'bounced', 'delivered'] as const
    await world.report(
      account,
      ...types.map((type) => ({ type, mail, atS: 1_000_000_000 }) as const),
    )
    const events = await world.events(mail)
    expect(inShort(events)).toEqual(['MAIL_DELIVERED', 'MAIL_BOUNCE', 'MAIL_SPAM'])
    expect(new Set(events.map(({ details }) => details.event_at)).size).toBe(3)
  })

  it('counts once, however often and in whatever order it comes', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    const reports = [
      { type: 'delivered', mail, id: `d-${kind}-${mail.refId}` },
      { type: 'bounced', mail, id: `b-${kind}-${mail.refId}` },
      { type: 'complained', mail, id: `c-${kind}-${mail.refId}` },
      { type: 'unsubscribed', mail, id: `u-${kind}-${mail.refId}` },
    ] as const
    const [delivered, bounced, complained, unsubscribed] = reports
    await world.report(account, bounced, bounced)
    await world.report(account, complained, delivered, unsubscribed, bounced)
    for (let i = 0; i < 3; i++) await world.report(account, ...reports.toReversed())
    expect(inShort(await world.events(mail)).sort()).toEqual([
      'MAIL_BOUNCE',
      'MAIL_DELIVERED',
      'MAIL_SPAM',
      'MAIL_UNSUBSCRIBED',
    ])
    expect(await world.statuses(mail)).toEqual(['bounced'])
    expect(await counts(account.tenantId)).toEqual({
      bounced: 1,
      complained: 1,
      delivered: 1,
      unsubscribed: 1,
    })
  })

  it('a report on an email of another tenant changes nothing', async () => {
    const mine = await world.account(kind)
    const theirs = await world.send()
    await world.report(
      mine,
      { type: 'bounced', mail: theirs },
      { type: 'unsubscribed', mail: theirs },
    )
    expect(await world.events(theirs)).toEqual([])
    expect(await world.statuses(theirs)).toEqual(['sent'])
    expect(await suppressed(theirs.tenantId)).toEqual([])
    expect(await suppressed(mine.tenantId)).toEqual([])
  })

  it('a report of a deferral is stored a hundred times, and hides no later report', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    const deferrals = (count: number) =>
      Array.from({ length: count }, () => ({ type: 'deferred', mail }) as const)
    const kept = async () => {
      const { rows } = await world.db.query<{ count: number }>(
        'select count(*)::int as count from feedback_fact where ref_id = $1',
        [mail.refId],
      )
      return rows[0]?.count
    }
    await world.report(account, ...deferrals(100))
    await world.report(account, ...deferrals(5))
    expect(await kept()).toBe(100)
    await world.report(account, { type: 'delivered', mail })
    expect(await kept()).toBe(101)
    expect(await world.statuses(mail)).toEqual(['delivered'])
  })

  it('tells the recipients of an email apart', async () => {
    const account = await world.account(kind)
    const to = ['ada', 'bob', 'carol'].map((name) => ({ email: `${name}@example.com` }))
    const mail = await world.send({ tenantId: account.tenantId, email: { to } })
    await world.report(
      account,
      { type: 'delivered', mail, n: 2 },
      { type: 'bounced', mail, n: 0 },
      { type: 'delivered', mail, n: 3 },
    )
    expect(await world.statuses(mail)).toEqual(['bounced', 'sent', 'delivered'])
    const events = await world.events(mail)
    expect(events.map(({ event, details }) => [event, ...details.email]).sort()).toEqual([
      ['MAIL_BOUNCE', 'ada@example.com'],
      ['MAIL_DELIVERED', 'carol@example.com'],
    ])
  })

  it('has the time of the provider, but not before the email or after the report', async () => {
    const account = await world.account(kind)
    const to = ['ada', 'bob', 'carol', 'dora'].map((name) => ({ email: `${name}@example.com` }))
    const mail = await world.send({ tenantId: account.tenantId, email: { to } })
    const acceptedMs = timeOfUlid(mail.refId).getTime()
    const atS = Math.floor(acceptedMs / 1000) + 60
    const receivedMs = (atS + 60) * 1000
    const later = await world.another({ clock: createClock(() => receivedMs) })
    const reports = bodyOf(kind, [
      { type: 'delivered', mail, n: 0, atS },
      { type: 'delivered', mail, n: 1, atS: atS - 86_400 },
      { type: 'delivered', mail, n: 2, atS: atS + 86_400 },
      { type: 'delivered', mail, n: 3, fields: { timestamp: 'yesterday' } },
    ])
    await later.app.inject({ method: 'POST', url: account.url, payload: reports })
    await later.feedback.worker.runOnce()
    const events = await world.events(mail)
    const at = Object.fromEntries(
      events.map(({ details }) => [details.email[0], Date.parse(details.event_at)]),
    )
    expect(at).toEqual({
      'ada@example.com': atS * 1000,
      'bob@example.com': acceptedMs,
      'carol@example.com': receivedMs,
      'dora@example.com': receivedMs,
    })
  })

  it.each([['deferred'], ['failed']])(
    'settles a recipient with an uncertain attempt who is %s',
    async (status) => {
      const account = await world.account(kind)
      const mail = await world.send({ tenantId: account.tenantId, status })
      await world.report(account, { type: 'processed', mail })
      expect(await world.statuses(mail)).toEqual([status === 'deferred' ? 'sent' : 'failed'])
      await world.report(account, { type: 'delivered', mail, messageId: 'known-to-it' })
      expect(await queueOf(world.db)).toEqual([])
      expect(await recipientOf(mail)).toMatchObject({ status: 'delivered', failed_reason: '' })
      expect(inShort(await world.events(mail))).toEqual(['MAIL_DELIVERED'])
    },
  )

  it('sets the message id of the provider when it arrives before the end of the attempt', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.db.query('delete from sending_attempt where ref_id = $1', [mail.refId])
    await world.db.query(
      `update sending_recipient set status = 'sending', message_id = '' where ref_id = $1`,
      [mail.refId],
    )
    await world.report(account, { type: 'delivered', mail })
    const [event] = await world.events(mail)
    expect(event?.details.message_id).toBe(mail.messageIds[0])
    expect(await recipientOf(mail)).toMatchObject({ message_id: mail.messageIds[0] })
  })

  it('waits while the next attempt is being claimed, and then ends that attempt', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId, status: 'deferred' })
    await world.db.transaction(async (tx) => {
      await tx.query(
        `update sending_queue set phase = 'sending', fence = fence + 1 where ref_id = $1`,
        [mail.refId],
      )
      await world.report(account, { type: 'delivered', mail })
    })
    expect(await world.statuses(mail)).toEqual(['deferred'])
    await world.db.query('update feedback_unmatched set due_at = now()')
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['delivered'])
    expect(await queueOf(world.db)).toEqual([])
    expect(inShort(await world.events(mail))).toEqual(['MAIL_DELIVERED'])
  })

  it('does not revive a recipient who has failed for good', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.db.query(
      `update sending_recipient set status = 'failed', failed_reason = 'no' where ref_id = $1`,
      [mail.refId],
    )
    await world.report(account, { type: 'delivered', mail })
    expect(await recipientOf(mail)).toMatchObject({ status: 'failed', failed_reason: 'no' })
  })

  it('a report from before a rescue waits until the rescued attempt has ended', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId, status: 'failed' })
    await world.db.query(`update sending_recipient set status = 'queued' where ref_id = $1`, [
      mail.refId,
    ])
    await world.report(account, { type: 'bounced', mail })
    expect(await world.statuses(mail)).toEqual(['queued'])
    expect(await world.events(mail)).toEqual([])
    await world.db.query(`update sending_recipient set status = 'sent' where ref_id = $1`, [
      mail.refId,
    ])
    await world.db.query('update feedback_unmatched set due_at = now()')
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['bounced'])
  })

  it('[6.5] a report of unsubscribing has time, address and program', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0'
    const fields =
      kind === 'sparkpost'
        ? { ip_address: '198.51.100.7', user_agent: agent }
        : { ip: '198.51.100.7', useragent: agent }
    await world.report(account, { type: 'unsubscribed', mail, fields })
    const [event] = await world.events(mail)
    expect(event).toMatchObject({
      event: 'MAIL_UNSUBSCRIBED',
      success: true,
      details: {
        tracking: {
          time: event?.details.event_at,
          ip: '198.51.100.7',
          user_agent: agent,
          browser_name: 'Firefox',
          os: 'Linux',
          bot: false,
        },
      },
    })
  })

  it('a report of unsubscribing makes a second event only when the address was resubscribed meanwhile', async () => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.report(account, { type: 'unsubscribed', mail })
    await world.report(account, { type: 'unsubscribed', mail })
    expect(await world.events(mail)).toHaveLength(1)
    await world.db.query('delete from suppressions_address where tenant_id = $1', [
      account.tenantId,
    ])
    await world.report(account, { type: 'unsubscribed', mail })
    expect(await world.events(mail)).toHaveLength(2)
  })
})

describe('[contract 7.4] a report with another address than the copy it names', () => {
  it.each(providers)('does nothing, and is counted and logged as that: %s', async (kind) => {
    const account = await world.account(kind)
    const to = [{ email: 'ada@example.com' }, { email: 'Ben@Example.com' }]
    const mail = await world.send({ tenantId: account.tenantId, email: { to } })
    const lines: string[] = []
    const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } })
    const { feedback, metrics } = await world.another({ log })
    const report = async (...reports: Parameters<typeof bodyOf>[1]) => {
      expect((await world.post(account, bodyOf(kind, reports))).statusCode).toBe(200)
      await feedback.worker.runOnce()
    }
    await report(
      { type: 'bounced', mail, email: 'ben@example.com' },
      { type: 'unsubscribed', mail, n: 1, email: 'ada@example.com' },
      { type: 'complained', mail, email: 'ada@example.com.example.net' },
    )
    expect(await world.statuses(mail)).toEqual(['sent', 'sent'])
    expect(await world.events(mail)).toEqual([])
    expect(await suppressed(account.tenantId)).toEqual([])
    expect(
      await world.db.query('select 1 from feedback_unmatched').then(({ rows }) => rows),
    ).toEqual([])
    expect(await metrics.registry.metrics()).toContain(
      `postrider_callback_reports_total{relay="${kind}",outcome="other_recipient"} 3`,
    )
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'report.other_recipient', tenant_id: account.tenantId, relay: kind, reports: 3 },
    ])
    // An address is the same in any case.
    await report({ type: 'delivered', mail, n: 1, email: 'BEN@example.COM' })
    expect(await world.statuses(mail)).toEqual(['sent', 'delivered'])
  })

  it('does nothing from the simulator', async () => {
    const tenantId = newId('tn')
    const mail = await world.send({ tenantId })
    const outcomesOf = async (email: string) => {
      const report = {
        ...{ id: newUlid(), event: 'bounced', message_id: mail.messageIds[0], email, hard: true },
        ...{ postrider_ref: `${mail.refId}.0`, suppresses: 'bounced', reason: '550 5.1.1 no' },
      }
      const facts = adapterOf('simulator').callbacks.read(JSON.stringify([report])) ?? []
      const receivedAtMicros = createClock().nowMicros()
      const reports = facts.map(
        (fact) => ({ tenantId, relay: 'simulator', receivedAtMicros, fact }) as const,
      )
      const deps = { readUserAgent: createUserAgentReader() }
      return await transactByIndex(world.db, async (tx) => {
        const { outcomes } = await applyReports(tx, deps, { tenantId, reports })
        return outcomes
      })
    }
    expect(await outcomesOf('ben@example.com')).toEqual(['other_recipient'])
    expect(await world.statuses(mail)).toEqual(['sent'])
    expect(await suppressed(tenantId)).toEqual([])
    expect(await outcomesOf('Ada@example.com')).toEqual(['applied'])
    expect(await world.statuses(mail)).toEqual(['bounced'])
  })

  it.each(providers)('does nothing without an address: %s', async (kind) => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    await world.report(account, { type: 'bounced', mail, email: '' })
    expect(await world.statuses(mail)).toEqual(['sent'])
    expect(await world.events(mail)).toEqual([])
  })
})

describe('a report that only provider A makes', () => {
  it.each([
    ['policy_rejected', 'MAIL_POLICY_REJECTION', 'rejected'],
    ['generation_failed', 'MAIL_GENERATION_FAILURE', 'failed'],
    ['generation_rejected', 'MAIL_GENERATION_REJECTION', 'rejected'],
  ] as const)(
    '[6.5] makes an event and ends the recipient when it is of %s',
    async (type, name, status) => {
      const account = await world.account('sparkpost')
      const mail = await world.send({ tenantId: account.tenantId })
      await world.report(account, { type, mail, reason: '550 5.7.1 no' })
      const [event] = await world.events(mail)
      expect(event).toMatchObject({
        event: name,
        success: false,
        details: { failed_reason: '550 5.7.1 no' },
      })
      expect(event?.details).not.toHaveProperty('error_code')
      expect(await recipientOf(mail)).toMatchObject({ status, failed_reason: '550 5.7.1 no' })
      expect(await counts(account.tenantId)).toEqual({ [status]: 1 })
    },
  )
})
