/**
 * Settles one request, and does not give up easily: a request that was answered is repeated when what came
 * of it is not written.
 */

import { pause } from '@postrider/runtime/timeout'
import {
  DatabaseUnavailableError,
  type Db,
  isWithoutPartition,
} from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/log.ts'
import type { StreamKey } from '../stream-store.ts'
import { reassignDelivery } from './reassign-delivery-store.ts'
import type { Settled, Settlement } from './settle-deliveries.ts'

export interface SettleDeps {
  readonly db: Db
  readonly log: Logger
  readonly settle: (settlement: Settlement) => Promise<Settled>
}

/** Not an outage to those who see it: its stream backs off the longer, the more often this happens. */
export class UnsettledError extends Error {
  override readonly name = 'UnsettledError'
}

const LOCKED_MS = 20
const FIRST_PAUSE_MS = 250
const PAUSE_MS_MAX = 5_000
const GIVE_UP_MS = 60_000

/** False when the delivery was no longer its stream's. */
export async function settleRequest(
  deps: SettleDeps,
  settlement: Settlement,
  signal: AbortSignal,
  /** An earlier try may have been committed. */
  wasMaybeDone = false,
): Promise<boolean> {
  const untilMs = performance.now() + GIVE_UP_MS
  let current = settlement
  let pauseMs = FIRST_PAUSE_MS
  let mayBeDone = wasMaybeDone
  let hasDay = true
  let isRehoused = false
  for (;;) {
    let cause: unknown
    let waitMs = LOCKED_MS
    try {
      if (!hasDay) {
        const ids = await rehouseStream(deps, settlement)
        isRehoused = hasDay = ids !== undefined
        const deliveryId = ids?.get(settlement.deliveryId)
        if (deliveryId !== undefined) current = { ...settlement, deliveryId }
      }
      const settled = hasDay ? await deps.settle(current) : 'locked'
      if (settled !== 'locked') return settled || mayBeDone
    } catch (error) {
      cause = error
      if (isWithoutPartition(error) && !isRehoused) hasDay = false
      else if (error instanceof DatabaseUnavailableError) {
        mayBeDone ||= error.isCommitUnknown
        waitMs = pauseMs
        pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
      } else throw error
    }
    if (signal.aborted || performance.now() + waitMs > untilMs) throw unsettled(cause)
    await pause(waitMs, signal)
  }
}

function unsettled(cause: unknown): UnsettledError {
  return new UnsettledError('The outcome of a request could not be written', { cause })
}

/** Undefined when another transaction holds the stream. */
export async function rehouseStream(
  { db, log }: Pick<SettleDeps, 'db' | 'log'>,
  { tenantId, webhookId }: StreamKey,
): Promise<ReadonlyMap<string, string> | undefined> {
  const ids = await db.transaction((tx) => reassignDelivery(tx, { tenantId, webhookId }))
  for (const [from, to] of ids ?? [])
    log.error(
      { tenant_id: tenantId, webhook_id: webhookId, delivery_id: to, former_id: from },
      'webhook_delivery.rehoused',
    )
  return ids
}
