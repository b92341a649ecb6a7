/** Tells senders that a mailer has mail. */
import { createWakeups, type Others, type Wakeups } from '../platform/db/index.ts'

export interface WokenLane {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
}

export type LaneWakeups = Wakeups<WokenLane>

export const createLaneWakeups = (others?: Others): LaneWakeups => createWakeups(others)
