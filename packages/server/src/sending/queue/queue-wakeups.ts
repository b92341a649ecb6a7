/** Tells senders that a mailer has mail. */
import { createWakeups, type Others, type Wakeups } from '../../platform/db/index.ts'

export interface WokenLane {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
  /** Bulk mail alone (`email.ts`). */
  readonly isBulk?: boolean
  /** The mailer itself has changed: what its lane rested for may be over. */
  readonly isChanged?: boolean
}

export type LaneWakeups = Wakeups<WokenLane>

export const createLaneWakeups = (others?: Others): LaneWakeups => createWakeups(others)
