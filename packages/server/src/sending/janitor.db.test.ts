import { expect, it } from 'vitest'
import { useSending } from '../../test/sender.ts'
import { silent } from '../../test/sending.ts'
import { createSendingJanitor } from './janitor.ts'

const world = useSending()

it('removes idempotency keys after 24 hours, and no others', async () => {
  const { db } = world
  await db.query(
    `insert into sending_idempotency (tenant_id, key, body_hash, ref_id, created_at)
     select 'tn_a', 'k' || i, '\\x00', 'r' || i,
            now() - case when i <= 7000 then interval '24 hours 1 second' else interval '23 hours' end
       from generate_series(1, 7010) as i`,
  )
  const janitor = createSendingJanitor({ db, log: silent, retentionMs: 86_400_000 })
  expect(await janitor.runOnce()).toBe(7000)
  expect(await janitor.runOnce()).toBe(0)
  const { rows } = await db.query('select count(*)::int as n from sending_idempotency')
  expect(rows).toEqual([{ n: 10 }])
  await janitor.stop()
})

it('removes the last errors of mailers after their retention, and no others', async () => {
  const { db } = world
  await db.query(
    `insert into mailers_error (tenant_id, mailer_id, category, at, failed_reason, provider_error, ref_id)
     values ('tn_a', 'smtp_1', 'network', now() - interval '24 hours 1 second', '', '', ''),
            ('tn_a', 'smtp_1', 'temporary', now() - interval '23 hours', '', '', '')`,
  )
  const janitor = createSendingJanitor({ db, log: silent, retentionMs: 86_400_000 })
  await janitor.runOnce()
  const { rows } = await db.query('select category from mailers_error')
  expect(rows).toEqual([{ category: 'temporary' }])
  await janitor.stop()
})

it('removes sent copies after their retention, and no others', async () => {
  const { db } = world
  await db.query(
    `insert into sending_sent_copy (tenant_id, ref_id, mailer_id, bucket, message_id, content_bytes,
                                    sent_at, due_at)
     values ('tn_a', 'r1', 'smtp_1', 0, '', 1, now() - interval '24 hours 1 second', now()),
            ('tn_b', 'r2', 'smtp_2', 0, '', 1, now() - interval '23 hours', now())`,
  )
  const janitor = createSendingJanitor({ db, log: silent, retentionMs: 86_400_000 })
  await janitor.runOnce()
  const { rows } = await db.query('select ref_id from sending_sent_copy')
  expect(rows).toEqual([{ ref_id: 'r2' }])
  await janitor.stop()
})
