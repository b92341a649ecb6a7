import { expect, it } from 'vitest'
import { useSending } from '../../test/sender.ts'
import { silent } from '../../test/sending.ts'
import { createJanitor } from './janitor.ts'

const world = useSending()

it('removes keys that are older than 24 hours, and no others', async () => {
  const { db } = world
  await db.query(
    `insert into sending_idempotency (tenant_id, key, body_hash, ref_id, created_at)
     select 'tn_a', 'k' || i, '\\x00', 'r' || i,
            now() - case when i <= 7000 then interval '24 hours 1 second' else interval '23 hours' end
       from generate_series(1, 7010) as i`,
  )
  const janitor = createJanitor({ db, log: silent })
  expect(await janitor.runOnce()).toBe(7000)
  expect(await janitor.runOnce()).toBe(0)
  const { rows } = await db.query('select count(*)::int as n from sending_idempotency')
  expect(rows).toEqual([{ n: 10 }])
  await janitor.stop()
})
