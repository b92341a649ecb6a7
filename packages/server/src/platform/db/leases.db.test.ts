import fc from 'fast-check'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { createDb } from './db.ts'
import { type BucketLeases, bucketCount, bucketOf, createBucketLeases } from './leases.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase
let role = 'role0'
let monotonicMs = 0

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => {
  role = `role${Number(role.slice(4)) + 1}`
  monotonicMs = 0
})

/** Long enough that nothing expires by itself; tests call runOnce and move the clocks. */
const ttlMs = 600_000

function member(memberId: string, db = database.db): BucketLeases {
  return createBucketLeases({ db, role, memberId, ttlMs, log, monotonicMs: () => monotonicMs })
}

async function rounds(members: readonly BucketLeases[], count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) for (const one of members) await one.runOnce()
}

/** As if a member had been killed more than a TTL ago: it released nothing. */
async function letExpire(memberId: string): Promise<void> {
  for (const table of ['platform_member', 'platform_lease'])
    await database.db.query(
      `update ${table} set expires_at = clock_timestamp() - interval '1 ms' where role = $1 and member_id = $2`,
      [role, memberId],
    )
}

const all = Array.from({ length: bucketCount }, (_, bucket) => bucket)
const sizes = (members: readonly BucketLeases[]) => members.map((one) => one.owned().size)
const owners = (members: readonly BucketLeases[]) =>
  members.flatMap((one) => [...one.owned()]).sort((a, b) => a - b)

describe('shared buckets', () => {
  it('all belong to one member, or in disjoint fair shares to several', async () => {
    const members = [member('a'), member('b'), member('c')]
    await rounds(members.slice(0, 1), 1)
    expect(sizes(members)).toEqual([64, 0, 0])
    await rounds(members, 3)
    expect(sizes(members)).toEqual([22, 21, 21])
    expect(owners(members)).toEqual(all)
  })

  it('shared buckets of a stopped member move at once, each with a higher epoch', async () => {
    const [a, b] = [member('a'), member('b')]
    await rounds([a, b], 3)
    const before = new Map([...b.owned()].map((bucket) => [bucket, b.epochOf(bucket) ?? 0]))
    await b.stop()
    expect(b.owned().size).toBe(0)
    await a.runOnce()
    expect(owners([a])).toEqual(all)
    for (const [bucket, epoch] of before) expect(a.epochOf(bucket)).toBe(epoch + 1)
  })

  it('shared buckets of a killed member move when its lease has expired, not before', async () => {
    const [a, b] = [member('a'), member('b')]
    await rounds([a, b], 3)
    await a.runOnce()
    expect(sizes([a])).toEqual([32])
    await letExpire('b')
    await a.runOnce()
    expect(owners([a])).toEqual(all)
  })

  it('keep their epoch while the owner stays the same', async () => {
    const a = member('a')
    await rounds([a], 4)
    expect(all.map((bucket) => a.epochOf(bucket))).toEqual(all.map(() => 1))
  })

  it('end in a fair, complete and disjoint division after any arrivals and failures', async () => {
    const what = fc.constantFrom('run', 'run', 'run', 'work', 'rest', 'stop', 'kill')
    const step = fc.record({ who: fc.nat(4), what })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        role = `role${Number(role.slice(4)) + 1}`
        const members = new Map<number, BucketLeases>()
        const epochs = new Map<number, number>()
        // Those with something under way in every second bucket.
        const busy = new Set<number>()
        for (const { who, what } of steps) {
          const one = members.get(who) ?? member(`m${who}`)
          if (!members.has(who))
            one.usedBy({
              isFree: (bucket) => bucket % 2 === 0 || !busy.has(who),
              giveBack: () => undefined,
              giveBackMsMax: 1,
            })
          if (what === 'work') busy.add(who)
          else if (what === 'rest') busy.delete(who)
          else if (what === 'run') {
            await one.runOnce()
            members.set(who, one)
            for (const bucket of one.owned()) {
              expect(one.epochOf(bucket)).toBeGreaterThanOrEqual(epochs.get(bucket) ?? 1)
              epochs.set(bucket, one.epochOf(bucket) ?? 0)
            }
          } else {
            if (what === 'stop') await one.stop()
            else await letExpire(`m${who}`)
            members.delete(who)
          }
          const owned = owners([...members.values()])
          expect(new Set(owned).size).toBe(owned.length)
        }
        busy.clear()
        const left = [...members.values()]
        await rounds(left, 3)
        if (left.length === 0) return
        expect(owners(left)).toEqual(all)
        expect(Math.max(...sizes(left)) - Math.min(...sizes(left))).toBeLessThanOrEqual(1)
      }),
      { numRuns: 15 },
    )
  })
})

describe('a bucket that is given back', () => {
  /** Work in buckets, which lasts until the test ends it. */
  function use(leases: BucketLeases, giveBackMsMax = 30_000) {
    const busy = new Set<number>()
    const asked: number[][] = []
    const lookAgain = leases.usedBy({
      isFree: (bucket) => !busy.has(bucket),
      giveBack: (buckets) => asked.push([...buckets]),
      giveBackMsMax,
    })
    return { busy, asked, lookAgain }
  }

  it('stays with its owner while work is under way in it, and then moves', async () => {
    const [a, b] = [member('a'), member('b')]
    const { busy, asked } = use(a)
    await a.runOnce()
    for (const bucket of [3, 50, 60]) busy.add(bucket)
    await rounds([b, a, b], 1)
    // Bucket 3 is not asked for; all that was free has moved.
    expect(asked).toEqual([[50, 60]])
    expect(sizes([a, b])).toEqual([34, 30])
    expect(owners([a]).slice(-2)).toEqual([50, 60])
    busy.delete(50)
    await rounds([a, b], 1)
    expect(asked).toEqual([[50, 60], [60]])
    busy.delete(60)
    await rounds([a, b], 1)
    expect(asked).toEqual([[50, 60], [60], []])
    expect(sizes([a, b])).toEqual([32, 32])
    expect(owners([a, b])).toEqual(all)
  })

  it('stays for a bounded time, whatever is under way', async () => {
    const [a, b] = [member('a'), member('b')]
    use(a).busy.add(63)
    await rounds([a, b, a], 1)
    expect(a.owned().has(63)).toBe(true)
    monotonicMs = 29_999
    await rounds([a, b], 1)
    expect(a.owned().has(63)).toBe(true)
    monotonicMs = 30_000
    await rounds([a, b], 1)
    expect(owners([a, b])).toEqual(all)
    expect(b.owned().has(63)).toBe(true)
  })

  it('stays when no other member is left to take it, and its user is told', async () => {
    const [a, b] = [member('a'), member('b')]
    const { busy, asked } = use(a)
    busy.add(63)
    await rounds([a, b, a], 1)
    await b.stop()
    await a.runOnce()
    expect(asked).toEqual([[63], []])
    expect(owners([a])).toEqual(all)
    expect(a.epochOf(63)).toBe(1)
  })

  it('is lost with the lease', async () => {
    const [a, b] = [member('a'), member('b')]
    const { busy, asked } = use(a)
    busy.add(63)
    await rounds([a, b, a], 1)
    await a.stop()
    expect(asked).toEqual([[63], []])
    await b.runOnce()
    expect(owners([b])).toEqual(all)
  })

  it('moves by itself as soon as it is free', async () => {
    const [a, b] = [member('a'), member('b')]
    const { busy, lookAgain } = use(a)
    busy.add(63)
    await a.start()
    await b.start()
    await a.runOnce()
    expect(a.owned().has(63)).toBe(true)
    // Its next round by itself would be in 50 s.
    const isGiven = new Promise<void>((resolve) => a.onChange(resolve))
    busy.delete(63)
    lookAgain()
    lookAgain()
    await isGiven
    expect(a.owned().has(63)).toBe(false)
    for (const one of [a, b]) await one.stop()
  })

  it('moves by itself when it became free during a round', async () => {
    const [a, b] = [member('a'), member('b')]
    let isFree = false
    a.usedBy({
      isFree: () => isFree,
      giveBack: () => {
        isFree = true
      },
      giveBackMsMax: 30_000,
    })
    await a.start()
    await b.start()
    const isGiven = new Promise<void>((resolve) => a.onChange(resolve))
    await a.runOnce()
    await isGiven
    expect(a.owned().size).toBe(32)
    for (const one of [a, b]) await one.stop()
  })
})

describe('a race', () => {
  it('between an expired owner and a new one leaves each bucket with one owner', async () => {
    const [a, b] = [member('a'), member('b')]
    for (let time = 0; time < 10; time += 1) {
      await rounds([a, b], 2)
      await letExpire('a')
      await Promise.all([a.runOnce(), b.runOnce()])
      const { rows } = await database.db.query<{ bucket: number; member_id: string }>(
        'select bucket, member_id from platform_lease where role = $1',
        [role],
      )
      for (const row of rows) {
        expect(a.owned().has(row.bucket)).toBe(row.member_id === 'a')
        expect(b.owned().has(row.bucket)).toBe(row.member_id === 'b')
      }
    }
  })
})

describe('a lost database', () => {
  it('ends ownership when the own clock passes the lease less a margin', async () => {
    const db = createDb({ url: database.url, poolMax: 1, log, applicationName: 'lost' })
    const a = member('a', db)
    await a.runOnce()
    await db.close()
    await expect(a.runOnce()).rejects.toThrow()
    monotonicMs = ttlMs * 0.9 - 1
    expect(a.owned().size).toBe(64)
    expect(a.epochOf(0)).toBe(1)
    monotonicMs = ttlMs * 0.9
    expect(a.owned().size).toBe(0)
    expect(a.epochOf(0)).toBeUndefined()
    await a.stop()
  })

  it('is reported to the listeners, even when the timer fires early', async () => {
    // From the end of the round on, at half the speed of the timers.
    let startedMs: number | undefined
    const a = createBucketLeases({
      ...{ db: database.db, role, memberId: 'a', ttlMs: 500, log },
      monotonicMs: () => (startedMs === undefined ? 0 : (performance.now() - startedMs) / 2),
    })
    const seen: number[] = []
    const lost = new Promise<void>((resolve) => {
      a.onChange(() => {
        seen.push(a.owned().size)
        if (seen.length === 2) resolve()
      })
    })
    await a.runOnce()
    startedMs = performance.now()
    await lost
    expect(seen).toEqual([64, 0])
    await a.stop()
  })
})

describe('listeners to ownership', () => {
  it('are told of each change, and of nothing else', async () => {
    const [a, b] = [member('a'), member('b')]
    const seen: number[] = []
    a.onChange(() => seen.push(a.owned().size))
    await a.runOnce()
    await a.runOnce()
    await b.runOnce()
    await a.runOnce()
    await b.runOnce()
    await a.runOnce()
    await a.stop()
    expect(seen).toEqual([64, 32, 0])
  })

  it('are told even when another one fails', async () => {
    const a = member('a')
    let isTold = false
    a.onChange(() => {
      throw new Error('listener')
    })
    a.onChange(() => {
      isTold = true
    })
    await a.runOnce()
    expect(isTold).toBe(true)
  })
})

describe('a lease service', () => {
  it('owns its share after its start, and can be stopped twice and before its start', async () => {
    const a = member('a')
    await a.stop()
    await a.start()
    expect(a.owned().size).toBe(64)
    await a.stop()
    await a.stop()
    expect(a.owned().size).toBe(0)
  })

  it('renews by itself, so that two members reach fair shares', async () => {
    const members = ['a', 'b'].map((memberId) =>
      createBucketLeases({ db: database.db, role, memberId, ttlMs: 300, log }),
    )
    const isFair = new Promise<void>((resolve) => {
      for (const one of members)
        one.onChange(() => {
          if (sizes(members).every((size) => size === 32)) resolve()
        })
    })
    for (const one of members) await one.start()
    await isFair
    for (const one of members) await one.stop()
  })
})

it('maps an id to one bucket always, and ids to all buckets', () => {
  expect(bucketOf('wh_01KAF3ZK7M8Q2V5B9C4D6E7F8G')).toBe(bucketOf('wh_01KAF3ZK7M8Q2V5B9C4D6E7F8G'))
  expect(bucketOf('')).toBe(0x811c9dc5 % 64)
  const hit = new Set(Array.from({ length: 2_000 }, (_, index) => bucketOf(`wh_${index}`)))
  expect(hit.size).toBe(bucketCount)
})
