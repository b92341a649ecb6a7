/** Which copies belong in the Sent folder of a mailbox that is sent by and fetched from. */
import { expect, it } from 'vitest'
import { accept, attemptsOf, drain, useSending } from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { createFinishAttempts } from '../results/finish-attempts.ts'

const world = useSending()
const to = (...names: string[]) => names.map((name) => ({ email: `${name}@example.com` }))

interface Row {
  readonly ref_id: string
  readonly mailer_id: string
  readonly message_id: string
  readonly wait_s: number
}

async function copies(): Promise<Row[]> {
  const { rows } = await world.db.query<Row>(
    `select ref_id, mailer_id, message_id, round(extract(epoch from due_at - sent_at))::int as wait_s
       from sending_sent_copy order by ref_id, mailer_id`,
  )
  return rows
}

/** A database that says how many statements its transactions had. */
function counting(on: Db) {
  const seen = { names: [] as string[] }
  const db: Db = {
    ...on,
    transaction: (work, o) =>
      on.transaction(
        (tx) =>
          work({
            ...tx,
            query(s, values) {
              if (typeof s === 'object') seen.names.push(s.name ?? '')
              return tx.query(s, values)
            },
          }),
        o,
      ),
  }
  return { db, seen }
}

function finishesOn(db: Db) {
  const wakeups = createWakeups()
  return createFinishAttempts({
    db,
    clock: createClock(),
    wakeups,
    noteDeactivated: () => undefined,
  })
}

it('makes one copy for each email, with the Message-ID of the first accepted message', async () => {
  const server = await world.serve({ 'ada@example.com': ['450 4.2.0 later', 'ok'] })
  const { mailerId } = await addMailer(world.db, { port: server.port, configType: 'smtp_imap' })
  const refId = await accept(world.db, { to: to('ada', 'bob', 'cy') })
  const sender = world.sender({ retryScheduleMs: [3_600_000] })
  await sender.runOnce()
  const [copy, ...others] = await copies()
  expect(others).toEqual([])
  expect(copy).toMatchObject({ ref_id: refId, mailer_id: mailerId, wait_s: 20 })
  expect(copy?.message_id).toMatch(new RegExp(`^<${refId}.[12]@example.com>$`))
  // Done meanwhile: the recipient who comes later is not the first.
  await world.db.query('delete from sending_sent_copy')
  await world.db.query(`update sending_queue set due_at = now()`)
  await drain(world.db, sender)
  expect((await attemptsOf(world.db, refId)).map(({ outcome }) => outcome)).toEqual([
    'deferred',
    'accepted',
    'accepted',
    'accepted',
  ])
  expect(await copies()).toEqual([])
})

it('makes no copy when no server surely accepted a message', async () => {
  const server = await world.serve({
    'ada@example.com': ['550 5.1.1 no'],
    'bob@example.com': ['dot: rst'],
  })
  const configType = 'smtp_imap'
  await addMailer(world.db, { port: server.port, configType, uncertain: 'at_most_once' })
  await accept(world.db, { to: to('ada', 'bob') })
  await drain(world.db, world.sender())
  expect(await copies()).toEqual([])
})

it('makes a copy in each of two mailboxes that sent the email', async () => {
  const server = await world.serve({ 'bob@example.com': ['450 4.2.0 later', 'ok'] })
  const from = { port: server.port, configType: 'smtp_imap' } as const
  const [first, second] = [await addMailer(world.db, from), await addMailer(world.db, from)]
  const refId = await accept(world.db, { to: to('ada', 'bob'), mailer_id: first.mailerId })
  const sender = world.sender({ retryScheduleMs: [3_600_000] })
  await sender.runOnce()
  await world.db.query('update sending_queue set mailer_id = $1, due_at = now()', [second.mailerId])
  await drain(world.db, sender)
  const mailers = (await copies()).map(({ ref_id, mailer_id }) => [ref_id, mailer_id])
  expect(mailers.sort()).toEqual(
    [
      [refId, first.mailerId],
      [refId, second.mailerId],
    ].sort(),
  )
})

it('makes no copy when the claim was lost, as both are one transaction', async () => {
  const server = await world.serve()
  await addMailer(world.db, { port: server.port, configType: 'smtp_imap' })
  await accept(world.db)
  const finishes = finishesOn(world.db)
  const stolen: typeof finishes = {
    ...finishes,
    async end(ending) {
      await world.db.query('update sending_queue set fence = fence + 1')
      return finishes.end(ending)
    },
  }
  await world.sender({ finishes: stolen }).runOnce()
  expect(server.accepted).toBe(1)
  expect(await copies()).toEqual([])
})

it('makes no copy and runs no extra statement for mailers without a mailbox', async () => {
  const server = await world.serve()
  await addMailer(world.db, { port: server.port })
  await accept(world.db)
  const { db, seen } = counting(world.db)
  await drain(world.db, world.sender({ finishes: finishesOn(db) }))
  expect(await copies()).toEqual([])
  expect(seen.names).toContain('sending.set_status')
  expect(seen.names).not.toContain('sending.insert_sent_copies')
})
