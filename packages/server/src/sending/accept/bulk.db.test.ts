import { describe, expect, it } from 'vitest'
import { accept, queueOf, useSending } from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { isBulk } from '../record/email.ts'
import { checkEmail } from './check-email.ts'
import { queueScheduled } from './queue-scheduled.ts'

const world = useSending()
const to = (count: number, name = 'r') =>
  Array.from({ length: count }, (_, i) => ({ email: `${name}${i}@example.com` }))
const defaults = { maxAttempts: 5, expiresInMs: 1_000 }
const body = {
  from: { email: 'news@example.com' },
  to: to(1),
  subject: 'Hello',
  content: [{ type: 'text/plain' as const, value: 'Hello' }],
}

it.each([
  ['one recipient', {}, false],
  ['a campaign', { campaign_id: 'spring' }, true],
  ['many recipients', { to: to(20) }, true],
  ['some recipients', { to: to(10), cc: to(9, 'cc') }, false],
])('counts %s as bulk mail: %j', (_, change, expected) => {
  expect(isBulk(checkEmail({ ...body, ...change }, defaults))).toBe(expected)
})

describe('bulk mail of a mailer', () => {
  it('sends other mail of the same mailer before bulk mail', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db, { to: to(60) })
    await accept(world.db, { to: [{ email: 'reset@example.com' }] })
    await world.sender().runOnce()
    const order = server.messages.map((one) => one.recipients[0])
    expect(order).toHaveLength(61)
    expect(order.indexOf('reset@example.com')).toBeLessThan(2)
  })

  it('sends new mail before bulk mail that was claimed ahead', async () => {
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const server = await world.serve(({ phase, attempt, recipient }) => {
      if (phase !== 'rcpt' || recipient !== 'r0@example.com' || attempt !== 1) return undefined
      reached.resolve()
      return { after: gate.promise }
    })
    const { mailerId } = await addMailer(world.db, {
      port: server.port,
      limits: { connections: 1 },
    })
    await accept(world.db, { to: to(20) })
    const sender = world.sender()
    const running = sender.runOnce()
    await reached.promise
    const refId = await accept(world.db, { to: [{ email: 'reset@example.com' }] })
    sender.wakeups.wake([{ tenantId: 'tn_a', mailerId, bucket: 0 }])
    const woken = sender.runOnce()
    const phaseOfReset = async () =>
      (await queueOf(world.db)).find((row) => row.ref_id === refId)?.phase
    await expect.poll(phaseOfReset).toBe('sending')
    gate.resolve()
    await Promise.all([running, woken])
    const order = server.messages.map((one) => one.recipients[0])
    expect(order.indexOf('reset@example.com')).toBeLessThan(3)
    expect(await queueOf(world.db)).toEqual([])
  })

  it('gives bulk mail a share of the turns while other mail keeps coming', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    for (let i = 0; i < 40; i++) await accept(world.db, { to: to(1, `small${i}-`) })
    await accept(world.db, { to: to(20, 'bulk') })
    await world.sender().runOnce()
    const order = server.messages.map((one) => one.recipients[0] ?? '')
    expect(order).toHaveLength(60)
    const early = order.slice(0, 40).filter((name) => name.startsWith('bulk')).length
    expect(early).toBeGreaterThanOrEqual(6)
    expect(early).toBeLessThanOrEqual(14)
  })

  it('gives bulk mail a share of a narrow rate limit', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port, limits: { per_day: 8, connections: 1 } })
    for (let i = 0; i < 20; i++) await accept(world.db, { to: to(1, `small${i}-`) })
    await accept(world.db, { to: to(20, 'bulk') })
    await world.sender().runOnce()
    const order = server.messages.map((one) => one.recipients[0] ?? '')
    expect(order).toHaveLength(8)
    expect(order.filter((name) => name.startsWith('bulk')).length).toBeGreaterThan(0)
  })

  it('keeps scheduled bulk mail marked as bulk', async () => {
    await addMailer(world.db)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    await accept(world.db, { campaign_id: 'spring', send_at: sendAt })
    await accept(world.db, { send_at: sendAt })
    await world.db.query('update sending_scheduled set due_at = now()')
    await queueScheduled(
      world.db,
      Array.from({ length: 64 }, (_, i) => i),
    )
    const { rows } = await world.db.query('select is_bulk from sending_queue order by is_bulk')
    expect(rows).toEqual([{ is_bulk: false }, { is_bulk: true }])
  })
})
