import { describe, expect, it } from 'vitest'
import {
  accept,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, unsubscribe } from '../../../test/sending.ts'
import { newId } from '../../platform/ids.ts'

const world = useSending()
const shorts = async () => (await eventsOf(world.db)).map(inShort)
const to = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ email: `r${i}@example.com` }))

/** As if what was permitted until now had been so long ago. */
async function letPass(ms: number): Promise<void> {
  const { rows } = await world.db.query<{ mailer_id: string; used: Record<string, number[][]> }>(
    'select mailer_id, used from mailers_permission',
  )
  for (const { mailer_id: mailerId, used } of rows) {
    const earlier = Object.entries(used).map(([name, spans]) => [
      name,
      spans.map(([first = 0, last = 0, count]) => [first - ms, last - ms, count]),
    ])
    await world.db.query('update mailers_permission set used = $2 where mailer_id = $1', [
      mailerId,
      JSON.stringify(Object.fromEntries(earlier)),
    ])
  }
}

describe('a mailer with a limit', () => {
  it.each([
    ['per_second', 1_100],
    ['per_minute', 60_000],
    ['per_day', 86_400_000],
  ])('obeys %s over all processes, and sends the rest later', async (limit, lengthMs) => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { [limit]: 5 } })
    // One second must not pass between the first and the last of them on a busy machine.
    const isShort = limit === 'per_second'
    await accept(world.db, { to: to(12) })
    const senders = [world.sender(), world.sender(), world.sender()]
    await Promise.all(senders.map((sender) => sender.runOnce()))
    if (!isShort) {
      expect(server.accepted).toBe(5)
      expect(await shorts()).toEqual(Array.from({ length: 5 }, () => 'MAIL_DELIVERED'))
    }
    const waiting = await queueOf(world.db)
    expect(waiting.length).toBeGreaterThan(0)
    for (const row of waiting) expect(row).toMatchObject({ phase: 'waiting', attempt: 1 })
    for (let left = waiting.length; left > 0; left = (await queueOf(world.db)).length) {
      await letPass(lengthMs)
      await world.sender().runOnce()
      expect((await queueOf(world.db)).length).toBe(Math.max(0, left - 5))
    }
    expect(await shorts()).toEqual(Array.from({ length: 12 }, () => 'MAIL_DELIVERED'))
  })

  it('obeys the limit for mail that was interrupted repeatedly', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port, limits: { per_day: 2 } })
    const other = { mailerId: newId('smtp'), email: 'shop@example.com', port: server.port }
    await addMailer(db, other)
    await accept(db, { to: to(5) })
    await accept(db, { from: { email: other.email } })
    await db.query('update sending_queue set interrupted = 2')
    const sender = world.sender()
    for (let i = 0; i < 3; i++) await sender.runOnce()
    expect(server.accepted).toBe(3)
    const held = await queueOf(db)
    expect(held).toHaveLength(3)
    for (const row of held)
      expect(row).toMatchObject({ phase: 'waiting', attempt: 1, interrupted: 2 })
    await letPass(86_400_000)
    await db.query('update sending_queue set due_at = now()')
    await sender.runOnce()
    expect(server.accepted).toBe(5)
  })

  it('wakes by itself when the limit allows more', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_second: 2 } })
    await accept(world.db, { to: to(5) })
    const sender = world.sender({ sweepMs: 2 ** 31 - 1 })
    await sender.start()
    await server.waitForMessages(5)
  })

  it('does not touch rows beyond the limit, and reports that the mailer waits', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_day: 1 } })
    await accept(world.db, { to: to(3) })
    const sender = world.sender()
    await sender.runOnce()
    const before = await world.db.query('select * from sending_queue order by n')
    for (let i = 0; i < 3; i++) await sender.runOnce()
    expect(sender.counts()).toEqual({ limited: 1, paused: 0, inactive: 0, slowed: 0 })
    const after = await world.db.query('select * from sending_queue order by n')
    expect(after.rows).toEqual(before.rows)
    expect(after.rows).toHaveLength(2)
  })

  it('lets waiting mail expire', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_day: 1 } })
    await accept(world.db)
    const late = await accept(world.db)
    const sender = world.sender()
    await sender.runOnce()
    await world.db.query(`update sending_queue set expires_at = now()`)
    await sender.runOnce()
    expect(await recipientsOf(world.db, late)).toMatchObject([{ status: 'expired', attempts: 1 }])
    expect(await shorts()).toEqual(['MAIL_DELIVERED', 'SMTP_ERROR 1 final'])
    expect(server.accepted).toBe(1)
  })

  it('counts every attempt, whatever its outcome, and nothing else', async () => {
    const server = await world.serve({ 'r0@example.com': ['550 5.1.1 no such user'] })
    await addMailer(world.db, { port: server.port, limits: { per_day: 2 } })
    await accept(world.db, { to: to(1) })
    await accept(world.db, { to: [{ email: 'gone@example.com' }] })
    await unsubscribe(world.db, 'gone@example.com')
    await accept(world.db, { to: [{ email: 'bob@example.com' }, { email: 'cy@example.com' }] })
    for (let i = 0; i < 3; i++) await world.sender().runOnce()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final', 'MAIL_DELIVERED'])
    expect(server.messages.map((one) => one.recipients)).toEqual([['bob@example.com']])
    expect(await queueOf(world.db)).toHaveLength(1)
  })

  it('goes on when the limit is raised or removed', async () => {
    const server = await world.serve()
    const { mailerId } = await addMailer(world.db, { port: server.port, limits: { per_day: 1 } })
    await accept(world.db, { to: to(4) })
    const sender = world.sender()
    await sender.start()
    await sender.runOnce()
    expect(server.accepted).toBe(1)
    await world.db.query(
      `update mailers_mailer set limits = '{}', config_version = config_version + 1`,
    )
    await world.sender().runOnce()
    expect(server.accepted).toBe(4)
    await accept(world.db)
    sender.wakeups.wake([{ tenantId: 'tn_a', mailerId, bucket: 0, isChanged: true }])
    await server.waitForMessages(5)
  })

  it('delays no other mailer', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_day: 1 } })
    await accept(world.db, { to: to(50) })
    await addMailer(world.db, { tenantId: 'tn_b', port: server.port })
    await accept(world.db, { to: to(10) }, 'tn_b')
    await world.sender().runOnce()
    expect(server.accepted).toBe(11)
  })
})

describe('a mailer that is deleted', () => {
  it('leaves no rows of its limits behind', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_day: 1 } })
    await accept(world.db, { to: to(2) })
    await world.sender().runOnce()
    await world.db.query('delete from mailers_mailer')
    await drain(world.db, world.sender())
    const { rows } = await world.db.query('select from mailers_permission')
    expect(rows).toEqual([])
  })
})

describe('a server that refuses the rate', () => {
  const tooFast = '454 4.7.0 Throttling failure: Maximum sending rate exceeded'

  it('gets a pause: other mail of its mailer waits without an attempt', async () => {
    const server = await world.serve({ 'r0@example.com': [tooFast] })
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db, { to: to(8) })
    await addMailer(world.db, { tenantId: 'tn_b', port: server.port })
    const sender = world.sender({ retryScheduleMs: [3_600_000] })
    await sender.runOnce()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry'])
    const others = (await queueOf(world.db)).filter(({ n }) => n > 0)
    expect(others).toHaveLength(7)
    for (const row of others) expect(row).toMatchObject({ phase: 'waiting', attempt: 1 })
    expect(sender.counts()).toMatchObject({ paused: 1, slowed: 1 })
    await accept(world.db, { to: [{ email: 'bob@example.com' }] }, 'tn_b')
    await sender.runOnce()
    expect(server.messages.map((one) => one.recipients)).toEqual([['bob@example.com']])
  })

  it('gets the rest after the pause', async () => {
    const server = await world.serve({ 'r0@example.com': [tooFast, 'ok'] })
    await addMailer(world.db, { port: server.port, limits: { connections: 2 } })
    await accept(world.db, { to: to(6) })
    const sender = world.sender({ sweepMs: 2 ** 31 - 1 })
    await sender.start()
    await server.waitForMessages(6)
  })
})
