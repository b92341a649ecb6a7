import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { createGroupCommit } from './group-commit.ts'
import { insertRows } from './insert-rows.ts'
import type { Tx } from './statement.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
  await database.db.query('create table item (id int not null, run int not null check (id >= 0))')
})
afterAll(() => database.close())

/** Not unique on purpose: an item that ran twice would show as two rows. */
function insertItems(tx: Tx, ids: readonly number[]) {
  return insertRows<{ id: number }>(tx, {
    name: 'insert_item',
    into: 'item',
    columns: ['id', 'run'],
    rows: ids.map((id) => [id, 0]),
    suffix: 'returning id',
  })
}

it('gives every caller its own result or error, and stores each success once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ isBad: fc.boolean(), waitsForPrevious: fc.boolean() }), {
        maxLength: 60,
      }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 3 }),
      async (callers, itemsMax, parallel) => {
        await database.db.query('truncate item')
        const group = createGroupCommit<number, string>({
          db: database.db,
          itemsMax,
          parallel,
          run: async (tx, ids) => {
            expect(ids.length).toBeLessThanOrEqual(itemsMax)
            return (await insertItems(tx, ids)).rows.map((row) => `stored ${row.id}`)
          },
        })
        const ids = callers.map((caller, index) => (caller.isBad ? -1 - index : index))
        const answers: Promise<string>[] = []
        for (const [index, id] of ids.entries()) {
          if (callers[index]?.waitsForPrevious) await answers.at(-1)?.catch(() => undefined)
          const answer = group.add(id)
          answer.catch(() => undefined)
          answers.push(answer)
        }
        await group.idle()
        const settled = await Promise.allSettled(answers)
        for (const [index, id] of ids.entries()) {
          const answer = settled[index]
          if (id < 0) expect(answer).toMatchObject({ reason: { code: '23514' } })
          else expect(answer).toEqual({ status: 'fulfilled', value: `stored ${id}` })
        }
        const { rows } = await database.db.query<{ id: number }>('select id from item order by id')
        expect(rows.map((row) => row.id)).toEqual(ids.filter((id) => id >= 0))
      },
    ),
    { numRuns: 40 },
  )
})

it('reports the successes of a group together after its commit', async () => {
  await database.db.query('truncate item')
  const told: (readonly number[])[] = []
  const group = createGroupCommit<number, number>({
    db: database.db,
    itemsMax: 10,
    run: async (tx, ids) => {
      await insertItems(tx, ids)
      return ids
    },
    committed: (results) => told.push(results),
  })
  await Promise.all([group.add(1), group.add(2)])
  await Promise.allSettled([group.add(3), group.add(-1), group.add(4)])
  expect(told).toEqual([[1, 2], [3], [4]])
})

describe('a lost database', () => {
  it('rejects all callers of the group, and runs nothing again', async () => {
    let runs = 0
    const group = createGroupCommit<number, number>({
      db: database.db,
      itemsMax: 10,
      run: async (tx, ids) => {
        runs += 1
        await tx.query('select pg_terminate_backend(pg_backend_pid())')
        return ids
      },
    })
    const settled = await Promise.allSettled([group.add(1), group.add(2), group.add(3)])
    for (const answer of settled)
      expect(answer).toMatchObject({ reason: expect.any(DatabaseUnavailableError) })
    expect(runs).toBe(1)
    await group.idle()
  })

  it('does not affect later callers', async () => {
    let isAway = true
    const group = createGroupCommit<number, number>({
      db: database.db,
      itemsMax: 10,
      run: async (tx, ids) => {
        if (isAway) await tx.query('select pg_terminate_backend(pg_backend_pid())')
        return ids
      },
    })
    await expect(group.add(1)).rejects.toBeInstanceOf(DatabaseUnavailableError)
    isAway = false
    await expect(group.add(2)).resolves.toBe(2)
  })
})

it('lets callers that arrive during a commit share the next one', async () => {
  const sizes: number[] = []
  const group = createGroupCommit<number, number>({
    db: database.db,
    itemsMax: 100,
    parallel: 1,
    run: async (tx, ids) => {
      sizes.push(ids.length)
      if (sizes.length === 1) others.push(...[2, 3, 4].map((id) => group.add(id)))
      await tx.query('select 1')
      return ids
    },
  })
  const others: Promise<number>[] = []
  await expect(group.add(1)).resolves.toBe(1)
  await expect(Promise.all(others)).resolves.toEqual([2, 3, 4])
  expect(sizes).toEqual([1, 3])
})

it('repeats an item that lost a deadlock, and gives up after three times', async () => {
  let runs = 0
  const group = createGroupCommit<number, number>({
    db: database.db,
    itemsMax: 10,
    run: async (tx, [lostRuns = 0]) => {
      runs += 1
      if (runs <= lostRuns) await tx.query(`do $$ begin raise exception sqlstate '40P01'; end $$`)
      return [runs]
    },
  })
  await expect(group.add(2)).resolves.toBe(3)
  runs = 0
  await expect(group.add(9)).rejects.toMatchObject({ code: '40P01' })
  expect(runs).toBe(3)
})

describe('a group that takes too long', () => {
  const timingOut = (isSlow: (id: number) => boolean) => {
    const runs: (readonly number[])[] = []
    const group = createGroupCommit<number, number>({
      db: database.db,
      itemsMax: 10,
      run: async (tx, ids) => {
        runs.push(ids)
        if (ids.some(isSlow)) {
          await tx.query('set local statement_timeout = 20')
          await tx.query('select pg_sleep(10)')
        }
        return ids
      },
    })
    return { runs, add: (ids: number[]) => Promise.allSettled(ids.map((id) => group.add(id))) }
  }

  it('is run item by item, so that one that waits for a lock fails alone', async () => {
    const settled = await timingOut((id) => id === 2).add([1, 2, 3])
    expect(settled).toMatchObject([
      { value: 1 },
      { reason: expect.any(DatabaseUnavailableError) },
      { value: 3 },
    ])
  })

  it('is given up when a second item takes too long alone', async () => {
    const { runs, add } = timingOut(() => true)
    const settled = await add([1, 2, 3, 4])
    for (const answer of settled)
      expect(answer).toMatchObject({ reason: expect.any(DatabaseUnavailableError) })
    expect(runs).toEqual([[1, 2, 3, 4], [1], [2]])
  })
})

it('rejects the callers, and stores nothing, when run returns the wrong number of results', async () => {
  await database.db.query('truncate item')
  const group = createGroupCommit<number, number>({
    db: database.db,
    itemsMax: 10,
    run: async (tx, ids) => {
      await insertItems(tx, ids)
      return []
    },
  })
  await expect(group.add(1)).rejects.toThrow('0 results for 1 items')
  expect((await database.db.query('select * from item')).rows).toEqual([])
})

it('commits without a flush on request', async () => {
  const seen: unknown[] = []
  const group = createGroupCommit<number, number>({
    db: database.db,
    itemsMax: 10,
    isFlushed: false,
    run: async (tx, ids) => {
      seen.push(...(await tx.query('show synchronous_commit')).rows)
      return ids
    },
  })
  await group.add(1)
  expect(seen).toEqual([{ synchronous_commit: 'off' }])
})

it('bounds the items of one commit, and commits a larger one alone', async () => {
  const groups: number[][] = []
  const group = createGroupCommit<number, undefined>({
    db: database.db,
    itemsMax: 3,
    parallel: 1,
    size: { of: (item) => item, max: 10 },
    run: async (_, items) => {
      groups.push([...items])
      return items.map(() => undefined)
    },
  })
  await Promise.all([5, 5, 1, 50, 4, 1, 1, 1].map((item) => group.add(item)))
  expect(groups).toEqual([[5, 5], [1], [50], [4, 1, 1], [1]])
})

it('serves tenants in turn, whatever one of them has queued', async () => {
  const entered = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const groups: string[][] = []
  const group = createGroupCommit<string, string>({
    db: database.db,
    itemsMax: 4,
    parallel: 1,
    tenantOf: (item) => item.slice(0, 1),
    async run(_tx, items) {
      groups.push([...items])
      entered.resolve()
      await release.promise
      return items
    },
  })
  const first = group.add('a0')
  await entered.promise
  const queue = Array.from({ length: 8 }, (_, i) => group.add(`a${i + 1}`))
  const others = [group.add('b1'), group.add('c1'), group.add('b2')]
  release.resolve()
  expect(await Promise.all([first, ...queue, ...others])).toHaveLength(12)
  await group.idle()
  expect(groups).toEqual([
    ['a0'],
    ['a1', 'b1', 'c1', 'a2'],
    ['b2', 'a3', 'a4', 'a5'],
    ['a6', 'a7', 'a8'],
  ])
})
