/**
 * The mailer of a queue, as it was at most a second ago. Rows are claimed ahead, and what a mailer
 * was then may be long gone when their turn comes: one that was changed, deleted or deactivated in
 * the meantime is used as it is now.
 */
import { loadMailerForSend, type MailerForSend } from '../../mailers/index.ts'
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { type KeyRing, SealedValueError } from '../../platform/secrets/index.ts'
import { findHeldTenants } from '../../tenants/index.ts'
import type { ReadMailer } from '../attempt/attempt.ts'
import type { QueueKey } from './claim/claim-store.ts'
import type { MailerQueue } from './mailer-queue.ts'

export interface QueueMailerDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly log: Logger
  readonly monotonicMs: () => number
}

const FRESH_MS = 1_000
const CONNECTIONS_UNKNOWN = 1

/** Not a promise while the last reading is recent; those who need a new one share it. */
export function mailerOf(
  deps: QueueMailerDeps,
  queue: MailerQueue,
): ReadMailer | Promise<ReadMailer> {
  const { mailer, mailerReadMs } = queue
  if (mailer !== undefined && deps.monotonicMs() - mailerReadMs < FRESH_MS) return mailer
  if (queue.mailerReading !== undefined) return queue.mailerReading
  const reading = readMailer(deps, queue).finally(() => {
    if (queue.mailerReading === reading) queue.mailerReading = undefined
  })
  queue.mailerReading = reading
  return reading
}

/** It has changed: who needs it from now on reads it. */
export function forgetMailer(queue: MailerQueue): void {
  queue.mailer = undefined
  queue.mailerReading = undefined
}

async function readMailer(deps: QueueMailerDeps, queue: MailerQueue): Promise<ReadMailer> {
  const startedMs = deps.monotonicMs()
  const mailer = await loadMailer(deps, queue)
  // Readings may overtake each other.
  if (queue.mailer === undefined || startedMs >= queue.mailerReadMs) {
    queue.mailer = mailer
    queue.mailerReadMs = startedMs
    queue.connectionsMax = typeof mailer === 'object' ? mailer.connectionsMax : CONNECTIONS_UNKNOWN
    queue.hasRateLimit = typeof mailer === 'object' && hasRateLimit(mailer)
  }
  return mailer
}

/** What a day permits may be claimed ahead; what a second or minute does has to go at once. */
function hasRateLimit({ rates }: MailerForSend): boolean {
  return rates.per_second !== undefined || rates.per_minute !== undefined
}

async function loadMailer(
  deps: QueueMailerDeps,
  { tenantId, mailerId }: QueueKey,
): Promise<ReadMailer> {
  try {
    const [mailer, held] = await Promise.all([
      loadMailerForSend(deps.db, deps.keyRing, tenantId, mailerId),
      findHeldTenants(deps.db, [tenantId]),
    ])
    return held.has(tenantId) ? 'held' : (mailer ?? 'gone')
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    deps.log.error({ err: error, mailer_id: mailerId }, 'mailer.unreadable')
    return 'unreadable'
  }
}
