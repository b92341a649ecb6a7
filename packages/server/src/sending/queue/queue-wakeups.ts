/** Tells senders that a mailer has mail. */
import { createWakeups, type Others, type Wakeups } from '../../platform/db/index.ts'

export interface WokenQueue {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
  /** Bulk mail alone (`email.ts`). */
  readonly isBulk?: boolean
  /** The mailer itself has changed: the reason of its pause may be gone. */
  readonly isChanged?: boolean
}

export type QueueWakeups = Wakeups<WokenQueue>

export const createQueueWakeups = (others?: Others): QueueWakeups => createWakeups(others)
