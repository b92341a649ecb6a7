import { createSignal } from '@postrider/testkit'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../../test/database-proxy.ts'
import { DatabaseUnavailableError } from './errors.ts'
import {
  createNotifications,
  type Notifications,
  type NotificationsOptions,
} from './notifications.ts'
import type { Db } from './statement.ts'

const ROLE = 'worker'
const APPLICATION = 'postrider listener'
let database: TestDatabase
let proxy: DatabaseProxy
let db: Db
const changed = createSignal()
const opened: Notifications[] = []
/** What the log and `observe` were told, of all that a test opened. */
let said: string[] = []
let counted: string[] = []

beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
  db = database.db
})
beforeEach(async () => {
  proxy = await startDatabaseProxy(database.url)
  said = []
  counted = []
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop()
  await proxy.close()
})
afterAll(() => database.close())

function open(change: Partial<NotificationsOptions> = {}): Notifications {
  // Of this test: what comes late is not the next one's.
  const mine = { said, counted }
  const write = (line: string) => {
    mine.said.push(JSON.parse(line).msg)
    changed.notify()
  }
  const notifications = createNotifications({
    db,
    url: database.url,
    log: pino({ level: 'trace' }, { write }),
    listenTo: [],
    observe: (what) => {
      mine.counted.push(what)
      changed.notify()
    },
    intervalMs: 1,
    ...change,
    timing: { retryMsMin: 1, retryMsMax: 5, ...change.timing },
  })
  opened.push(notifications)
  return notifications
}

/** Another process, and what it was told; with a first `all` when it has begun to listen. */
async function listen(change: Partial<NotificationsOptions> = {}) {
  const heard: (string | number[])[] = []
  const notifications = open({ listenTo: [ROLE], ...change })
  notifications.onNotified(ROLE, (buckets) => {
    heard.push(buckets.size === 64 ? 'all' : [...buckets])
    changed.notify()
  })
  await notifications.start()
  return { heard, notifications }
}
const count = (list: readonly unknown[], what: unknown) => list.filter((one) => one === what).length
const until = (isMet: () => boolean) =>
  changed.until(isMet, { describe: () => `said ${said}, counted ${counted}` })

it('tells other processes in which buckets of a role there is work', async () => {
  const { heard } = await listen()
  await until(() => heard.length === 1)
  const teller = open()
  teller.notify('another', [1])
  teller.notify(ROLE, [63, 5, 5, 0])
  await until(() => heard.length === 2)
  expect(heard).toEqual(['all', [0, 5, 63]])
  teller.notify(ROLE, [7])
  await until(() => heard.length === 3)
  expect(heard[2]).toEqual([7])
})

it('collects notifications, and sends them at most once in an interval', async () => {
  const { heard } = await listen()
  await until(() => heard.length === 1)
  const teller = open({ intervalMs: 3_600_000 })
  for (let i = 0; i < 1_000; i += 1) teller.notify(ROLE, [i % 64])
  await until(() => heard.length === 2)
  expect(heard).toEqual(['all', 'all'])
  for (let i = 0; i < 1_000; i += 1) teller.notify(ROLE, [i % 64])
  // Told by somebody else, after it.
  open().notify(ROLE, [1])
  await until(() => heard.length === 3)
  expect(heard[2]).toEqual([1])
  await until(() => count(counted, 'sent') >= 2)
  expect(count(counted, 'sent')).toBe(2)
})

it('ends one transaction before it begins the next', async () => {
  const { promise: isFree, resolve: free } = Promise.withResolvers<void>()
  let underWay = 0
  let most = 0
  const slow: Db = {
    ...db,
    get stats() {
      return db.stats
    },
    async transaction(work, o) {
      underWay += 1
      most = Math.max(most, underWay)
      changed.notify()
      await isFree
      const result = await db.transaction(work, o)
      underWay -= 1
      return result
    },
  }
  const teller = open({ db: slow, intervalMs: 0 })
  const { heard } = await listen()
  await until(() => heard.length === 1)
  teller.notify(ROLE, [1])
  await until(() => underWay === 1)
  for (const bucket of [2, 3]) {
    teller.notify(ROLE, [bucket])
    // Long enough for it to be sent, if it were.
    open().notify(ROLE, [bucket + 10])
    await until(() => heard.flat().includes(bucket + 10))
  }
  free()
  await until(() => heard.flat().includes(3))
  expect(most).toBe(1)
})

it('ignores malformed notifications, as anyone may send them', async () => {
  const { heard } = await listen()
  await until(() => heard.length === 1)
  for (const payload of ['', 'x', '64,1,-1,1e1,007', '2,2'])
    await db.query('select pg_notify($1, $2)', [`postrider_${ROLE}`, payload])
  await until(() => heard.length === 5)
  expect(heard.slice(1)).toEqual([[], [], [1], [2]])
  expect(count(counted, 'received')).toBe(4)
})

it('listens again when its session was ended, and reports that notifications may be missing', async () => {
  const { heard } = await listen()
  await until(() => heard.length === 1)
  await db.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
    [APPLICATION],
  )
  await until(() => heard.length === 2)
  expect(heard).toEqual(['all', 'all'])
  open().notify(ROLE, [9])
  await until(() => heard.length === 3)
  expect(heard[2]).toEqual([9])
  expect(count(said, 'notifications.lost')).toBe(1)
})

it('gives a frozen server up, and listens again when one answers', async () => {
  const { heard } = await listen({ url: proxy.url, timing: { checkMs: 5, answerMs: 200 } })
  await until(() => heard.length === 1)
  proxy.freeze()
  // Lost, and not to be had again.
  await until(() => count(said, 'notifications.lost') >= 2)
  proxy.thaw()
  await until(() => heard.length >= 2)
  expect(heard[1]).toBe('all')
})

it('starts without a server, and stops while the server is frozen', async () => {
  proxy.freeze()
  const { heard, notifications } = await listen({ url: proxy.url, timing: { answerMs: 600_000 } })
  await notifications.stop()
  await notifications.start()
  proxy.thaw()
  await until(() => heard.length === 1)
  proxy.freeze()
  await notifications.stop()
})

it('drops notifications that cannot be sent, logs that once, and sends later ones', async () => {
  const { heard } = await listen()
  await until(() => heard.length === 1)
  let isAway = true
  const flaky: Db = {
    ...db,
    get stats() {
      return db.stats
    },
    transaction: (work, o) =>
      isAway ? Promise.reject(new DatabaseUnavailableError('away')) : db.transaction(work, o),
  }
  const teller = open({ db: flaky })
  teller.notify(ROLE, [1])
  await until(() => count(counted, 'failed') === 1)
  teller.notify(ROLE, [2])
  await until(() => count(counted, 'failed') === 2)
  isAway = false
  teller.notify(ROLE, [3])
  await until(() => heard.length === 2)
  expect(heard[1]).toEqual([3])
  expect(count(said, 'notification.not_sent')).toBe(1)
})

it('opens no connection in a process that is told nothing', async () => {
  const before = await db.query<{ at: string }>('select clock_timestamp()::text as at')
  const notifications = open()
  await notifications.start()
  notifications.notify(ROLE, [1])
  await until(() => count(counted, 'sent') === 1)
  const { rows } = await db.query(
    'select 1 from pg_stat_activity where application_name = $1 and backend_start > $2::timestamptz',
    [APPLICATION, before.rows[0]?.at],
  )
  expect(rows).toEqual([])
})

it('may be stopped before its start, twice, and started again', async () => {
  const notifications = open({ listenTo: [ROLE] })
  await notifications.stop()
  await notifications.start()
  await notifications.start()
  await until(() => count(said, 'notifications.listening') === 1)
  await Promise.all([notifications.stop(), notifications.stop()])
  await notifications.start()
  await until(() => count(said, 'notifications.listening') === 2)
})
