/**
 * The simulator over a real process: what docs/relays.md says of each recipient is what its sender is
 * told, and nothing more comes afterwards.
 */
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { inShort } from './relay-scene.ts'
import { createWorld, eventsOf, type WireEvent, type World } from './world.ts'

const page = readFileSync(new URL('../docs/relays.md', import.meta.url), 'utf8')
const ATTEMPTS = 2
const events = {
  delivery: true,
  bounce: true,
  spam: true,
  unsubscribe: true,
  policy_rejection: true,
  generation_failure: true,
  generation_rejection: true,
  smtp_error: true,
}

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

interface Row {
  readonly recipient: string
  readonly told: readonly string[]
  readonly isSuppressed: boolean
}

function readTable(): Row[] {
  const [, table = ''] = page.split('| Recipient | Events |\n')
  const rows = table.split('\n\n')[0]?.split('\n').slice(1) ?? []
  return rows.map((row) => {
    const [recipient = '', what = ''] = row.split('|').slice(1)
    const name = /`([a-z-]+)`/.exec(recipient)?.[1] ?? ''
    const told = what.match(/[A-Z]{4}_[A-Z_]+/g) ?? []
    const times = what.includes('repeated') ? ATTEMPTS : 1
    return {
      recipient: name,
      told: told.flatMap((event) => Array.from({ length: times }, () => event)),
      isSuppressed: what.includes('suppressed'),
    }
  })
}

/** Of one recipient. */
const namesOf = (all: readonly WireEvent[], address: string) =>
  all
    .filter(({ details }) => (details.email as string[]).includes(address))
    .map(({ event }) => event)

it('[2.4 6.1] every recipient has the documented outcome, and one event of it', async () => {
  const rows = readTable()
  expect(rows.map(({ recipient }) => recipient)).toContain('out-of-band')
  expect(rows).toHaveLength(12)
  const [{ client }, receiver] = await Promise.all([world.newTenant(), world.newReceiver()])
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events },
  })
  await client.configureRelay({ kind: 'simulator' })
  const { domain } = await client.addDomain({ domain: 'shop.test', relay: 'simulator' })
  expect(domain).toMatchObject({ verified: true, records: [] })

  const send = (to: readonly string[]) =>
    client.sendEmail({
      from: { email: 'hello@shop.test' },
      to: to.map((email) => ({ email })),
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'To nobody.' }],
      settings: { max_attempts: ATTEMPTS },
    })
  const addressOf = ({ recipient }: Row) => `${recipient}+17@example.com`
  const { ref_id: refId } = await send(rows.map(addressOf))
  const expected = rows.flatMap(({ told }) => told)
  await receiver.waitUntil((requests) => eventsOf(requests).length >= expected.length)
  const first = eventsOf(receiver.requests)
  for (const row of rows) expect(namesOf(first, addressOf(row)), row.recipient).toEqual(row.told)

  const bounce = first.find((one) => inShort(one).startsWith('MAIL_BOUNCE bounce-hard'))
  expect(bounce?.details).toMatchObject({
    error_code: '550',
    num_retries: '0',
    message_id: expect.stringContaining(refId),
    failed_reason: '550 5.1.1 The mailbox does not exist',
  })
  const { suppressions } = await client.listSuppressions()
  const suppressed = rows.filter(({ isSuppressed }) => isSuppressed).map(addressOf)
  expect(suppressions.map(({ email }) => email).toSorted()).toEqual(suppressed.toSorted())

  const again = await send(rows.map(addressOf))
  const taken = again.recipients.filter(({ status }) => status === 'queued')
  expect(taken.map(({ email }) => email).toSorted()).toEqual(
    rows
      .filter(({ isSuppressed }) => !isSuppressed)
      .map(addressOf)
      .toSorted(),
  )
  const more = rows.filter(({ isSuppressed }) => !isSuppressed).flatMap(({ told }) => told)
  const all = expected.length + more.length
  await receiver.waitUntil((requests) => eventsOf(requests).length >= all)
  expect(eventsOf(receiver.requests)).toHaveLength(all)
})
