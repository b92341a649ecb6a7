/**
 * Keeps copies of what was sent in the mailboxes that it was sent by, where their servers do not (role
 * mailbox): those of the mailers in the buckets whose lease this process holds. Tenants and their
 * mailers take turns for the places. Leases are hints; what keeps two processes apart is the fence of
 * each copy.
 */
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import { type BucketLeases, createBucketSweep, readByIndex } from '../../platform/db/index.ts'
import { discoverSentCopies, type SentCopyMailer } from '../../sending/index.ts'
import { COPIES_MAX, type ServeMailerDeps, serveMailer } from './serve-mailer.ts'

export interface SentCopyDeps extends Omit<ServeMailerDeps, 'memory'> {
  readonly leases: BucketLeases
}

export interface SentCopyWorker extends Service {
  /** Until nothing is due. For tests. */
  runOnce(): Promise<void>
}

const SWEEP_MS = 5_000
const AT_ONCE_MAX = 16
const AT_ONCE_PER_TENANT_MAX = 4
/** A copy takes about three times as much while it is built. */
const MEMORY_BYTES_MAX = 32 * 1024 * 1024
const MEMORY = {
  ...{ bytesMax: MEMORY_BYTES_MAX, bytesOfCallerMax: MEMORY_BYTES_MAX, letsLargeInAlone: true },
}
const STOP_GRACE_MS = 5_000

export function createSentCopyWorker(deps: SentCopyDeps): SentCopyWorker {
  const { db, leases, log } = deps
  const serveDeps = { ...deps, memory: createByteLimiter(MEMORY) }
  const limiter = createConcurrencyLimiter({
    name: 'sent-copies',
    atOnceMax: AT_ONCE_MAX,
    atOncePerCallerMax: AT_ONCE_PER_TENANT_MAX,
    waitingPerCallerMax: Number.POSITIVE_INFINITY,
  })
  /** Waiting or under way, by mailer. */
  const known = new Map<string, Promise<number>>()
  let stopping = new AbortController()

  async function look(buckets: readonly number[]): Promise<void> {
    for (const mailer of await readByIndex(db, (tx) => discoverSentCopies(tx, buckets)))
      begin(mailer)
  }

  async function served(): Promise<number> {
    const claimed = await Promise.all(known.values())
    return claimed.reduce((sum, one) => sum + one, 0)
  }

  function begin(mailer: SentCopyMailer): void {
    const id = `${mailer.tenantId} ${mailer.mailerId}`
    if (known.has(id) || stopping.signal.aborted) return
    const serving = limiter
      .run(mailer.tenantId, async () =>
        stopping.signal.aborted ? 0 : serveMailer(serveDeps, mailer, stopping.signal),
      )
      .catch((error: unknown) => {
        log.warn({ err: error, mailer_id: mailer.mailerId }, 'sent_copies.failed')
        return 0
      })
      .then((claimed) => {
        known.delete(id)
        // There may be more.
        if (claimed === COPIES_MAX) sweep.lookAt([mailer.bucket])
        return claimed
      })
    known.set(id, serving)
  }

  const sweep = createBucketSweep({
    ...{ name: 'sent copies', log, failed: 'sent_copies.not_found' },
    leases,
    sweepMs: SWEEP_MS,
    look,
  })

  return {
    name: 'sent copies',
    async start() {
      stopping = new AbortController()
      await sweep.start()
    },
    async stop() {
      stopping.abort()
      await sweep.stop()
      // Of a session that is being opened, the claims run out by themselves.
      await waitAtMost(served(), STOP_GRACE_MS)
    },
    async runOnce() {
      do await look([...leases.owned()])
      while ((await served()) > 0)
    },
  }
}
