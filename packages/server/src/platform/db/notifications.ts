/**
 * Tells other processes in which buckets of a role there is work, by NOTIFY.
 *
 * Hints and no more: who misses one finds the work at its next sweep. A transaction that notifies
 * takes a lock that is one for the whole server until it has committed, so business transactions
 * never do: what is to be told is gathered, and told by a transaction of its own, at most one every
 * 100 ms and one at a time. It names buckets alone, so it has a bound (64 of them, below 200 bytes)
 * whatever happened in them.
 */

import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../log.ts'
import { bucketCount } from './lease-round.ts'
import { createListener, type ListenTiming } from './listen.ts'
import { type Db, statement } from './statement.ts'

export interface Notifications extends Service {
  /** For other processes; after the commit of what is told. */
  notify(role: string, buckets: Iterable<number>): void
  /** Called for all buckets whenever a notification may have been missed. */
  onNotified(role: string, listener: (buckets: ReadonlySet<number>) => void): () => void
}

export interface NotificationsOptions {
  readonly db: Db
  readonly url: string
  readonly log: Logger
  /** The roles of this process that other processes make work for; none, and it does not listen. */
  readonly listenTo: readonly string[]
  readonly observe?: (what: 'sent' | 'failed' | 'received') => void
  readonly intervalMs?: number
  readonly timing?: Partial<ListenTiming>
}

const INTERVAL_MS = 100
/** Intervals to wait after a failure; by then a sweep has found the work. */
const FAILURE_INTERVALS = 10
const FAILURE_LOG_MS = 60_000
const CHANNEL_PREFIX = 'postrider_'
const allBuckets: ReadonlySet<number> = new Set(Array(bucketCount).keys())

const NOTIFY = statement('platform.notify', 'select pg_notify($1, $2)')

export function createNotifications(o: NotificationsOptions): Notifications {
  const { db, log, observe = () => undefined, intervalMs = INTERVAL_MS } = o
  const listeners = new Map<string, Set<(buckets: ReadonlySet<number>) => void>>()
  let waiting = new Map<string, Set<number>>()
  let nextMs = Number.NEGATIVE_INFINITY
  let loggedMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isSending = false
  let isStopped = false

  function schedule(): void {
    if (isStopped || isSending || timer !== undefined || waiting.size === 0) return
    // Also at once: what is told within one turn of the event loop is told together.
    timer = setTimeout(send, Math.max(0, nextMs - performance.now()))
  }

  function send(): void {
    timer = undefined
    isSending = true
    const told = waiting
    waiting = new Map()
    nextMs = performance.now() + intervalMs
    notifyAll(told)
      .then(() => observe('sent'), noteFailure)
      .finally(() => {
        isSending = false
        schedule()
      })
  }

  async function notifyAll(told: ReadonlyMap<string, ReadonlySet<number>>): Promise<void> {
    await db.transaction(
      (tx) =>
        Promise.all(
          [...told].map(([role, buckets]) => tx.query(NOTIFY, [channelOf(role), write(buckets)])),
        ),
      // There is nothing in it that would be lost.
      { synchronousCommit: 'off' },
    )
  }

  function noteFailure(error: unknown): void {
    observe('failed')
    const nowMs = performance.now()
    nextMs = nowMs + FAILURE_INTERVALS * intervalMs
    if (nowMs - loggedMs < FAILURE_LOG_MS) return
    loggedMs = nowMs
    log.warn({ err: error }, 'notification.not_sent')
  }

  function tell(role: string, buckets: ReadonlySet<number>): void {
    for (const listener of listeners.get(role) ?? []) listener(buckets)
  }

  const listener = createListener({
    url: o.url,
    applicationName: 'postrider listener',
    channels: o.listenTo.map(channelOf),
    log,
    onNotification(channel, payload) {
      observe('received')
      tell(channel.slice(CHANNEL_PREFIX.length), read(payload))
    },
    onListening() {
      for (const role of o.listenTo) tell(role, allBuckets)
    },
    ...(o.timing === undefined ? {} : { timing: o.timing }),
  })

  return {
    name: 'notifications',
    notify(role, buckets) {
      const known = waiting.get(role) ?? new Set()
      for (const bucket of buckets) known.add(bucket)
      if (known.size > 0) waiting.set(role, known)
      schedule()
    },
    onNotified(role, onBuckets) {
      const known = listeners.get(role) ?? new Set()
      listeners.set(role, known.add(onBuckets))
      return () => known.delete(onBuckets)
    },
    async start() {
      isStopped = false
      schedule()
      if (o.listenTo.length > 0) await listener.start()
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      timer = undefined
      waiting.clear()
      await listener.stop()
    },
  }
}

const channelOf = (role: string) => `${CHANNEL_PREFIX}${role}`

const write = (buckets: ReadonlySet<number>) => [...buckets].sort((a, b) => a - b).join(',')

/** Anyone on this database may notify: what is no bucket is passed over. */
function read(payload: string): ReadonlySet<number> {
  const numbers = payload.split(',').map((text) => (/^\d{1,2}$/.test(text) ? Number(text) : -1))
  return new Set(numbers.filter((bucket) => allBuckets.has(bucket)))
}
