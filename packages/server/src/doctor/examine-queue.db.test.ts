/** What `postrider doctor` says of mail that waits to be sent. */
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { accept, useSending } from '../../test/sender.ts'
import { addMailer } from '../../test/sending.ts'
import { examineSendQueue } from './examine-queue.ts'
import type { Finding } from './examine-work.ts'

const world = useSending()

async function findings(): Promise<Record<string, Finding>> {
  const found = await examineSendQueue(world.db)
  return Object.fromEntries(found.map((one) => [one.check, one]))
}

/** A port on which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

it('says that the queue is empty', async () => {
  expect(await findings()).toMatchObject({
    'send queue': { state: 'ok', detail: 'empty' },
    retries: { state: 'ok' },
  })
})

it('warns of mail that waits because its server fails, with the reason', async () => {
  const { mailerId } = await addMailer(world.db, { port: await closedPort() })
  for (let mail = 0; mail < 6; mail++) await accept(world.db)
  const sender = world.sender({ retryScheduleMs: [30_000] })
  await sender.runOnce()
  const { 'send queue': queue, retries } = await findings()
  expect(queue).toMatchObject({ state: 'ok', detail: '0 due, 6 waiting for a later time, 0 held' })
  expect(retries?.state).toBe('warning')
  expect(retries?.detail).toContain(`mail of ${mailerId} of tn_a waits for another attempt`)
  expect(retries?.detail).toContain('ECONNREFUSED')
  expect(retries?.detail).toMatch(/next attempt in \d\ds/)
})

it('says that a due attempt comes now', async () => {
  await addMailer(world.db, { port: await closedPort() })
  await accept(world.db)
  await world.sender({ retryScheduleMs: [30_000] }).runOnce()
  await world.db.query('update sending_queue set due_at = now()')
  const { retries } = await findings()
  expect(retries?.detail).toMatch(/; next attempt now: see/)
})

it('does not blame a mailer when its server defers single recipients', async () => {
  const server = await world.serve(({ phase }) =>
    phase === 'rcpt' ? '451 4.7.1 greylisted, try again later' : undefined,
  )
  await addMailer(world.db, { port: server.port })
  await accept(world.db)
  await world.sender({ retryScheduleMs: [30_000] }).runOnce()
  expect(await findings()).toMatchObject({
    'send queue': { detail: '0 due, 1 waiting for a later time, 0 held' },
    retries: { state: 'ok' },
  })
})

it('blames a failing mailer also where a deferred recipient is tried first', async () => {
  const server = await world.serve(({ phase }) =>
    phase === 'rcpt' ? '450 4.2.1 Mailbox busy' : undefined,
  )
  const { mailerId } = await addMailer(world.db, { port: server.port })
  await accept(world.db)
  await world.sender({ retryScheduleMs: [10_000] }).runOnce()
  await world.db.query('update mailers_mailer set port = $1', [await closedPort()])
  for (let mail = 0; mail < 6; mail++) await accept(world.db)
  await world.sender({ retryScheduleMs: [30_000] }).runOnce()
  const { retries } = await findings()
  expect(retries?.detail).toContain(`mail of ${mailerId} of tn_a waits for another attempt`)
  expect(retries?.detail).toContain('ECONNREFUSED')
})

it('warns of a late queue, and names its mailer', async () => {
  const { mailerId } = await addMailer(world.db)
  await accept(world.db)
  await world.db.query(`update sending_queue set due_at = now() - interval '5 minutes'`)
  const { 'send queue': queue } = await findings()
  expect(queue).toMatchObject({ state: 'warning' })
  expect(queue?.detail).toContain('1 due (the oldest for 5m)')
  expect(queue?.detail).toContain(`${mailerId} of tn_a (127.0.0.1), due for 5m`)
})
