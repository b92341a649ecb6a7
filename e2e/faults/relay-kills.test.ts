/**
 * A sender that is killed around the request to a relay provider, and the one that comes after it.
 * What the provider reports decides where it can: mail that it has is not handed over again.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createFleet, type Fleet, type Scene } from './fleet.ts'

const FROM = 'news@relay.test'
const ADA = 'ada@recipient.test'
const TEST_MS = 90_000

let fleet: Fleet
beforeAll(async () => {
  fleet = await createFleet({ ROLES: 'api,dispatcher,janitor,tracker' })
  await fleet.start()
})
afterEach(() => fleet.endScene())
afterAll(() => fleet.destroy())

/** A tenant with a domain at the simulator, whose sender dies by its own hand at the failpoint. */
async function killAt(failpoint: string): Promise<Scene> {
  const scene = await fleet.scene()
  await scene.client.configureRelay({ kind: 'simulator' })
  await scene.client.addDomain({ domain: 'relay.test' })
  const dying = await fleet.sender({ failpoints: `${failpoint}=kill` })
  await scene.send(ADA, { from: FROM })
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await fleet.sender()
  return scene
}

async function traceOf({ client }: Scene) {
  const { logs } = await client.getEmailLogs({ email: ADA })
  expect(logs).toHaveLength(1)
  const { email } = await client.getEmail(logs[0]?.ref_id ?? '')
  return email.recipients[0]
}

it('[R1] a sender that is killed after its claim has the same attempt repeated', {
  timeout: TEST_MS,
}, async () => {
  const scene = await killAt('send.after_claim')
  expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
  expect((await traceOf(scene))?.attempts).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
})

it('[R2] a sender that is killed before its request leaves an uncertain attempt, which is tried again', {
  timeout: TEST_MS,
}, async () => {
  const scene = await killAt('send.before_dot')
  expect(await scene.told(2)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
  const recipient = await traceOf(scene)
  expect(recipient?.attempts).toMatchObject([{ outcome: 'uncertain' }, { outcome: 'accepted' }])
})

it('[R3] a sender that is killed with the answer sends no second copy, as the report settles the mail', {
  timeout: TEST_MS,
}, async () => {
  const scene = await killAt('send.after_reply')
  let recipient = await traceOf(scene)
  // The report may be in before the killed sender's claim has run out.
  while (recipient?.attempts.length === 0) recipient = await traceOf(scene)
  expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
  expect(await traceOf(scene)).toMatchObject({ status: 'delivered' })
  expect(recipient?.attempts).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
})

it('[R4] a mail is sent and reported once when the sender is killed after its commit', {
  timeout: TEST_MS,
}, async () => {
  const scene = await killAt('send.after_finish')
  expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
  expect((await traceOf(scene))?.attempts).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
})
