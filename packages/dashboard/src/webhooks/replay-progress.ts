/** How far a replay is, by the status of the webhooks that it goes to. */
import type { WebhookStatus } from '@postrider/client'

export interface ReplayProgress {
  /** Of its events: in a request, or delivered. */
  readonly gone: number
  /** Everything that it queued was taken by its receivers. */
  readonly isOver: boolean
  /** Why it stands still. */
  readonly heldUpBy: WebhookStatus['state'] | undefined
}

const stopped: readonly WebhookStatus['state'][] = ['paused', 'inactive', 'dormant', 'failing']

type Seen = Pick<WebhookStatus, 'state' | 'backlog' | 'replaying' | 'oldest_pending_at'>

/**
 * @param emptyAtMs when none of its events was seen to wait; what waits from later on is not of it. Undefined: some
 *   still wait
 */
export function progressOf(
  replayed: number,
  statuses: readonly Seen[],
  emptyAtMs: number | undefined,
): ReplayProgress {
  const waiting = statuses.reduce((sum, { replaying }) => sum + replaying, 0)
  const isSettled = ({ backlog, oldest_pending_at: oldest }: Seen) =>
    backlog === 0 ||
    (oldest !== null && Date.parse(oldest) > (emptyAtMs ?? Number.POSITIVE_INFINITY))
  const open = statuses.filter((status) => status.replaying > 0 || !isSettled(status))
  return {
    gone: Math.max(0, replayed - waiting),
    isOver: open.length === 0,
    heldUpBy: open.find(({ state }) => stopped.includes(state))?.state,
  }
}
