/**
 * SQL by which recipients are found who are not sent to, or whose mail came back later. Those whose series of
 * attempts ended are found by their attempts. The status itself is written by `accept-store.ts`,
 * `attempt-store.ts` and `report-store.ts`.
 */
import type { RecipientStatus } from '@postrider/contract'
import { insertRows, type Queryable } from '../../platform/db/index.ts'

const STOPPED = [
  'blocked',
  'suppressed',
  'rejected',
  'bounced',
] as const satisfies RecipientStatus[]
export type StoppedStatus = (typeof STOPPED)[number]

export function isStopped(status: string): status is StoppedStatus {
  return STOPPED.some((one) => one === status)
}

export interface StoppedRecipient {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  /** Of the email. */
  readonly day: string
  readonly status: string
}

/** In the transaction that gives them the status. */
export async function insertStopped(
  tx: Queryable,
  rows: readonly StoppedRecipient[],
): Promise<void> {
  if (rows.length === 0) return
  await insertRows(tx, {
    name: 'sending.insert_stopped',
    into: 'sending_stopped',
    columns: ['tenant_id', 'status', 'ref_id', 'n', 'day'],
    rows: rows.map((row) => [row.tenantId, row.status, row.refId, row.n, row.day]),
    suffix: 'on conflict do nothing',
  })
}
