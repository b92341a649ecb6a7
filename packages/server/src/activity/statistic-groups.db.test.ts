/** Statistics by group: from sums that are kept, exact, and of a bounded number of groups. */
import {
  campaignIdLengthMax,
  type GetStatisticsQuery,
  type StatisticGroup,
} from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { accept, drain, useSending } from '../../test/sender.ts'
import { addMailer, cancelEmail, silent, unsubscribe } from '../../test/sending.ts'
import { createCounterFolder } from '../platform/counters/counter-folder.ts'
import { addCounterChanges, type CounterGroups } from '../platform/counters/counter-store.ts'
import { getStatistics } from './get-statistics.ts'

const world = useSending()
const NOW = new Date('2026-11-20T13:30:00Z')
const fold = (groupsMax?: number) =>
  createCounterFolder({
    db: world.db,
    log: silent,
    ...(groupsMax === undefined ? {} : { groupsMax }),
  }).runOnce()

const read = (group_by: StatisticGroup, query: GetStatisticsQuery = {}, o: { now?: Date } = {}) =>
  getStatistics({ db: world.db, clock: { now: () => o.now ?? new Date() } }, 'tn_a', {
    ...query,
    group_by,
  })

const countsOf = (all: object) =>
  Object.fromEntries(Object.entries(all).filter(([, n]) => n !== 0 && typeof n === 'number'))

const inShort = async (...of: Parameters<typeof read>) => {
  const { groups = [], other = {} } = await read(...of)
  const named = groups.map(({ totals, ...group }) => [Object.values(group)[0], countsOf(totals)])
  return { groups: Object.fromEntries(named), other: countsOf(other) }
}

const add = (groups: CounterGroups, o: { n?: number; at?: string; name?: string } = {}) =>
  world.db.transaction((tx) => {
    const { n = 1, at = NOW.toISOString(), name = 'delivered' } = o
    const of = { tenantId: 'tn_a', subject: 'smtp_1', name, at: new Date(at), n, groups }
    return addCounterChanges(tx, [of])
  })
const domain = (recipient_domain: string) => ({ recipient_domain })

describe('statistics by group', () => {
  it('count real mail by domain, campaign, reason and mailer, before and after they are folded', async () => {
    let isPutOff = false
    const server = await world.serve((now) => {
      if (now.phase !== 'rcpt') return undefined
      if (now.recipient?.startsWith('bob@')) return '550 5.1.1 no such user'
      if (now.recipient?.startsWith('eve@')) return '553 sorry eve@b.example of 17 others'
      if (isPutOff || !now.recipient?.startsWith('carol@')) return undefined
      isPutOff = true
      return '452 4.2.2 mailbox full'
    })
    const { mailerId } = await addMailer(world.db, { port: server.port })
    await emptyTables(world.db, 'suppressions_address')
    await unsubscribe(world.db, 'dora@a.example')
    await accept(world.db, {
      campaign_id: 'spring',
      to: [{ email: 'ada@A.example' }, { email: 'bob@b.example' }, { email: 'dora@a.example' }],
    })
    await accept(world.db, { to: [{ email: 'carol@c.example' }, { email: 'eve@b.example' }] })
    await drain(world.db, world.sender())
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const taken = await accept(world.db, { send_at: later, to: [{ email: 'x@c.example' }] })
    await cancelEmail(world.db, 'tn_a', taken)
    const gone = 'The recipient address does not exist'
    const wanted = {
      recipient_domain: {
        'a.example': { accepted: 1, suppressed: 1, delivered: 1 },
        'b.example': { accepted: 2, failed: 2 },
        'c.example': { accepted: 2, deferred: 1, delivered: 1, rejected: 1 },
      },
      campaign_id: { spring: { accepted: 2, suppressed: 1, delivered: 1, failed: 1 } },
      failed_reason: {
        [gone]: { failed: 1 },
        "The recipient's mailbox is full": { deferred: 1 },
      },
      mailer_id: {
        [mailerId]: {
          accepted: 5,
          suppressed: 1,
          delivered: 2,
          deferred: 1,
          failed: 2,
          rejected: 1,
        },
      },
    }
    for (const turn of ['before', 'after']) {
      for (const by of ['recipient_domain', 'campaign_id', 'mailer_id'] as const)
        expect({ turn, by, ...(await inShort(by)) }).toEqual({
          turn,
          by,
          groups: wanted[by],
          other: {},
        })
      const reasons = await inShort('failed_reason', { interval: 'hour' })
      expect(reasons.groups).toMatchObject(wanted.failed_reason)
      expect(JSON.stringify(reasons)).not.toMatch(/eve|17/)
      await fold()
    }
  })

  it('tell campaigns apart by their whole names', async () => {
    const ids = ['a', 'b'].map((end) => 'x'.repeat(campaignIdLengthMax - 1) + end)
    for (const campaign_id of ids) await add({ campaign_id })
    const groups = Object.fromEntries(ids.map((id) => [id, { delivered: 1 }]))
    for (let turn = 0; turn < 2; turn++) {
      expect(await inShort('campaign_id', { start: '2026-11-20' })).toMatchObject({ groups })
      await fold()
    }
  })

  it('belong to whole days, or with interval=hour to whole hours', async () => {
    await add(domain('a.example'), { at: '2026-11-20T13:00:00Z' })
    await add(domain('a.example'), { at: '2026-11-20T12:59:59.999Z', n: 2 })
    await add(domain('b.example'), { at: '2026-11-19T23:59:59.999Z', n: 4 })
    const hour = { interval: 'hour', start: '2026-11-20T13:15:00Z' } as const
    const days = { start: '2026-11-20', end: '2026-11-20' }
    for (let turn = 0; turn < 2; turn++) {
      expect(await inShort('recipient_domain', hour, { now: NOW })).toEqual({
        groups: { 'a.example': { delivered: 1 } },
        other: {},
      })
      expect((await inShort('recipient_domain', days, { now: NOW })).groups).toEqual({
        'a.example': { delivered: 3 },
      })
      expect((await read('recipient_domain', {}, { now: NOW })).groups).toMatchObject([
        { recipient_domain: 'b.example', totals: { delivered: 4 } },
        { recipient_domain: 'a.example', totals: { delivered: 3 } },
      ])
      await fold()
    }
  })

  it('of very many domains keep the largest of an hour, and sum up the others', async () => {
    for (let i = 0; i < 6; i++) await add(domain(`d${i}.example`), { n: i + 1 })
    await fold(3)
    // One that has its own sum keeps it, however many others there are.
    await add(domain('d5.example'), { n: 10 })
    await add(domain('d1.example'), { n: 100 })
    await add(domain('d9.example'), { n: 1_000 })
    await fold(3)
    for (const interval of ['hour', 'day'] as const)
      expect(await inShort('recipient_domain', { interval }, { now: NOW })).toEqual({
        groups: {
          'd5.example': { delivered: 16 },
          'd4.example': { delivered: 5 },
          'd3.example': { delivered: 4 },
        },
        other: { delivered: 1_106 },
      })
    const { rows } = await world.db.query('select count(*)::int as n from platform_counter_group')
    expect(rows).toEqual([{ n: 8 }])
    // The next hour begins with none.
    await add(domain('d9.example'), { at: '2026-11-20T14:00:00Z' })
    await fold(3)
    const next = { interval: 'hour', start: '2026-11-20T14:00:00Z' } as const
    const now = new Date('2026-11-20T14:30:00Z')
    expect((await inShort('recipient_domain', next, { now })).groups).toEqual({
      'd9.example': { delivered: 1 },
    })
  })

  it('answer at most 200 groups, and what is in no group of them', async () => {
    const of = { tenantId: 'tn_a', subject: 'smtp_1', name: 'sent', at: NOW }
    const changes = Array.from({ length: 250 }, (_, i) => {
      return { ...of, n: i + 1, groups: { campaign_id: `c${i}` } }
    })
    await world.db.transaction((tx) => addCounterChanges(tx, changes))
    for (let turn = 0; turn < 2; turn++) {
      const { groups = [], other } = await read('campaign_id', {}, { now: NOW })
      expect(groups.length).toBe(200)
      expect(groups[0]).toMatchObject({ campaign_id: 'c249', totals: { sent: 250 } })
      expect(other).toMatchObject({ sent: (50 * 51) / 2 })
      // In two rows: one holds at most 200 changes.
      expect(await fold()).toBe(turn === 0 ? 2 : 0)
    }
  })

  it('are of one tenant, and cut what is too long or no text', async () => {
    await add({ campaign_id: `${'x'.repeat(254)}😀\0${'y'.repeat(400)}` })
    await fold()
    const { groups = [] } = await read('campaign_id', {}, { now: NOW })
    expect(groups.map(({ campaign_id: id }) => id?.length)).toEqual([255])
    const clock = { now: () => NOW }
    const others = await getStatistics({ db: world.db, clock }, 'tn_b', { group_by: 'campaign_id' })
    expect(others).toMatchObject({ groups: [], other: { delivered: 0 } })
  })

  it('are kept for 33 days by the hour, and for 400 by the day', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    for (const days of [1, 34, 402]) await add(domain('a.example'), { at: ago(days) })
    await fold()
    await fold()
    const { rows } = await world.db.query(
      'select span, count(*)::int as n from platform_counter_group group by 1 order by 1',
    )
    expect(rows).toEqual([
      { span: 'day', n: 2 },
      { span: 'hour', n: 1 },
    ])
  })

  it.each([
    ['recipient_domain', { mailer_id: 'smtp_1' }, '/mailer_id'],
    ['campaign_id', { interval: 'hour', start: '2026-10-19', end: '2026-10-20' }, '/start'],
  ] as const)('by %s refuse %j by its path', async (by, query, path) => {
    await expect(read(by, query, { now: NOW })).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path }],
    })
    expect(await read('mailer_id', query, { now: NOW })).toMatchObject({ groups: [] })
  })
})
