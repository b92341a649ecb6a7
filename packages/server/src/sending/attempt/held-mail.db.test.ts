/** Mail of mailers that are not active (docs/reference/statuses.md#mailers). */
import { expect, it } from 'vitest'
import {
  accept,
  drain,
  eventsOf,
  inShort,
  queueOf,
  type TestSender,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, changeState } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'

const world = useSending()

const rejected = {
  kind: 'rejected',
  reason: 'provider_auth_error',
  evidence: '535 no',
  configVersion: 1,
} as const

function change(mailerId: string, cause: Parameters<typeof changeState>[3]) {
  return world.db.transaction((tx) =>
    changeState(tx, createClock(), { tenantId: 'tn_a', mailerId }, cause),
  )
}

/** Mail of a mailer that was deactivated, which a sender has found out. */
async function held(n: number, o: { limits?: { connections?: number } } = {}) {
  const server = await world.serve()
  const { mailerId } = await addMailer(world.db, { port: server.port, ...o })
  for (let i = 0; i < n; i += 1) await accept(world.db)
  await change(mailerId, rejected)
  const sender = world.sender()
  await sender.runOnce()
  return { server, mailerId, sender }
}

async function fences(): Promise<string[]> {
  const { rows } = await world.db.query<{ fence: string }>('select fence from sending_queue')
  return rows.map(({ fence }) => fence)
}

const shorts = async () => (await eventsOf(world.db)).map(inShort)

it('does not claim mail of an inactive mailer', async () => {
  const { server, sender } = await held(3)
  for (let i = 0; i < 3; i += 1) await sender.runOnce()
  expect(await fences()).toEqual(['0', '0', '0'])
  expect(server.connections).toEqual([])
  expect(sender.counts()).toMatchObject({ inactive: 1 })
})

it.each([
  ['authenticated', { kind: 'authenticated' }],
  ['switched on', { kind: 'switched', to: 'active' }],
] as const)(
  'sends waiting mail once its mailer is %s, also in a process that is not notified',
  async (_, cause) => {
    const { server, mailerId, sender } = await held(3)
    await change(mailerId, cause)
    await sender.runOnce()
    expect(await queueOf(world.db)).toEqual([])
    expect(server.accepted).toBe(3)
    expect(await shorts()).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED', 'MAIL_DELIVERED'])
  },
)

it('sends waiting mail within the limits of its mailer, in order of acceptance', async () => {
  const { server, mailerId, sender } = await held(40, { limits: { connections: 1 } })
  await change(mailerId, { kind: 'authenticated' })
  await sender.runOnce()
  expect(server.accepted).toBe(40)
  expect(server.connections).toHaveLength(1)
  const ids = server.messages.map(({ messageId }) => messageId)
  expect(ids).toEqual(ids.toSorted())
})

it('does not claim it when a different mailer becomes active', async () => {
  const { sender } = await held(1)
  const other = await addMailer(world.db, { email: 'other@example.com' })
  await change(other.mailerId, { ...rejected, configVersion: 1 })
  await change(other.mailerId, { kind: 'authenticated' })
  await sender.runOnce()
  expect(await fences()).toEqual(['0'])
})

it('expires mail of an inactive mailer', async () => {
  const { sender } = await held(1)
  await world.db.query(`update sending_queue set expires_at = now() - interval '1 s'`)
  await sender.runOnce()
  expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
})

it.each([
  ['by a process that is told', woken],
  ['also by one that is not', (sender: TestSender) => sender.runOnce()],
] as const)('fails waiting mail when its mailer is deleted, %s', async (_, goOn) => {
  const { mailerId, sender } = await held(2)
  await world.db.query('delete from mailers_mailer')
  await goOn(sender, mailerId)
  expect(await shorts()).toEqual(['SMTP_ERROR 1 final', 'SMTP_ERROR 1 final'])
})

it('does not count mail of an inactive mailer as poisonous', async () => {
  const { db } = world
  const { sender } = await held(1)
  await db.query('update sending_queue set interrupted = 2')
  await sender.runOnce()
  expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 1, wait_s: 60 }])
})

async function woken(sender: TestSender, mailerId: string): Promise<void> {
  const { rows } = await world.db.query<{ bucket: number }>(
    'select bucket from sending_queue limit 1',
  )
  await sender.start()
  const bucket = rows[0]?.bucket ?? 0
  sender.wakeups.wake([{ tenantId: 'tn_a', mailerId, bucket, isChanged: true }])
  await drain(world.db, sender)
}
