/**
 * The role mailbox: watches the mailboxes of the buckets whose lease this process holds, each by itself
 * (watch-mailbox.ts). Which ones those are is looked up when it is told of a change, and every now and
 * then. Leases are hints: what keeps two processes apart is the fence of each mailbox.
 */

import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import { listMailboxes, type WatchedMailbox } from '../../mailers/index.ts'
import {
  type BucketLeases,
  bucketOf,
  createBucketSweep,
  type Wakeups,
} from '../../platform/db/index.ts'
import type { MailboxKey } from './mailbox-store.ts'
import { type MailboxState, type WatchMailboxDeps, watchMailbox } from './watch-mailbox.ts'

export interface WokenMailbox extends MailboxKey {
  readonly bucket: number
}

export interface MailboxWatchersDeps extends WatchMailboxDeps {
  readonly leases: BucketLeases
  readonly mailboxWakeups: Wakeups<WokenMailbox>
  readonly sweepMs?: number
}

export interface MailboxWatchers extends Service {
  counts(): Readonly<Record<MailboxState, number>>
}

const SWEEP_MS = 15_000
/** What is being stored when a stop is asked for has so long to end; goodbyes are said meanwhile. */
const STOP_GRACE_MS = 10_000

interface Watcher {
  readonly mailbox: WatchedMailbox
  readonly bucket: number
  readonly stopper: AbortController
  readonly done: Promise<void>
  state: MailboxState
}

export function createMailboxWatchers(deps: MailboxWatchersDeps): MailboxWatchers {
  const { db, leases, log } = deps
  const watchers = new Map<string, Watcher>()
  const ending = new Set<Promise<void>>()
  let isRunning = false
  let unsubscribe: (() => void)[] = []

  const idOf = ({ tenantId, mailerId }: MailboxKey) => `${tenantId} ${mailerId}`

  async function look(buckets: readonly number[]): Promise<void> {
    const wanted = new Map<string, WatchedMailbox>()
    const looked = new Set(buckets)
    for (const mailbox of await listMailboxes(db))
      if (looked.has(bucketOf(mailbox.mailerId))) wanted.set(idOf(mailbox), mailbox)
    for (const [id, watcher] of watchers) {
      const now = wanted.get(id)
      const isCurrent = now?.configVersion === watcher.mailbox.configVersion
      if (looked.has(watcher.bucket) && !isCurrent) end(watcher)
    }
    for (const [id, mailbox] of wanted) if (!watchers.has(id)) begin(id, mailbox)
  }

  function begin(id: string, mailbox: WatchedMailbox): void {
    const bucket = bucketOf(mailbox.mailerId)
    if (!isRunning || !leases.owned().has(bucket)) return
    const stopper = new AbortController()
    const onState = (state: MailboxState) => {
      watcher.state = state
    }
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const watcher: Watcher = { mailbox, bucket, stopper, done, state: 'connecting' }
    watchers.set(id, watcher)
    watchMailbox(deps, mailbox, { signal: stopper.signal, onState })
      .catch((error: unknown) => {
        const { tenantId: tenant_id, mailerId: mailer_id } = mailbox
        log.error({ err: error, tenant_id, mailer_id }, 'mailbox.watcher_failed')
      })
      .finally(() => {
        // One that has ended by itself is begun again where it is still wanted: at the next sweep.
        if (watchers.get(id) === watcher) watchers.delete(id)
        resolve()
      })
  }

  function end(watcher: Watcher): void {
    watchers.delete(idOf(watcher.mailbox))
    watcher.stopper.abort()
    ending.add(watcher.done)
    void watcher.done.finally(() => ending.delete(watcher.done))
  }

  /** What this process does not own any more, at once. */
  function dropLost(): void {
    const owned = leases.owned()
    for (const watcher of [...watchers.values()]) if (!owned.has(watcher.bucket)) end(watcher)
  }

  leases.onChange(dropLost)
  const sweep = createBucketSweep({
    ...{ name: 'mailboxes', log, failed: 'mailbox_sweep.failed' },
    leases,
    sweepMs: deps.sweepMs ?? SWEEP_MS,
    look,
  })

  return {
    name: 'mailboxes',
    async start() {
      if (isRunning) return
      isRunning = true
      unsubscribe = [
        deps.mailboxWakeups.onWake((woken) => sweep.lookAt(woken.map(({ bucket }) => bucket))),
        deps.mailboxWakeups.onNews(sweep.lookAt),
      ]
      await sweep.start()
    },
    async stop() {
      isRunning = false
      for (const stop of unsubscribe.splice(0)) stop()
      await sweep.stop()
      for (const watcher of [...watchers.values()]) end(watcher)
      await waitAtMost(Promise.all(ending), STOP_GRACE_MS)
    },
    counts() {
      const counts = { connecting: 0, watched: 0, failing: 0 }
      for (const { state } of watchers.values()) counts[state] += 1
      return counts
    },
  }
}
