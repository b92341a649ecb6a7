/**
 * The process is killed while programs hand in mail, and they hand in again what was not answered. Three
 * things may happen to a message, and each is bounded:
 *
 * - With an idempotency key it is one email, however often it is handed in.
 * - Without one it is two where its first 250 got lost: at most the messages that were under way.
 * - An email is sent twice where an attempt was cut off between its last dot and its record. Its record says
 *   so: it has an attempt for each copy, and all but the last are uncertain.
 */
import { type EmailLog, Postrider } from '@postrider/client'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  logIn,
  refOf,
  type SubmissionWorld,
  submit,
} from '../submission-scene.ts'

const CONNECTIONS = 6
const KILLS = 3

let world: SubmissionWorld
beforeAll(async () => {
  // What was being sent is sent again once its lease has ended.
  world = await createSubmissionWorld({ SEND_LEASE: '2s' })
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

async function allLogs(client: Postrider): Promise<EmailLog[]> {
  const logs: EmailLog[] = []
  let pageToken: string | undefined
  do {
    const page = await client.getEmailLogs({ pageSize: 500, ...(pageToken && { pageToken }) })
    logs.push(...page.logs)
    pageToken = page.nextPageToken
  } while (pageToken !== undefined)
  return logs
}

function countOf(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

it('[contract 8] sends what a 250 confirmed, once, whenever it is killed', {
  timeout: 180_000,
}, async () => {
  await world.start()
  const { apiKey, smtp } = await createScene(world)
  /** The reference of each that was answered 250. */
  const confirmed = new Map<string, string>()
  /** Of each connection the message that was not answered. */
  const unanswered = new Map<number, string>()
  let number = 0

  const isKeyed = (id: string) => id.startsWith('<keyed')
  const messageOf = (id: string) =>
    lines(
      `From: ${FROM}`,
      `Message-ID: ${id}`,
      'Date: x',
      ...(isKeyed(id) ? [`X-Postrider-Idempotency-Key: ${id}`] : []),
      '',
      id,
    )

  /** Hands in one after another, until its connection is gone; first what it still has. */
  async function handIn(connection: number, isEnough: () => boolean): Promise<void> {
    const client = await logIn(world.port, apiKey)
    while (unanswered.has(connection) || !isEnough()) {
      number += 1
      const kind = connection % 2 === 0 ? 'keyed' : 'plain'
      const id = unanswered.get(connection) ?? `<${kind}${number}@a.test>`
      unanswered.set(connection, id)
      confirmed.set(id, refOf(await submit(client, messageOf(id))))
      unanswered.delete(connection)
    }
    client.close()
  }
  const handInAll = (isEnough: () => boolean) =>
    Array.from({ length: CONNECTIONS }, (_, connection) =>
      handIn(connection, isEnough).catch((error: unknown) => error),
    )

  for (let kill = 0; kill < KILLS; kill++) {
    if (kill > 0) await world.start()
    const before = confirmed.size
    const all = handInAll(() => false)
    await expect.poll(() => confirmed.size, { timeout: 60_000 }).toBeGreaterThan(before + 20)
    await world.end('SIGKILL')
    // What was under way was cut off, and never confirmed.
    for (const error of await Promise.all(all)) expect(error).toBeInstanceOf(Error)
  }
  await world.start()
  const reader = new Postrider({ apiKey, basePath: world.service().origin })
  expect(await Promise.all(handInAll(() => true))).toEqual(
    Array.from({ length: CONNECTIONS }, () => undefined),
  )
  const isOver = async () =>
    (await allLogs(reader)).filter(({ status }) => status !== 'delivered').length
  await expect.poll(isOver, { timeout: 60_000 }).toBe(0)

  const logs = await allLogs(reader)
  const emails = countOf(logs.map((log) => log.message_id))
  expect([...confirmed.keys()].filter((id) => !emails.has(id))).toEqual([])
  expect(new Set(confirmed.values()).size).toBe(confirmed.size)
  expect([...emails].filter(([id, count]) => isKeyed(id) && count > 1)).toEqual([])
  const plain = [...emails].filter(([id]) => !isKeyed(id)).map(([, count]) => count - 1)
  expect(sum(plain)).toBeLessThanOrEqual((KILLS * CONNECTIONS) / 2)

  const arrived = countOf(
    smtp.messages.map(({ raw }) => /^Message-ID: (.*)\r$/m.exec(raw.toString())?.[1] ?? ''),
  )
  const attempts = new Map<string, number>()
  for (const log of logs) {
    attempts.set(log.message_id, (attempts.get(log.message_id) ?? 0) + log.attempts)
    if (log.attempts === 1) continue
    const [recipient] = (await reader.getEmail(log.ref_id)).email.recipients
    const outcomes = recipient?.attempts.map(({ outcome }) => outcome) ?? []
    expect(outcomes.slice(0, -1)).toEqual(outcomes.slice(1).map(() => 'uncertain'))
  }
  for (const [id, count] of emails) {
    expect(arrived.get(id) ?? 0, id).toBeGreaterThanOrEqual(count)
    expect(arrived.get(id) ?? 0, id).toBeLessThanOrEqual(attempts.get(id) ?? 0)
  }
  expect([...arrived.keys()].filter((id) => !emails.has(id))).toEqual([])
})
