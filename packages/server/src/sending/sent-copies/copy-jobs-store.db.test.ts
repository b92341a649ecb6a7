/** Claims of copies for Sent folders: whose they are, what they count, and how they are found. */
import { beforeEach, expect, it } from 'vitest'
import { type PlanMode, planOf } from '../../../test/explain.ts'
import { useSending } from '../../../test/sender.ts'
import { planByIndex } from '../../platform/db/index.ts'
import {
  claimSentCopies,
  discoverSentCopies,
  endSentCopies,
  forgetSentCopies,
  pauseSentCopies,
  type SentCopyMailer,
} from './copy-jobs-store.ts'

const world = useSending()
const LEASE_MS = 60_000
const ada: SentCopyMailer = { tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 3 }
const bob: SentCopyMailer = { tenantId: 'tn_b', mailerId: 'smtp_b', bucket: 3 }

const add = ({ tenantId, mailerId, bucket }: SentCopyMailer, refId: string, dueInS = -1) =>
  world.db.query(
    `insert into sending_sent_copy (tenant_id, ref_id, mailer_id, bucket, message_id, content_bytes,
                                    due_at)
     values ($1, $2, $3, $4, '<m@example.com>', 7, now() + $5::float8 * interval '1 s')`,
    [tenantId, refId, mailerId, bucket, dueInS],
  )
const claim = (mailer: SentCopyMailer, limit = 10) =>
  world.db.transaction((tx) => claimSentCopies(tx, mailer, { limit, leaseMs: LEASE_MS }))
const rows = async () =>
  (
    await world.db.query<{ ref_id: string; tries: number; wait_s: number }>(
      `select ref_id, tries, round(extract(epoch from due_at - now()))::int as wait_s
         from sending_sent_copy order by ref_id`,
    )
  ).rows
beforeEach(async () => {
  await add(ada, 'r1', -2)
  await add(ada, 'r2', -1)
  await add(ada, 'r3', 100)
  await add(bob, 'r4', 100)
})

it('finds each mailer with a due copy, in the given buckets', async () => {
  expect(await discoverSentCopies(world.db, [3, 4])).toEqual([ada])
  expect(await discoverSentCopies(world.db, [4])).toEqual([])
  await add(bob, 'r5')
  expect(await discoverSentCopies(world.db, [3])).toEqual([ada, bob])
})

it('claims the copies of a mailer that are due longest, and counts a try', async () => {
  const [first] = await claim(ada, 1)
  expect(first).toMatchObject({
    refId: 'r1',
    tries: 1,
    contentBytes: 7,
    messageId: '<m@example.com>',
  })
  expect((await claim(ada)).map(({ refId }) => refId)).toEqual(['r2'])
  expect(await claim(ada)).toEqual([])
  expect(await discoverSentCopies(world.db, [3])).toEqual([])
  expect(await rows()).toMatchObject([{ wait_s: 60 }, { wait_s: 60 }, { wait_s: 100 }, {}])
})

it('postpones all due copies of a mailer, and deletes all its copies', async () => {
  await claim(ada, 1)
  await pauseSentCopies(world.db, ada, 300_000)
  expect((await rows()).map(({ wait_s }) => wait_s)).toEqual([60, 300, 100, 100])
  expect(await forgetSentCopies(world.db, ada)).toBe(3)
  expect((await rows()).map(({ ref_id }) => ref_id)).toEqual(['r4'])
})

it.each<PlanMode>(['force_generic_plan', 'force_custom_plan'])(
  'finds and claims copies by index, with %s',
  async (mode) => {
    const { db } = world
    await db.query(
      `insert into sending_sent_copy (tenant_id, ref_id, mailer_id, bucket, message_id, content_bytes,
                                      due_at)
       select 'tn_a', 'x' || n, 'smtp_x', 5, '', 1, now() from generate_series(1, 5000) n`,
    )
    const claimed = await claim(ada)
    await add(ada, 'r5')
    await db.transaction(async (tx) => {
      await planByIndex(tx)
      await tx.query(`set local plan_cache_mode = ${mode}`)
      const nodes = []
      await discoverSentCopies(tx, [3])
      nodes.push(...(await planOf(tx, 'sending.discover_sent_copies', [[3]])))
      await claimSentCopies(tx, ada, { limit: 1, leaseMs: 1 })
      await endSentCopies(tx, claimed)
      const key = [['tn_a'], ['r1'], ['smtp_a']]
      for (const [name, values] of [
        ['find_due_sent_copies', [3, 'tn_a', 'smtp_a', 1]],
        ['sent_copies.claim', [...key, 1]],
        ['sent_copies.end', [...key, [1]]],
      ] as const)
        nodes.push(...(await planOf(tx, `sending.${name}`, values)))
      expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([])
    })
  },
)
