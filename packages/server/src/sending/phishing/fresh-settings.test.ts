import { expect, it } from 'vitest'
import type { Queryable } from '../../platform/db/index.ts'
import { createFreshSettings } from './fresh-settings.ts'

function countingDb(): { db: Queryable; reads: string[]; fail: boolean } {
  const counted = {
    reads: [] as string[],
    fail: false,
    db: {
      async query(_: unknown, [tenantId]: readonly unknown[] = []) {
        counted.reads.push(String(tenantId))
        if (counted.fail) throw new Error('away')
        return { rows: [], rowCount: 0 }
      },
    } as unknown as Queryable,
  }
  return counted
}

it('reads the settings of a tenant once a second for all callers', async () => {
  const counted = countingDb()
  let now = 0
  const settings = createFreshSettings({ db: counted.db, monotonicMs: () => now })
  await Promise.all([settings.of('a'), settings.of('a'), settings.of('b')])
  expect(counted.reads).toEqual(['a', 'b'])
  expect(settings.of('a')).not.toBeInstanceOf(Promise)
  now = 1_000
  await settings.of('a')
  expect(counted.reads).toEqual(['a', 'b', 'a'])
})

it('does not keep a failed read', async () => {
  const counted = countingDb()
  counted.fail = true
  const settings = createFreshSettings({ db: counted.db, monotonicMs: () => 0 })
  await expect(settings.of('a')).rejects.toThrow('away')
  counted.fail = false
  expect(await settings.of('a')).toMatchObject({ isEnabled: true })
})
