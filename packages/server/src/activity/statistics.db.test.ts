/** Statistics: each fact is counted once, in its own transaction, whichever process folds. */
import { type GetStatisticsQuery, getStatisticsAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { accept, drain, useSending } from '../../test/sender.ts'
import { addMailer, cancelEmail, silent, unsubscribe } from '../../test/sending.ts'
import { createCounterFolder } from '../platform/counters/counter-folder.ts'
import { addCounterChanges } from '../platform/counters/counter-store.ts'
import { getStatistics } from './get-statistics.ts'

const world = useSending()
const NOW = new Date('2026-11-20T13:30:00Z')
const folder = (piece?: number) =>
  createCounterFolder({ db: world.db, log: silent, ...(piece === undefined ? {} : { piece }) })

async function read(query: GetStatisticsQuery = {}, o: { tenantId?: string; now?: Date } = {}) {
  const clock = { now: () => o.now ?? new Date() }
  const found = await getStatistics({ db: world.db, clock }, o.tenantId ?? 'tn_a', query)
  const body = { success: true, message: 'm', statistics: found }
  expect(Check(getStatisticsAnswer, body)).toBe(true)
  return found
}

const countsOf = (all: object) =>
  Object.fromEntries(Object.entries(all).filter(([, n]) => n !== 0 && typeof n === 'number'))

const add = (at: string, n: number, name = 'delivered', subject = 'smtp_1', tenantId = 'tn_a') =>
  world.db.transaction((tx) =>
    addCounterChanges(tx, [{ tenantId, subject, name, at: new Date(at), n }]),
  )

describe('statistics', () => {
  it('count real mail, before and after they are folded', async () => {
    let isPutOff = false
    const server = await world.serve((now) => {
      if (now.phase !== 'rcpt') return undefined
      if (now.recipient?.startsWith('bob@')) return '550 5.1.1 no such user'
      if (isPutOff || !now.recipient?.startsWith('carol@')) return undefined
      isPutOff = true
      return '450 4.2.0 later'
    })
    const { mailerId } = await addMailer(world.db, { port: server.port })
    await emptyTables(world.db, 'suppressions_address')
    await unsubscribe(world.db, 'dora@example.com')
    const to = ['ada', 'bob', 'carol', 'dora'].map((name) => ({ email: `${name}@example.com` }))
    await accept(world.db, { to })
    await drain(world.db, world.sender())
    const taken = await accept(world.db, {
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    await cancelEmail(world.db, 'tn_a', taken)
    await cancelEmail(world.db, 'tn_a', taken)
    const wanted = {
      accepted: 4,
      suppressed: 1,
      delivered: 2,
      deferred: 1,
      failed: 1,
      rejected: 1,
    }
    const before = await read()
    expect(countsOf(before.totals)).toEqual(wanted)
    expect(before.mailers.map(countsOf)).toEqual([wanted])
    expect(before.mailers[0]?.mailer_id).toBe(mailerId)
    expect(before.rates).toMatchObject({ delivery: 2 / 3, opens: 0 })
    expect(await folder().runOnce()).toBeGreaterThan(0)
    expect(await folder().runOnce()).toBe(0)
    expect((await read()).totals).toEqual(before.totals)
    expect((await read({}, { tenantId: 'tn_b' })).mailers).toEqual([])
    expect(countsOf((await read({ mailer_id: mailerId })).totals)).toEqual(wanted)
    for (const mailer_id of ['smtp_other', '', 'x'.repeat(500)])
      expect(countsOf((await read({ mailer_id })).totals)).toEqual({})
  })

  it('belong to their hour and day, and include empty ones', async () => {
    await add('2026-11-20T12:59:59.999Z', 1)
    await add('2026-11-20T13:00:00.000Z', 2)
    await add('2026-11-19T23:59:59.999Z', 4)
    await add('2026-11-13T23:59:59.999Z', 8)
    const hours = await read(
      { interval: 'hour', start: '2026-11-20T11:15:00Z', end: '2026-11-20T13:15:00Z' },
      { now: NOW },
    )
    expect(hours).toMatchObject({
      start: '2026-11-20T11:00:00.000Z',
      end: '2026-11-20T14:00:00.000Z',
      totals: { delivered: 3 },
    })
    expect(hours.intervals.map(({ at, delivered }) => [at, delivered])).toEqual([
      ['2026-11-20T11:00:00.000Z', 0],
      ['2026-11-20T12:00:00.000Z', 1],
      ['2026-11-20T13:00:00.000Z', 2],
    ])
    const week = await read({}, { now: NOW })
    expect(week.intervals.map(({ at, delivered }) => [at.slice(8, 10), delivered])).toEqual(
      ['14', '15', '16', '17', '18', '19', '20'].map((day, i) => [day, [0, 0, 0, 0, 0, 4, 3][i]]),
    )
    const days = await read({ start: '2026-11-13', end: '2026-11-13' }, { now: NOW })
    expect(days.intervals).toMatchObject([{ at: '2026-11-13T00:00:00.000Z', delivered: 8 }])
  })

  it('accept the end of the year 9999', async () => {
    const last = { start: '9999-12-30', end: '9999-12-31' }
    for (const interval of ['hour', 'day'] as const)
      expect((await read({ ...last, interval })).end).toBe('9999-12-31T00:00:00.000Z')
  })

  it('are folded once by several processes, piece by piece', async () => {
    for (let i = 0; i < 40; i++) await add('2026-11-20T13:00:00Z', 1, 'opens', `smtp_${i % 3}`)
    const folded = await Promise.all([folder(3), folder(4), folder(5)].map((one) => one.runOnce()))
    expect(folded.reduce((sum, n) => sum + n, 0) + (await folder().runOnce())).toBe(40)
    await add('2026-11-20T13:00:00Z', -1, 'opens', 'smtp_0')
    await folder().runOnce()
    const { rows } = await world.db.query('select count(*)::int as n from platform_counter')
    expect(rows).toEqual([{ n: 3 }])
    expect((await read({}, { now: NOW })).totals.opens).toBe(39)
  })

  it('ignore rolled-back transactions', async () => {
    const failing = world.db.transaction(async (tx) => {
      const of = { tenantId: 'tn_a', subject: 's', name: 'failed' }
      await addCounterChanges(tx, [{ ...of, at: NOW, n: 1 }])
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await read({}, { now: NOW })).totals.failed).toBe(0)
  })

  it('are kept for 400 days', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    await add(ago(401), 1)
    await add(ago(399), 2)
    await folder().runOnce()
    await folder().runOnce()
    const { rows } = await world.db.query('select n::int from platform_counter')
    expect(rows).toEqual([{ n: 2 }])
  })

  it.each([
    [{ start: 'x' }, '/start'],
    [{ end: 'x' }, '/end'],
    [{ start: '2026-01-02', end: '2026-01-01' }, '/start'],
    [{ start: '2026-11-21' }, '/start'],
    [{ start: '2025-01-01', end: '2026-11-20' }, '/start'],
    [{ start: '2026-10-01', end: '2026-11-20', interval: 'hour' }, '/start'],
  ] as const)('refuse %j by its path', async (query, path) => {
    await expect(read(query, { now: NOW })).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path }],
    })
  })
})
