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
 * @param emptyAtMs when none of its events was seen to wait, by the clock of the server; what waits from later on is
 *   not of it. Undefined: some still wait
 * @param backlogBefore as long as so many wait, none of its events is known to be taken
 */
export function progressOf(
  replayed: number,
  statuses: readonly Seen[],
  emptyAtMs: number | undefined,
  backlogBefore = replayed,
): ReplayProgress {
  const waiting = statuses.reduce((sum, { replaying }) => sum + replaying, 0)
  const hasShrunk = backlogOf(statuses) < backlogBefore
  const isSettled = ({ backlog, oldest_pending_at: oldest }: Seen) =>
    backlog === 0 ||
    (hasShrunk && oldest !== null && Date.parse(oldest) > (emptyAtMs ?? Number.POSITIVE_INFINITY))
  const open = statuses.filter((status) => status.replaying > 0 || !isSettled(status))
  return {
    gone: Math.max(0, replayed - waiting),
    isOver: open.length === 0,
    heldUpBy: open.find(({ state }) => stopped.includes(state))?.state,
  }
}

function backlogOf(statuses: readonly Seen[]): number {
  return statuses.reduce((sum, { backlog }) => sum + backlog, 0)
}

/** The `Date` of an answer leaves out the parts of a second. */
const answerSecondMs = 1_000
const lookAgainMs = 1_000
/** The service counts what waits row by row. */
const manyRows = 10_000
const countAgainMs = 5_000

interface Look extends ReplayProgress {
  /** When to look again. */
  readonly afterMs: number
}

/**
 * Looks at a replay again and again. The first look asks for the status of each webhook, one after the other; each
 * further one for that of one webhook, in turn of those that something still waits for.
 *
 * @param ask answers the time of the server too
 */
export function watchReplay<Options>(
  replayed: number,
  webhookIds: readonly string[],
  ask: (webhookId: string, options: Options) => Promise<{ status: Seen; atMs: number }>,
): (options: Options) => Promise<Look> {
  const seen = new Map<string, Seen>()
  let next = webhookIds[0]
  let backlogBefore: number | undefined
  let emptyAtMs: number | undefined
  return async (options) => {
    let answeredAtMs = Number.NaN
    const unseen = webhookIds.filter((webhookId) => !seen.has(webhookId))
    for (const webhookId of unseen.length > 0 || next === undefined ? unseen : [next]) {
      const { status, atMs } = await ask(webhookId, options)
      seen.set(webhookId, status)
      answeredAtMs = atMs
      const at = webhookIds.indexOf(webhookId) + 1
      next = [...webhookIds.slice(at), ...webhookIds.slice(0, at)].find(
        (other) => seen.get(other)?.backlog !== 0,
      )
    }
    const statuses = [...seen.values()]
    backlogBefore ??= Math.max(replayed, backlogOf(statuses))
    if (statuses.every(({ replaying }) => replaying === 0))
      emptyAtMs ??= answeredAtMs + answerSecondMs
    return {
      ...progressOf(replayed, statuses, emptyAtMs, backlogBefore),
      afterMs: (seen.get(next ?? '')?.backlog ?? 0) > manyRows ? countAgainMs : lookAgainMs,
    }
  }
}
