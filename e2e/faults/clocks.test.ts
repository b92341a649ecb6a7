/**
 * [S10] Clocks that are wrong, and clocks that leap. What waits does so by the database's clock, so
 * that nothing is tried too often or too late; and the events of a request are in order.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { WireEvent } from '../world.ts'
import { createFleet, type Fleet, inShort, type Scene } from './fleet.ts'

const HOUR_MS = 3_600_000
const TEST_MS = 120_000
const TOLD_MS = 60_000
const MAILERS = 8
const ROUNDS_MAX = 10
const SERIES = ['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 retry', 'MAIL_DELIVERED']

let fleet: Fleet
beforeAll(async () => {
  fleet = await createFleet({ SEND_RETRY_SCHEDULE: '1s,2s' })
  await fleet.start()
})
afterEach(() => fleet.endScene())
afterAll(() => fleet.destroy())

/** Takes the mail of each recipient at its third attempt. */
const atLast = ({ phase, attempt }: { readonly phase: string; readonly attempt: number }) =>
  phase === 'rcpt' && attempt < 3 ? '450 4.2.0 later' : undefined

const to = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}@recipient.test`)

/** Each has its three attempts and no more, and the requests tell of them in order. */
async function expectSeries(scene: Scene, recipients: readonly string[]): Promise<void> {
  await scene.told(3 * recipients.length)
  const batches = scene.receiver.requests.map(({ json }) => json as WireEvent[])
  for (const batch of batches) {
    const times = batch.map(({ details }) => String(details.event_at))
    expect(times).toEqual(times.toSorted())
  }
  const of = (email: string) => batches.flat().filter(({ details }) => `${details.email}` === email)
  for (const email of recipients) {
    expect(of(email).map(inShort).toSorted()).toEqual(SERIES.toSorted())
    const tries = scene.smtp.connections.flatMap(({ commands }) => commands)
    expect(tries.filter((line) => line.includes(`RCPT TO:<${email}>`))).toHaveLength(3)
  }
}

/** Mail of many mailers, so that both senders have some, until events of both clocks were seen. */
it('[S10] two senders, an hour ahead and an hour behind, send each mail once', {
  timeout: TEST_MS,
}, async () => {
  const scene = await fleet.scene(atLast)
  await fleet.sender({ clockAheadMs: HOUR_MS })
  await fleet.sender({ clockAheadMs: -HOUR_MS })
  const aheadMs = () =>
    scene.receiver.requests
      .flatMap(({ json }) => json as WireEvent[])
      .map(({ details }) => Date.parse(String(details.event_at)) - Date.now())
  const recipients: string[] = []
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const [min, max] = [Math.min(...aheadMs()), Math.max(...aheadMs())]
    if (round > 0 && max - min > HOUR_MS) break
    // Other mailers each time: those of one round may all be with one sender.
    const addresses = to(MAILERS, `from${round}-`)
    for (const email of addresses) await scene.addMailer(email)
    const more = to(MAILERS, `round${round}-`)
    for (const [i, email] of more.entries()) await scene.send(email, { from: addresses[i] })
    recipients.push(...more)
    await scene.receiver.waitUntil(() => aheadMs().length >= 3 * recipients.length, TOLD_MS)
  }
  expect(Math.max(...aheadMs()) - Math.min(...aheadMs())).toBeGreaterThan(HOUR_MS)
  await expectSeries(scene, recipients)
})

it.each([
  ['forward', 'SIGUSR2', 'SIGHUP'],
  ['back', 'SIGHUP', 'SIGUSR2'],
] as const)(
  '[S10] a clock that leaps a day %s while mail waits causes no early attempt',
  { timeout: TEST_MS },
  async (_, leap, leapBack) => {
    const scene = await fleet.scene(atLast)
    const sender = await fleet.sender()
    const leapAll = (signal: NodeJS.Signals) => {
      for (const pid of [fleet.pid, sender.process.pid]) process.kill(pid, signal)
    }
    const recipients = to(6, 'leapt')
    for (const email of recipients) await scene.send(email)
    await scene.receiver.waitForRequests(1)
    leapAll(leap)
    await sender.process.waitForLine(/clock leapt/)
    await expectSeries(scene, recipients)
    leapAll(leapBack)
    await scene.send('after@recipient.test')
    await scene.receiver.waitUntil(
      () =>
        scene.receiver.requests.some(
          ({ body }) => body.includes('MAIL_DELIVERED') && body.includes('after@'),
        ),
      TOLD_MS,
    )
  },
)
