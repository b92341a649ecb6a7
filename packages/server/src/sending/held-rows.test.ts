import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../../test/database.ts'
import { accept, queueOf } from '../../test/sender.ts'
import { addMailer, createSendingDatabase } from '../../test/sending.ts'
import { bucketOf } from '../platform/db/leases.ts'
import type { Claim } from './attempt.ts'
import { createHeldRows } from './held-rows.ts'
import { createLane, type Held } from './lane.ts'
import { claimDue } from './queue-store.ts'

let database: TestDatabase
let nowMs = 0
const held = () => createHeldRows({ db: database.db, leaseMs: 60_000, monotonicMs: () => nowMs })
const row = (claim: Partial<Claim>, validUntilMs = 60_000): Held => ({
  loaded: { claim: { tenantId: 'tn_a', contentBytes: 100, ...claim } } as Held['loaded'],
  lane: createLane({ tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 0 }),
  validUntilMs,
})

beforeAll(async () => {
  database = await createSendingDatabase()
})
afterAll(() => database.close())

it('a tenant may hold 2,048 rows, and all together 8,192', () => {
  const rows = held()
  expect(rows.roomFor('tn_a')).toBe(2048)
  const own = Array.from({ length: 2048 }, () => row({}))
  rows.add(own)
  expect(rows.roomFor('tn_a')).toBe(0)
  expect(rows.roomFor('tn_b')).toBe(2048)
  for (const tenantId of ['tn_b', 'tn_c', 'tn_d'])
    rows.add(Array.from({ length: 2048 }, () => row({ tenantId })))
  expect(rows.roomFor('tn_e')).toBe(0)
  for (const one of own) rows.delete(one)
  rows.delete(own[0] as Held)
  expect(rows.roomFor('tn_e')).toBe(2048)
})

it('64 MiB of contents that are loaded ahead; large ones do not count', () => {
  const rows = held()
  rows.add([row({ contentBytes: 1024 * 1024 * 1024 })])
  expect(rows.roomFor('tn_a')).toBeGreaterThan(0)
  const small = Array.from({ length: 512 }, () => row({ contentBytes: 128 * 1024 - 1 }))
  rows.add([...small, row({ contentBytes: 512 })])
  expect(rows.roomFor('tn_b')).toBe(0)
  rows.delete(small[0] as Held)
  expect(rows.roomFor('tn_b')).toBeGreaterThan(0)
})

it('claims are extended when a third of their time is over, and known to be valid as long', async () => {
  const { db } = database
  const { mailerId } = await addMailer(db)
  await accept(db)
  const lane = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const [claim] = await claimDue(db, lane, { limit: 1, leaseMs: 60_000 })
  const rows = held()
  const one = row(claim ?? {})
  rows.add([one])
  await db.query(`update sending_queue set due_at = now() + interval '1 second'`)
  nowMs = 19_000
  await rows.extend()
  expect(await queueOf(db)).toMatchObject([{ wait_s: 1 }])
  nowMs = 20_000
  await rows.extend()
  expect(await queueOf(db)).toMatchObject([{ wait_s: 60, phase: 'sending' }])
  nowMs = 79_999
  expect(rows.isValid(one)).toBe(true)
  nowMs = 80_000
  expect(rows.isValid(one)).toBe(false)
})
