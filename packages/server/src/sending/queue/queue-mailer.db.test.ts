import { expect, it } from 'vitest'
import { keyRing, useSending } from '../../../test/sender.ts'
import { addMailer, silent } from '../../../test/sending.ts'
import type { Db } from '../../platform/db/index.ts'
import { createMailerQueue } from './mailer-queue.ts'
import { forgetMailer, mailerOf } from './queue-mailer.ts'

const world = useSending()

it('reads a mailer once a second for all callers', async () => {
  const { mailerId } = await addMailer(world.db, { limits: { connections: 7 } })
  const queue = createMailerQueue({ tenantId: 'tn_a', mailerId, bucket: 0 })
  let nowMs = 5
  let reads = 0
  const db: Db = {
    ...world.db,
    query: (...args) => {
      const [read] = args
      if (typeof read === 'object' && read.name === 'mailers.get') reads += 1
      return world.db.query(...args)
    },
    transaction: world.db.transaction,
  }
  const deps = { db, keyRing, log: silent, monotonicMs: () => nowMs }
  const [one, other] = await Promise.all([mailerOf(deps, queue), mailerOf(deps, queue)])
  expect(one).toMatchObject({ mailerId, port: 9 })
  expect(other).toBe(one)
  expect(queue.connectionsMax).toBe(7)
  nowMs = 1_004
  expect(mailerOf(deps, queue)).toBe(one)
  expect(reads).toBe(1)
  await world.db.query('delete from mailers_mailer')
  nowMs = 1_005
  expect(await mailerOf(deps, queue)).toBe('gone')
  expect(mailerOf(deps, queue)).toBe('gone')
  expect(reads).toBe(2)
})

it('keeps the later one of two concurrent reads', async () => {
  const { mailerId } = await addMailer(world.db, { limits: { connections: 7 } })
  const queue = createMailerQueue({ tenantId: 'tn_a', mailerId, bucket: 0 })
  const gate = Promise.withResolvers<void>()
  let nowMs = 0
  let reads = 0
  const db: Db = {
    ...world.db,
    async query<Row>(...args: Parameters<Db['query']>) {
      reads += 1
      const isFirst = reads === 1
      const rows = await world.db.query<Row>(...args)
      if (isFirst) await gate.promise
      return rows
    },
    transaction: world.db.transaction,
  }
  const deps = { db, keyRing, log: silent, monotonicMs: () => nowMs }
  const early = mailerOf(deps, queue)
  forgetMailer(queue)
  nowMs = 1
  await world.db.query('delete from mailers_mailer')
  expect(await mailerOf(deps, queue)).toBe('gone')
  gate.resolve()
  await early
  expect(mailerOf(deps, queue)).toBe('gone')
})
