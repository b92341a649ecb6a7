import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import type { Tx } from '../db/index.ts'
import { type Claimed, createJobs, dropOld, findByTenant, type JobTable } from './jobs.ts'

interface Key {
  readonly tenantId: string
  readonly jobId: string
}
type Job = Claimed<Key> & { readonly byteCount: number }

const LEASE_MS = 60_000
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
  for (const [table, more] of [
    ['leased', ', busy_until timestamptz'],
    ['moved', ''],
  ])
    await database.db.query(
      `create table ${table} (tenant_id text, job_id text, byte_count int not null default 7,
         due_at timestamptz not null, tries smallint not null default 0, fence bigint not null default 0${more},
         primary key (tenant_id, job_id))`,
    )
})
afterAll(() => database.close())

const inTx = <T>(work: (tx: Tx) => Promise<T>) => database.db.transaction(work)
const key = (jobId: string, tenantId = 'tn_a'): Key => ({ tenantId, jobId })
const idsOf = (jobs: readonly Key[]) => jobs.map(({ jobId }) => jobId).sort()

describe.each<[string, JobTable<Key>['claimedUntil']]>([
  ['leased', 'busy_until'],
  ['moved', 'due_at'],
])('a job in the table "%s", claimed until %s', (table, claimedUntil) => {
  const { isDue, ...jobs } = createJobs<Key, Job>({
    ...{ name: `test_${table}`, table, claimedUntil },
    key: ['tenantId', 'jobId'],
    columns: ['byte_count'],
  })

  const add = (job: Key, dueInS = -1) =>
    database.db.query(
      `insert into ${table} (tenant_id, job_id, due_at) values ($1, $2, now() + $3 * interval '1 s')`,
      [job.tenantId, job.jobId, dueInS],
    )
  const claim = (...keys: Key[]) => inTx((tx) => jobs.claim(tx, keys, LEASE_MS))
  async function claimOne(job: Key): Promise<Job> {
    const [claimed] = await claim(job)
    if (claimed === undefined) throw new Error('it is not due')
    return claimed
  }
  /** As time does. */
  const endLeases = () =>
    database.db.query(`update ${table} set ${claimedUntil} = now() - interval '1 s'`)
  const rows = async () =>
    (
      await database.db.query(
        `select job_id, tries, round(extract(epoch from ${claimedUntil} - now()))::int as lease_s,
                round(extract(epoch from due_at - now()))::int as due_s from ${table} order by 1`,
      )
    ).rows

  beforeEach(() => database.db.query(`truncate ${table}`))

  it('is claimed when it is due, with its columns, as a try and under a new fence', async () => {
    await add(key('j1'))
    await add(key('j2'), 60)
    const claimed = await claim(key('j1'), key('j2'), key('j3'))
    expect(claimed).toEqual([{ ...key('j1'), byteCount: 7, tries: 1, fence: '1' }])
    expect(await rows()).toMatchObject([{ job_id: 'j1', tries: 1, lease_s: 60 }, { tries: 0 }])
  })

  it('is claimed by one of many at once', async () => {
    const all = Array.from({ length: 40 }, (_, i) => key(`j${i}`))
    for (const one of all) await add(one)
    const claims = await Promise.all(Array.from({ length: 6 }, () => claim(...all)))
    expect(idsOf(claims.flat())).toEqual(idsOf(all))
  })

  it('is locked in the same order by all, so that none of them fails', async () => {
    const all = Array.from({ length: 40 }, (_, i) => key(`j${i}`))
    for (const one of all) await add(one)
    const claimed = await claim(...all)
    const both = [claimed, claimed.toReversed()]
    await Promise.all(
      Array.from({ length: 8 }, (_, i) => inTx((tx) => jobs.renew(tx, both[i % 2] ?? [], 1_000))),
    )
    expect(await inTx((tx) => jobs.hold(tx, claimed.toReversed()))).toHaveLength(40)
  })

  it('is free again after its lease, and a process that had it then changes nothing', async () => {
    await add(key('j1'))
    const late = await claimOne(key('j1'))
    expect(await claim(key('j1'))).toEqual([])
    await endLeases()
    const next = await claimOne(key('j1'))
    expect(next).toMatchObject({ tries: 2, fence: '2' })
    await inTx((tx) => jobs.renew(tx, [late], 1))
    await inTx((tx) => jobs.putOff(tx, [{ ...late, waitMs: 0, isTry: false }]))
    expect(await inTx((tx) => jobs.hold(tx, [late]))).toEqual([])
    expect(await jobs.end(database.db, [late])).toBe(0)
    expect(await rows()).toMatchObject([{ tries: 2, lease_s: 60 }])
    expect(await inTx((tx) => jobs.hold(tx, [next]))).toEqual([{ ...key('j1'), fence: '2' }])
    expect(await jobs.end(database.db, [next, late])).toBe(1)
    expect(await rows()).toEqual([])
  })

  it('stays claimed for as long as it is renewed', async () => {
    await add(key('j1'))
    const claimed = await claimOne(key('j1'))
    await endLeases()
    await inTx((tx) => jobs.renew(tx, [claimed], LEASE_MS))
    expect(await claim(key('j1'))).toEqual([])
    expect(await jobs.end(database.db, [claimed])).toBe(1)
  })

  it('is passed over by others while a transaction holds it, also after its lease', async () => {
    await add(key('j1'))
    await add(key('j2'))
    const claimed = await claimOne(key('j1'))
    await endLeases()
    await inTx(async (tx) => {
      await jobs.hold(tx, [claimed])
      expect(idsOf(await claim(key('j1'), key('j2')))).toEqual(['j2'])
      await jobs.end(tx, [claimed])
    })
    expect(await claim(key('j1'))).toEqual([])
  })

  it('that is put off is due after its wait, and counts as a try where it was one', async () => {
    await add(key('j1'))
    await add(key('j2'))
    const claimed = (await claim(key('j1'), key('j2'))).toSorted((a, b) =>
      a.jobId < b.jobId ? -1 : 1,
    )
    const waits = claimed.map((job, i) => ({ ...job, waitMs: 30_000 + i * 10_000, isTry: i === 1 }))
    await inTx((tx) => jobs.putOff(tx, waits))
    expect(await rows()).toMatchObject([
      { tries: 0, due_s: 30 },
      { tries: 1, due_s: 40 },
    ])
    expect(await jobs.end(database.db, claimed)).toBe(0)
    await database.db.query(`update ${table} set due_at = now()`)
    expect((await claimOne(key('j1'))).tries).toBe(1)
    expect((await claimOne(key('j2'))).tries).toBe(2)
  })

  it('that is never finished is claimed on and on, and counted to a bound', async () => {
    await add(key('j1'))
    await database.db.query(`update ${table} set tries = 1000`)
    expect((await claimOne(key('j1'))).tries).toBe(1_001)
    await endLeases()
    expect((await claimOne(key('j1'))).tries).toBe(1_001)
  })

  it('is found tenant by tenant, and a tenant with nothing due hides no other', async () => {
    const found = findByTenant({
      ...{ name: `test_${table}.find`, table, isDue, orderBy: 'job_id' },
      columns: ['job_id', 'byte_count'],
    })
    const find = async (after: string) =>
      (await database.db.query<Key>(found, [after, 2, 2])).rows.map(
        ({ tenantId, jobId }) => `${tenantId} ${jobId}`,
      )
    for (const tenantId of ['tn_a', 'tn_b', 'tn_c', 'tn_d'])
      for (const jobId of ['j1', 'j2', 'j3']) await add(key(jobId, tenantId))
    await claim(key('j1', 'tn_a'), key('j2', 'tn_a'), key('j3', 'tn_a'), key('j1', 'tn_c'))
    expect(await find('')).toEqual(['tn_b j1', 'tn_b j2', 'tn_c j2', 'tn_c j3'])
    expect(await find('tn_c')).toEqual(['tn_d j1', 'tn_d j2'])
    expect(await find('tn_d')).toEqual([])
  })

  it('that is old is dropped, the oldest first, unless somebody is at it', async () => {
    for (const [i, jobId] of ['j1', 'j2', 'j3', 'j4'].entries()) await add(key(jobId), i - 100)
    await add(key('j5'), -1)
    const drop = dropOld({
      ...{ name: `test_${table}.drop`, table, since: 'due_at' },
      key: ['tenant_id', 'job_id'],
    })
    await inTx(async (tx) => {
      await tx.query(`select from ${table} where job_id = 'j1' for update`)
      expect(await drop(database.db, 50_000, 2)).toBe(2)
    })
    expect(await rows()).toMatchObject([{ job_id: 'j1' }, { job_id: 'j4' }, { job_id: 'j5' }])
    expect(await drop(database.db, 50_000, 9)).toBe(2)
  })
})
