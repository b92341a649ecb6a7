/** Claims rows for queues whose turn it is, and loads them; a few claims at once. `send-scheduler.ts` gives the turns. */
import type { Failpoints } from '../../../platform/failpoints.ts'
import type { Logger } from '../../../platform/log.ts'
import { type MailerQueue, noteClasses, takeClasses } from '../mailer-queue.ts'
import type { MailerThrottle } from '../mailer-throttle.ts'
import type { QueueMailerDeps } from '../queue-mailer.ts'
import { claimRows } from './claim-rows.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import type { RowLoader } from './load-rows.ts'

export interface QueueClaims {
  /** Whether another claim has to wait. */
  readonly isFull: boolean
  /** What was claimed waits in the queue when it resolves. Never rejects. */
  claim(queue: MailerQueue, limit: number): Promise<void>
}

/** Each takes up to three connections to the database for a moment. */
const CLAIMS_AT_ONCE = 4

export function createQueueClaims(
  deps: QueueMailerDeps & {
    readonly held: Pick<LeasedRecipients, 'catchUp'>
    readonly leaseMs: number
    readonly log: Logger
    readonly failpoints: Failpoints
    readonly monotonicMs: () => number
    readonly throttle: Pick<MailerThrottle, 'begin'>
    readonly load: RowLoader['load']
    readonly isClosed: () => boolean
    readonly onClaimed: (queue: MailerQueue) => void
  },
): QueueClaims {
  const { held, leaseMs, log } = deps
  let underWay = 0

  async function claimAndLoad(queue: MailerQueue, limit: number): Promise<void> {
    const classes = takeClasses(queue)
    // Claims that expired while this process was suspended are not claimed again as interrupted ones.
    await held.catchUp()
    const validUntilMs = deps.monotonicMs() + leaseMs
    const { claims, left, pause } = await claimRows(deps, queue, { classes, limit, leaseMs })
    noteClasses(queue, left)
    if (pause !== undefined && !deps.isClosed()) deps.throttle.begin(queue, pause.because, pause.ms)
    if (claims.length === 0) return
    deps.failpoints.hit('send.after_claim')
    queue.waiting.push(...(await deps.load(queue, claims, validUntilMs)))
  }

  return {
    get isFull() {
      return underWay >= CLAIMS_AT_ONCE
    },
    async claim(queue, limit) {
      underWay += 1
      queue.isClaiming = true
      try {
        await claimAndLoad(queue, limit)
      } catch (error) {
        // What may have been claimed is due again when its claim runs out.
        log.warn({ err: error, mailer_id: queue.mailerId }, 'sender_claim.failed')
      }
      underWay -= 1
      queue.isClaiming = false
      deps.onClaimed(queue)
    },
  }
}
