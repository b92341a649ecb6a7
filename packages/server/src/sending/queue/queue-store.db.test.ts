/** A process that claims a recipient again while its older claim is under way: both may be written at once. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { accept, queueOf, runOutClaims } from '../../../test/sender.ts'
import { addMailer, createSendingDatabase } from '../../../test/sending.ts'
import { bucketOf } from '../../platform/db/index.ts'
import type { Claim } from '../attempt/attempt.ts'
import { claimDue } from './claim/claim-store.ts'
import {
  finishClaims,
  holdClaims,
  markCommitted,
  postponeClaims,
  undoClaims,
} from './queue-store.ts'

let database: TestDatabase
let both: readonly [older: Claim, newer: Claim]

beforeAll(async () => {
  database = await createSendingDatabase()
  await addMailer(database.db)
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.db.query('delete from sending_queue')
  await accept(database.db)
  const older = await claim()
  await runOutClaims(database.db)
  both = [older, await claim()]
})

async function claim(): Promise<Claim> {
  const { rows } = await database.db.query<{ mailer_id: string }>(
    'select mailer_id from sending_queue',
  )
  const mailerId = rows[0]?.mailer_id ?? ''
  const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
  const [found] = await claimDue(database.db, queue, {
    ...{ isBulk: false, limit: 1, leaseMs: 60_000 },
  })
  if (found === undefined) throw new Error('nothing is due')
  return found
}

it('lets the newer claim alone pass the commit point', async () => {
  expect(await markCommitted(database.db, both)).toEqual([false, true])
})

it('holds the row for the newer claim alone', async () => {
  expect(await holdClaims(database.db, both)).toEqual([false, true])
})

it('finishes by the newer claim alone', async () => {
  expect(await finishClaims(database.db, both)).toMatchObject([
    undefined,
    { startedAt: expect.any(Date) },
  ])
  expect(await queueOf(database.db)).toEqual([])
})

it('postpones by the newer claim alone', async () => {
  const waiting = both.map((one) => ({ ...one, waitMs: 3_600_000 }))
  expect(await postponeClaims(database.db, waiting)).toMatchObject([
    undefined,
    { nextAttemptAt: expect.any(Date) },
  ])
  expect(await queueOf(database.db)).toMatchObject([{ phase: 'waiting', attempt: 2 }])
})

it('undoes the newer claim alone', async () => {
  const undone = both.map((one) => ({ ...one, waitMs: 0 }))
  expect(await undoClaims(database.db, undone)).toEqual([false, true])
  expect(await queueOf(database.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
})
