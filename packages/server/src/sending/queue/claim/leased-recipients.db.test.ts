import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../../../../test/database.ts'
import { accept, queueOf } from '../../../../test/sender.ts'
import { addMailer, createSendingDatabase } from '../../../../test/sending.ts'
import { bucketOf } from '../../../platform/db/leases.ts'
import type { Claim } from '../../attempt/attempt.ts'
import { createMailerQueue, type LeasedRecipient } from '../mailer-queue.ts'
import { claimDue } from './claim-store.ts'
import { createLeasedRecipients } from './leased-recipients.ts'

let database: TestDatabase
let nowMs = 0
const held = () =>
  createLeasedRecipients({ db: database.db, leaseMs: 60_000, monotonicMs: () => nowMs })
const row = (claim: Partial<Claim>, validUntilMs = 60_000): LeasedRecipient => ({
  loaded: {
    claim: { tenantId: 'tn_a', mailerId: 'smtp_a', contentBytes: 100, ...claim },
  } as LeasedRecipient['loaded'],
  queue: createMailerQueue({ tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 0 }),
  validUntilMs,
})

beforeAll(async () => {
  database = await createSendingDatabase()
})
afterAll(() => database.close())

const many = (count: number, claim: (i: number) => Partial<Claim>) =>
  Array.from({ length: count }, (_, i) => row({ refId: `ref_${i}`, ...claim(i) }))

it('bounds leased rows to 1,024 per tenant and 8,192 in all, and gives every tenant one', () => {
  const rows = held()
  expect(rows.roomFor('tn_0')).toBe(1024)
  for (let t = 0; t < 8; t++) {
    expect(rows.roomFor(`tn_${t}`)).toBe(1024)
    rows.add(many(1024, () => ({ tenantId: `tn_${t}` })))
    expect(rows.roomFor(`tn_${t}`)).toBe(0)
  }
  expect(rows.roomFor('tn_8')).toBe(1)
  const one = row({ tenantId: 'tn_8' })
  rows.add([one])
  expect(rows.roomFor('tn_8')).toBe(0)
  rows.delete(one)
  rows.delete(one)
  expect(rows.roomFor('tn_8')).toBe(1)
})

it('bounds contents that are loaded ahead to 8 MiB per tenant and 64 MiB in all', () => {
  const rows = held()
  rows.add([row({ refId: 'large', contentBytes: 1024 * 1024 * 1024 })])
  expect(rows.roomFor('tn_a')).toBeGreaterThan(0)
  const contentBytes = 128 * 1024 - 1
  const own = many(65, () => ({ contentBytes }))
  rows.add(own)
  expect(rows.roomFor('tn_a')).toBe(0)
  expect(rows.roomFor('tn_0')).toBe(1024)
  for (const one of own.slice(0, 2)) rows.delete(one)
  expect(rows.roomFor('tn_a')).toBeGreaterThan(0)
  for (let t = 0; t < 8; t++) rows.add(many(65, () => ({ tenantId: `tn_${t}`, contentBytes })))
  expect(rows.roomFor('tn_a')).toBe(0)
  expect(rows.roomFor('tn_b')).toBe(1)
})

it('counts a shared content once, until the last recipient that shares it is gone', () => {
  const rows = held()
  const contentBytes = 128 * 1024 - 1
  const shared = many(1000, () => ({ refId: 'shared', contentBytes }))
  rows.add(shared)
  expect(rows.roomFor('tn_a')).toBe(24)
  const others = many(63, () => ({ contentBytes }))
  rows.add(others.slice(0, 20))
  expect(rows.roomFor('tn_a')).toBe(4)
  for (const one of shared.slice(1)) rows.delete(one)
  rows.add(others.slice(20))
  expect(rows.roomFor('tn_a')).toBe(960)
  rows.add([row({ refId: 'one more', contentBytes })])
  expect(rows.roomFor('tn_a')).toBe(0)
  rows.delete(shared[0] as LeasedRecipient)
  expect(rows.roomFor('tn_a')).toBeGreaterThan(0)
  expect(
    rows.prepareOf({ tenantId: 'tn_a', refId: 'shared', mailerId: 'smtp_a' } as Claim),
  ).toBeUndefined()
})

it('shares the prepared message with other rows of the same email', () => {
  const rows = held()
  const prepare = () => Promise.reject(new Error('not here'))
  const one = row({ refId: 'a' })
  rows.add([{ ...one, loaded: { ...one.loaded, prepare } }])
  const of = (tenantId: string, refId: string) =>
    rows.prepareOf({ tenantId, refId, mailerId: 'smtp_a' } as Claim)
  expect(of('tn_a', 'a')).toBe(prepare)
  expect(of('tn_a', 'b')).toBeUndefined()
  expect(of('tn_b', 'a')).toBeUndefined()
  const byRelay = { tenantId: 'tn_a', refId: 'a', mailerId: 'domain_a' } as Claim
  expect(rows.prepareOf(byRelay)).toBeUndefined()
})

it('extends the leases of a process that was suspended before it claims more', async () => {
  const { db } = database
  const { mailerId } = await addMailer(db, { mailerId: 'smtp_still', email: 'still@example.com' })
  await accept(db, { mailer_id: mailerId, from: { email: 'still@example.com' } })
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const [claim] = await claimDue(db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })
  nowMs = 0
  const rows = held()
  const one = row(claim ?? {})
  rows.add([one])
  nowMs = 59_999
  await rows.catchUp()
  expect(one.validUntilMs).toBe(60_000)
  nowMs = 60_000
  expect(rows.isValid(one)).toBe(false)
  await db.query(`update sending_queue set due_at = now()`)
  await rows.catchUp()
  expect(rows.isValid(one)).toBe(true)
  expect(await claimDue(db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })).toEqual([])
  await db.query('delete from sending_queue')
  nowMs = 0
})

it('extends leases after a third of their time, and knows how long they are valid', async () => {
  const { db } = database
  const { mailerId } = await addMailer(db)
  await accept(db)
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const [claim] = await claimDue(db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })
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
