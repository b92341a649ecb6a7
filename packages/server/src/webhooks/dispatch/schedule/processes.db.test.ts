/**
 * Several processes on one database, without sweeps: what finds its way does so by notification.
 */

import type { Service } from '@postrider/runtime/service'
import { createSignal, createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { createNotifications } from '../../../platform/db/index.ts'
import { type BucketLeases, bucketOf, createBucketLeases } from '../../../platform/db/leases.ts'
import { recordEvents } from '../../events/record-events.ts'
import type { StreamKey } from '../stream-store.ts'
import { createWakeups, type Wakeups } from './wakeups.ts'
import type { Dispatcher } from './worker.ts'

const NEVER_MS = 2 ** 31 - 1
const silent = pino({ level: 'silent' })
const changed = createSignal()
let world: WebhookDispatch
let receiver: WebhookReceiver
let role = 0
const started: Service[] = []
beforeAll(async () => {
  world = await createWebhookDispatch()
})
beforeEach(async () => {
  role += 1
  receiver = await createWebhookReceiver()
})
afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop()
  await receiver.close()
  await world.clear()
})
afterAll(() => world.close())

interface Process {
  readonly leases: BucketLeases
  readonly dispatcher: Dispatcher | undefined
  readonly wakeups: Wakeups
  /** Its log, and what became of its notifications. */
  readonly said: string[]
  readonly counted: string[]
  /** Where its requests went. */
  readonly requested: string[]
}

/** A process, with a dispatcher that looks once and then never by itself, or without. */
async function startProcess(memberId: string, hasDispatcher: boolean): Promise<Process> {
  const { db } = world
  const said: string[] = []
  const counted: string[] = []
  const requested: string[] = []
  const leases = createBucketLeases({
    db,
    role: `dispatcher${role}`,
    memberId,
    ttlMs: 600_000,
    log: silent,
  })
  const notifications = createNotifications({
    db,
    url: world.database.url,
    log: pino({ level: 'info' }, { write: (line: string) => note(said, JSON.parse(line).msg) }),
    listenTo: hasDispatcher ? ['dispatcher'] : [],
    observe: (what) => note(counted, what),
    timing: { retryMsMin: 1, retryMsMax: 10 },
  })
  const wakeups = createWakeups({
    owned: leases.owned,
    notify: (buckets) => notifications.notify('dispatcher', buckets),
    onNotified: (listener) => notifications.onNotified('dispatcher', listener),
  })
  started.push(leases, notifications)
  await notifications.start()
  let dispatcher: Dispatcher | undefined
  if (hasDispatcher) {
    dispatcher = await world.dispatcher({
      leases,
      wakeups,
      sweepMs: NEVER_MS,
      concurrency: 64,
      egress: {
        ...world.egress,
        request(o) {
          requested.push(new URL(o.url).pathname)
          return world.egress.request(o)
        },
      },
    })
    started.push(dispatcher)
    await dispatcher.start()
  }
  return { leases, dispatcher, wakeups, said, counted, requested }
}
function note(list: string[], what: string): void {
  list.push(what)
  changed.notify()
}
const until = (isMet: () => boolean, what: string) => changed.until(isMet, { describe: () => what })
const listening = ({ said }: Process) =>
  said.filter((one) => one === 'notifications.listening').length

/** Two dispatchers with half of the buckets each, and a process without. */
async function startThree() {
  const a = await startProcess('a', true)
  const b = await startProcess('b', true)
  for (let i = 0; i < 3; i += 1) for (const one of [a, b]) await one.leases.runOnce()
  expect([a.leases.owned().size, b.leases.owned().size]).toEqual([32, 32])
  const api = await startProcess('api', false)
  await until(() => listening(a) === 1 && listening(b) === 1, 'both listen')
  return { a, b, api }
}

/** As many, the n-th of them at the path `/n`. */
async function registerMany(count: number): Promise<StreamKey[]> {
  const keys: StreamKey[] = []
  for (let i = 0; i < count; i += 1)
    keys.push(await world.register(`${receiver.origin}/${i}`, { tenantId: `tn_${i}` }))
  return keys
}

/** An event for each, in one transaction of that process, which then wakes; undefined tells nobody. */
async function record(by: Process | undefined, keys: readonly StreamKey[]): Promise<void> {
  const events = keys.map(({ tenantId }) => newEvent({ tenantId }))
  const { touched } = await world.db.transaction((tx) => recordEvents(tx, events))
  by?.wakeups.wake(touched)
}
const ownedBy = (keys: readonly StreamKey[], { leases }: Process) =>
  keys.filter((key) => leases.owned().has(bucketOf(key.webhookId)))

it('tells the dispatcher of a bucket what a process without one records', async () => {
  const { a, b, api } = await startThree()
  const keys = await registerMany(20)
  await record(api, keys)
  await receiver.waitForRequests(20)
  // All in one notification, and each request from the owner of its bucket.
  await until(() => api.counted.length > 0, 'sent')
  expect(api.counted).toEqual(['sent'])
  for (const one of [a, b]) {
    const paths = ownedBy(keys, one).map((key) => `/${keys.indexOf(key)}`)
    expect(one.requested.sort()).toEqual(paths.sort())
    expect(one.counted).toEqual(['received'])
  }
  await record(api, keys)
  await receiver.waitForRequests(40)
})

it('tells another dispatcher of its events, and needs no notification for its own', async () => {
  const { a, b } = await startThree()
  const keys = await registerMany(12)
  const [mine, others] = [ownedBy(keys, a), ownedBy(keys, b)]
  await record(a, mine)
  await receiver.waitForRequests(mine.length)
  expect(a.counted).toEqual([])
  await record(a, others)
  await receiver.waitForRequests(keys.length)
  expect(b.requested).toHaveLength(others.length)
})

it('listens again after its session was ended, and finds what it missed', async () => {
  const { a, b, api } = await startThree()
  const keys = await registerMany(6)
  await record(undefined, keys)
  await world.db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'postrider listener' and datname = current_database()`,
  )
  await receiver.waitForRequests(6)
  await until(() => listening(a) === 2 && listening(b) === 2, 'both listen again')
  await record(api, keys)
  await receiver.waitForRequests(12)
})

it('has one request of a webhook under way, however many processes wake it', async () => {
  const { a, b, api } = await startThree()
  const keys = await registerMany(4)
  const underWay = new Map<string, number>()
  let most = 0
  const change = (path: string, by: number) => {
    underWay.set(path, (underWay.get(path) ?? 0) + by)
    most = Math.max(most, ...underWay.values())
  }
  const { port } = receiver
  await receiver.close()
  receiver = await createWebhookReceiver({
    port,
    onRequest: ({ path }) => change(path, 1),
    onAnswered: ({ path }) => change(path, -1),
  })
  const events = () =>
    receiver.requests.reduce((sum, one) => sum + (one.json as readonly unknown[]).length, 0)
  for (let i = 0; i < 30; i += 1) await Promise.all([a, b, api].map((by) => record(by, keys)))
  await receiver.waitUntil(() => events() === 30 * 3 * keys.length)
  expect(most).toBe(1)
})

/** Receivers that answer when the test says so: of all that are asked meanwhile, at once. */
async function gateReceiver(): Promise<() => void> {
  const { port } = receiver
  await receiver.close()
  const { promise, resolve } = Promise.withResolvers<void>()
  receiver = await createWebhookReceiver({
    port,
    script: () => ({ status: 200, after: promise }),
  })
  return resolve
}
/** Each delivery was requested once. */
async function expectNoRepetition(keys: readonly StreamKey[], requests: number): Promise<void> {
  expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(requests)
  expect(receiver.requests).toHaveLength(requests)
  for (const key of keys)
    for (const delivery of await world.deliveries(key))
      expect(delivery).toMatchObject({ status: 'delivered', attempts: 1 })
}

it('repeats no request under way when a dispatcher joins', async () => {
  const a = await startProcess('a', true)
  await a.leases.start()
  const keys = await registerMany(20)
  const open = await gateReceiver()
  await record(a, keys)
  await receiver.waitForRequests(20)
  const b = await startProcess('b', true)
  for (let i = 0; i < 3; i += 1) for (const one of [b, a]) await one.leases.runOnce()
  // Buckets with a request under way are still those of the first; the others have moved.
  expect(ownedBy(keys, a)).toHaveLength(20)
  expect(b.leases.owned().size).toBeGreaterThan(10)
  // More for all: it is sent by those to whom the buckets have moved by then.
  await record(a, keys)
  // The first gives the rest back by itself, long before it would look again.
  const given = new Promise<void>((resolve) =>
    a.leases.onChange(() => {
      if (a.leases.owned().size === 32) resolve()
    }),
  )
  open()
  await given
  await b.leases.runOnce()
  expect([a.leases.owned().size, b.leases.owned().size]).toEqual([32, 32])
  await receiver.waitForRequests(40)
  for (const one of [a, b]) await one.dispatcher?.runOnce()
  expect(ownedBy(keys, b).length).toBeGreaterThan(0)
  expect(b.requested).toHaveLength(ownedBy(keys, b).length)
  await expectNoRepetition(keys, 40)
})

it('repeats no request of a dispatcher that is stopped', async () => {
  const { a, b, api } = await startThree()
  const keys = await registerMany(20)
  const open = await gateReceiver()
  await record(api, keys)
  await receiver.waitForRequests(20)
  await record(api, keys)
  const stopped = b.dispatcher?.stop()
  for (let i = 0; i < 3; i += 1) await a.leases.runOnce()
  expect(receiver.requests).toHaveLength(20)
  open()
  await stopped
  await b.leases.stop()
  await a.leases.runOnce()
  await receiver.waitForRequests(40)
  await a.dispatcher?.runOnce()
  await expectNoRepetition(keys, 40)
})
