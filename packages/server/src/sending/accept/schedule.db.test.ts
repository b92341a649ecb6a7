/** [contract 5] send_at and its cancellation, from the tables to the mail server. */
import { sendAtAheadMsMax } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { explaining, type SeenPlan } from '../../../test/explain.ts'
import {
  accept,
  eventsOf,
  inShort,
  noUsageCounts,
  queueOf,
  recipientsOf,
  TRACEPARENT,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, emailBody } from '../../../test/sending.ts'
import { newUlid } from '../../platform/ids.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { createAcceptEmails } from './accept-email.ts'
import { cancelEmail } from './cancel-email.ts'
import { checkEmail } from './check-email.ts'
import { queueScheduled } from './queue-scheduled.ts'
import { dropUnattempted, isAnyDue, moveDue } from './schedule-store.ts'

const world = useSending()
const ahead = (ms: number) => new Date(Date.now() + ms).toISOString()
const HOUR_MS = 3_600_000
const everyBucket = Array.from({ length: 64 }, (_, bucket) => bucket)
const scheduled = async () =>
  (
    await world.db.query<{ n: number; wait_s: number; lives_s: number }>(
      `select n, round(extract(epoch from due_at - now()))::int as wait_s,
              extract(epoch from expires_at - due_at)::int as lives_s
         from sending_scheduled order by ref_id, n`,
    )
  ).rows
const makeDue = () => world.db.query('update sending_scheduled set due_at = now()')
const statuses = async (refId: string) =>
  (await recipientsOf(world.db, refId)).map(({ status }) => status)
const two = [{ email: 'ada@example.com' }, { email: 'bob@example.com' }]

describe('an email with send_at', () => {
  it('stores an email with send_at outside the queue, and counts its expiry from send_at', async () => {
    await addMailer(world.db)
    const settings = { expires_in: '6h' }
    const refId = await accept(world.db, { to: two, send_at: ahead(HOUR_MS), settings })
    expect(await queueOf(world.db)).toEqual([])
    const row = { wait_s: expect.closeTo(3_600, -1), lives_s: 6 * 3_600 }
    expect(await scheduled()).toEqual([
      { n: 0, ...row },
      { n: 1, ...row },
    ])
    expect(await statuses(refId)).toEqual(['scheduled', 'scheduled'])
  })

  it('counts retention from send_at, or from acceptance where there is no send_at', async () => {
    await addMailer(world.db)
    await accept(world.db, { send_at: ahead(HOUR_MS), subject: 'later' })
    await accept(world.db, { send_at: ahead(-60_000), subject: 'now' })
    await accept(world.db, { subject: 'now' })
    const { rows } = await world.db.query(
      `select subject, round(extract(epoch from queued_at - created_at) / 60)::int as minutes
         from sending_email order by ref_id`,
    )
    expect(rows).toEqual([
      { subject: 'later', minutes: 60 },
      { subject: 'now', minutes: null },
      { subject: 'now', minutes: null },
    ])
  })

  it('sends a scheduled email once, and not before its time', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db, { to: two, send_at: ahead(HOUR_MS) })
    const sender = world.sender()
    await sender.runOnce()
    expect(server.messages).toEqual([])
    await makeDue()
    await Promise.all([sender.runOnce(), world.sender().runOnce()])
    expect(server.messages).toHaveLength(2)
    expect(await statuses(refId)).toEqual(['delivered', 'delivered'])
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED'])
    expect(await scheduled()).toEqual([])
  })

  it('moves a scheduled email to the queue shortly before its time', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, { send_at: ahead(HOUR_MS) })
    await world.db.query(`update sending_scheduled set due_at = now() + interval '2 seconds'`)
    await queueScheduled(world.db, everyBucket)
    expect(await scheduled()).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ n: 0, phase: 'waiting', attempt: 1 }])
    expect(await statuses(refId)).toEqual(['queued'])
    const { rows } = await world.db.query('select from sending_queue where due_at > now()')
    expect(rows).toHaveLength(1)
  })

  it('moves many due emails to the queue in pieces', async () => {
    await addMailer(world.db)
    const to = Array.from({ length: 1_000 }, (_, i) => ({ email: `r${i}@example.com` }))
    for (let i = 0; i < 3; i++) await accept(world.db, { to, send_at: ahead(HOUR_MS) })
    await makeDue()
    await queueScheduled(world.db, everyBucket)
    expect(await queueOf(world.db)).toHaveLength(3_000)
    expect(await scheduled()).toEqual([])
  })

  it('moves only emails of the buckets that the sender owns', async () => {
    await addMailer(world.db)
    await accept(world.db, { send_at: ahead(HOUR_MS) })
    await makeDue()
    const { rows } = await world.db.query<{ bucket: number }>(
      'select bucket from sending_scheduled',
    )
    await queueScheduled(
      world.db,
      everyBucket.filter((bucket) => bucket !== rows[0]?.bucket),
    )
    expect(await scheduled()).toHaveLength(1)
  })

  it('queues an email at once when send_at is up to five minutes ago', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, { send_at: ahead(-4 * 60_000) })
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', wait_s: 0 }])
    expect(await statuses(refId)).toEqual(['queued'])
    const { rows } = await world.db.query(
      'select 1 from sending_queue q join sending_email e using (tenant_id, ref_id) where q.due_at = e.created_at',
    )
    expect(rows).toHaveLength(1)
  })

  it.each([
    ['more than five minutes ago', -5 * 60_000 - 10_000, 'is more than 5 minutes ago'],
    ['more than 30 days ahead', sendAtAheadMsMax + 60_000, 'must be at most 30 days ahead'],
  ])('refuses a send_at that is %s', async (_what, ms, message) => {
    await addMailer(world.db)
    await expect(accept(world.db, { send_at: ahead(ms) })).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: '/send_at', message }],
    })
    await accept(world.db, { send_at: ahead(sendAtAheadMsMax - 60_000) })
    expect(await scheduled()).toHaveLength(1)
  })

  it('repeats the first answer to an idempotency key when send_at is long past', async () => {
    await addMailer(world.db)
    const emails = createAcceptEmails({
      db: world.db,
      failpoints: { hit: () => undefined },
      disk: noDiskGuard,
      usageCounts: noUsageCounts,
    })
    const at = Date.now() + HOUR_MS
    const email = checkEmail(emailBody({ send_at: new Date(at).toISOString() }), {
      maxAttempts: 5,
      expiresInMs: 1_000,
    })
    const request = {
      tenantId: 'tn_a',
      email,
      traceparent: TRACEPARENT,
      isTest: false,
      idempotency: { key: 'k', bodyHash: Buffer.alloc(32) },
    }
    const first = await emails.accept(request)
    // As if two hours had gone by since.
    const earlier = newUlid()
    await world.db.query('update sending_idempotency set ref_id = $1', [earlier])
    const sendAt = new Date(Date.now() - 2 * HOUR_MS)
    expect(await emails.accept({ ...request, email: { ...email, sendAt } })).toEqual({
      isReplay: true,
      refId: earlier,
      isScheduled: false,
      suppressed: [],
    })
    expect(first).toMatchObject({ isReplay: false, isScheduled: true })
  })
})

describe('[contract 5] cancelling', () => {
  it('cancels an email that waits for its time: rejected, without an event, never sent', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db, { to: two, send_at: ahead(HOUR_MS) })
    const other = await accept(world.db, { send_at: ahead(HOUR_MS) })
    expect(await cancelEmail(world.db, 'tn_a', refId)).toEqual({
      cancelled: 2,
      recipients: [
        { email: 'ada@example.com', type: 'to', status: 'rejected' },
        { email: 'bob@example.com', type: 'to', status: 'rejected' },
      ],
    })
    await makeDue()
    await world.sender().runOnce()
    expect(await statuses(refId)).toEqual(['rejected', 'rejected'])
    expect(await statuses(other)).toEqual(['delivered'])
    expect(server.messages).toHaveLength(1)
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['MAIL_DELIVERED'])
  })

  it('cancels nothing more when a cancellation is repeated', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, { send_at: ahead(HOUR_MS) })
    const recipients = [{ email: 'ada@example.com', type: 'to', status: 'rejected' }]
    const answers = await Promise.all([1, 2, 3].map(() => cancelEmail(world.db, 'tn_a', refId)))
    expect(answers.map(({ cancelled }) => cancelled).sort()).toEqual([0, 0, 1])
    expect(await cancelEmail(world.db, 'tn_a', refId)).toEqual({ cancelled: 0, recipients })
  })

  it('cancels queued recipients, and leaves attempted ones alone', async () => {
    const server = await world.serve(({ recipient, phase }) =>
      phase === 'rcpt' && recipient?.startsWith('ada') ? { reply: '450 4.2.1 later' } : undefined,
    )
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db, { to: two })
    await world.sender({ retryScheduleMs: [HOUR_MS] }).runOnce()
    const later = await accept(world.db, {})
    expect(await cancelEmail(world.db, 'tn_a', refId)).toEqual({
      cancelled: 0,
      recipients: [
        { email: 'ada@example.com', type: 'to', status: 'deferred' },
        { email: 'bob@example.com', type: 'to', status: 'delivered' },
      ],
    })
    expect(await cancelEmail(world.db, 'tn_a', later)).toMatchObject({ cancelled: 1 })
    expect(await queueOf(world.db)).toMatchObject([{ ref_id: refId, n: 0, attempt: 2 }])
  })

  it('stops an attempt that has not reached its commit point, and no other attempt', async () => {
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const server = await world.serve(({ phase }) => {
      if (phase !== 'rcpt') return undefined
      reached.resolve()
      return { after: gate.promise }
    })
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    const running = world.sender().runOnce()
    await reached.promise
    expect(await cancelEmail(world.db, 'tn_a', refId)).toMatchObject({ cancelled: 1 })
    gate.resolve()
    await running
    expect(server.messages).toEqual([])
    expect(await statuses(refId)).toEqual(['rejected'])
    expect(await eventsOf(world.db)).toEqual([])
  })

  it('does not cancel a recipient after the commit point', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query(`update sending_queue set phase = 'dot', fence = 1`)
    expect(await cancelEmail(world.db, 'tn_a', refId)).toMatchObject({ cancelled: 0 })
    expect(await queueOf(world.db)).toHaveLength(1)
  })

  it('waits for a row that another transaction has locked', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const held = Promise.withResolvers<void>()
    const taken = Promise.withResolvers<void>()
    const holding = world.db.transaction(async (tx) => {
      await tx.query('select from sending_queue for update')
      taken.resolve()
      await held.promise
    })
    await taken.promise
    const first = await world.db.transaction((tx) => dropUnattempted(tx, 'tn_a', refId))
    expect(first).toEqual([])
    const cancelling = cancelEmail(world.db, 'tn_a', refId)
    held.resolve()
    await holding
    expect(await cancelling).toMatchObject({ cancelled: 1 })
  })

  it('answers 404 for an email of another tenant, an unknown id and a malformed id', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, { send_at: ahead(HOUR_MS) })
    for (const [tenantId, id] of [
      ['tn_b', refId],
      ['tn_a', newUlid()],
      ['tn_a', 'nonsense'],
    ] as const)
      await expect(cancelEmail(world.db, tenantId, id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await statuses(refId)).toEqual(['scheduled'])
  })
})

it('finds due scheduled emails by index, without reading the queue', async () => {
  await world.db.query(
    `insert into sending_scheduled
       select 'tn_' || i % 100, lpad(i::text, 26, '0'), 0, 'smtp_' || i % 1000, i % 64,
              now() + interval '1 minute' + i * interval '1 second', 5, now() + interval '9 days', 1
         from generate_series(1, 50000) i`,
  )
  await world.db.query('analyze sending_scheduled')
  const plans: SeenPlan[] = []
  for (const mode of ['force_custom_plan', 'force_generic_plan'] as const)
    await world.db.transaction(async (tx) => {
      const seen = explaining(tx, plans, mode)
      await isAnyDue(seen, everyBucket)
      await moveDue(seen, everyBucket)
      await dropUnattempted(seen, 'tn_1', '1'.padStart(26, '0'))
    })
  const scans = plans.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => node['Node Type'] === 'Seq Scan')
      .map((node) => `${name}: ${node['Relation Name']}`),
  )
  expect(plans).toHaveLength(8)
  expect(scans.filter((scan) => scan.endsWith('sending_scheduled'))).toEqual([])
})
