/** Doors that are IMAP servers of tenants: what they say while a login is made, and behind it. */
import { createRandom, imapBombs, makeImapLines } from '@postrider/testkit'
import { letterOf } from '../inbound-scene.ts'
import { type Door, type DoorDeps, isTaken, KIB, SEVERAL } from './door.ts'
import { latin1 } from './send-http.ts'

export async function openMailboxDoors(deps: DoorDeps): Promise<readonly Door[]> {
  return [await loginDoor(deps), await watchDoor(deps)]
}

const known = imapBombs.map(({ name, text }) => ({ kind: 'known imap line', name, text }))
const inputs: Door['inputs'] = ({ seed, count }) => {
  const lines = makeImapLines(createRandom(seed).next, { bytes: 12 * KIB, each: 1 })
  return [
    ...lines.slice(0, 2 * count).map(({ name, text }) => ({ kind: 'imap line', name, text })),
    ...known,
  ]
}
/** A tenant may fail so many logins in a minute: each has few. */
const LOGINS_OF_ONE = 30
const PATIENCE_MS = 1_000

/** Before the greeting. The login is refused. */
async function loginDoor({ world }: DoorDeps): Promise<Door> {
  const receiver = await world.newReceiver()
  // Who logs in is not known yet, so each of those at once has a server to itself.
  const free = await Promise.all(Array.from({ length: SEVERAL }, () => world.newImapServer()))
  let { client } = await world.newTenant()
  let n = 0
  return {
    name: 'lines of an IMAP server before a login',
    atOnce: SEVERAL,
    inputs,
    async enter(text) {
      const server = free.pop()
      if (server === undefined) throw new Error('more at once than servers')
      if (n > 0 && n % LOGINS_OF_ONE === 0) client = (await world.newTenant()).client
      n += 1
      let isGiven = false
      server.setScript(() => {
        isGiven = true
        return { before: latin1(text) }
      })
      // A line may leave the service waiting for more of it.
      const end = setTimeout(() => server.disconnect('fin'), PATIENCE_MS)
      await isTaken(
        client.configureIMAP({
          ...boxOf(n, receiver.origin),
          config: { host: '127.0.0.1', port: server.port, secure: 'None', ...WRONG_LOGIN },
        }),
      )
      clearTimeout(end)
      server.setScript(undefined)
      free.push(server)
      return isGiven
    },
  }
}

const WRONG_LOGIN = { username: 'ada', password: 'secret' }
const boxOf = (n: number, origin: string) => ({
  name: 'Box',
  email: `box${n}@example.com`,
  config_type: 'imap' as const,
  connection_type: 'basic' as const,
  webhook: { webhook_url: `${origin}/`, method: 'POST' as const },
})

/** Of a mailbox that is watched. */
const WATCHED = ['EXAMINE', 'UID SEARCH', 'UID FETCH', 'IDLE'] as const

/** Before the answers to the commands of one that watches. Each has a mailbox of its own. */
async function watchDoor({ world }: DoorDeps): Promise<Door> {
  const users: Record<string, string> = {}
  const [server, receiver] = await Promise.all([
    world.newImapServer({ auth: { users } }),
    world.newReceiver(),
  ])
  let { client } = await world.newTenant()
  let n = 0
  return {
    name: 'lines of an IMAP server whose mailbox is watched',
    inputs,
    async enter(text) {
      if (n > 0 && n % LOGINS_OF_ONE === 0) client = (await world.newTenant()).client
      n += 1
      const username = `box${n}`
      users[username] = 'secret'
      server.account(username).deliver('INBOX', letterOf(username))
      const when = WATCHED[n % WATCHED.length]
      let isGiven = false
      server.setScript((now) => {
        if (now.username !== username || now.command !== when || isGiven) return undefined
        isGiven = true
        return { before: latin1(text) }
      })
      await client.configureIMAP({
        ...boxOf(n, receiver.origin),
        since: '2020-01-01T00:00:00Z',
        config: {
          host: '127.0.0.1',
          port: server.port,
          secure: 'None',
          username,
          password: 'secret',
        },
      })
      // The next command, or the end of the connection: it was read.
      await server.waitFor(() => isGiven)
      return isGiven
    },
    settle: async () => server.setScript(undefined),
  }
}
