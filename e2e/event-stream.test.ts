/** The event stream over the deaths of its process, compared with the log. */
import { Postrider } from '@postrider/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createWorld, type World } from './world.ts'

const LIVES = 3
const MAILS_A_LIFE = 40

let world: World
beforeEach(async () => {
  world = createWorld({ SEND_LEASE: '2s' })
  await world.start()
})
afterEach(() => world.destroy())

/** Collects the ids until it is aborted. */
function follow(client: Postrider, ids: string[], signal: AbortSignal): Promise<void> {
  const read = async () => {
    for await (const event of client.streamEvents({}, { signal, lastEventId: ids.at(-1) }))
      ids.push(event.event === 'gap' ? `gap ${event.reason}` : event.event_id)
  }
  return read().catch((error: { code?: string }) => {
    if (error.code !== 'aborted') throw error
  })
}

it('has every event once, in one order, although its process is killed again and again', async () => {
  const smtp = await world.newSmtpServer({
    script: { 'refused@recipient.test': ['550 5.1.1 no such user'] },
  })
  const { client: first, apiKey } = await world.newTenant()
  await first.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  const ids: string[] = []
  let accepted = 0
  for (let life = 1; life <= LIVES; life++) {
    const client = new Postrider({ apiKey, basePath: world.service().origin })
    const end = new AbortController()
    const followed = follow(client, ids, end.signal)
    // The first stream begins with what comes after it.
    if (life === 1) await new Promise((resolve) => setTimeout(resolve, 1_000))
    const before = ids.length
    for (let n = 0; n < MAILS_A_LIFE; n++, accepted++)
      await client.sendEmail({
        from: { email: 'news@sender.test' },
        to: [{ email: n % 10 === 0 ? 'refused@recipient.test' : `u${n}@recipient.test` }],
        subject: 'Hello',
        content: [{ type: 'text/plain', value: 'Hi.' }],
      })
    if (life < LIVES) {
      while (ids.length === before) await new Promise((resolve) => setTimeout(resolve, 10))
      await world.end('SIGKILL')
      end.abort()
      await followed
      await world.start()
      continue
    }
    // An attempt that a kill made uncertain is tried again: until each mail has ended.
    await expect
      .poll(
        async () => {
          const listed: string[] = []
          let ended = 0
          for await (const one of client.listEvents({ pageSize: 500 })) {
            listed.push(one.event_id)
            const isTriedAgain = one.event === 'SMTP_ERROR' && one.details.retry_scheduled
            if (!isTriedAgain) ended += 1
          }
          return ended === accepted && listed.toSorted().join() === ids.toSorted().join()
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe(true)
    end.abort()
    await followed

    // A second reader gets the same order from the first event on.
    const again: string[] = []
    const other = new AbortController()
    again.push(ids[0] ?? '')
    const replayed = follow(client, again, other.signal)
    await expect.poll(() => again.length, { timeout: 10_000 }).toBe(ids.length)
    other.abort()
    await replayed
    expect(again).toEqual(ids)
  }
}, 180_000)
