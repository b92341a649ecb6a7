/**
 * The rows that this process holds by a claim, from claim to commit: kept alive by a heartbeat, and
 * bounded, for each is memory.
 *
 * `isValid` is this process's own reading of its claims: a process that stood still for longer than
 * a claim lasts must not begin what another may have by now. The fence is what decides.
 */
import type { Db } from '../platform/db/index.ts'
import type { Claim } from './attempt.ts'
import type { Held } from './lane.ts'
import { LARGE_CONTENT_BYTES } from './large-emails.ts'
import { extendClaims } from './queue-store.ts'

const ROWS_MAX = 8_192
const ROWS_MAX_OF_TENANT = 2_048
/** Of contents that are loaded with the claim. */
const BYTES_MAX = 64 * 1024 * 1024

export interface HeldRows {
  /** How many more rows a tenant may claim. */
  roomFor(tenantId: string): number
  add(rows: readonly Held[]): void
  delete(row: Held): void
  isValid(row: Held): boolean
  /** Extends the claims that have run for a third of their time. */
  extend(): Promise<void>
  readonly size: number
}

export function createHeldRows(deps: {
  readonly db: Db
  readonly leaseMs: number
  readonly monotonicMs: () => number
}): HeldRows {
  const { db, leaseMs, monotonicMs } = deps
  const rows = new Set<Held>()
  const rowsOfTenant = new Map<string, number>()
  let bytes = 0

  function count({ loaded: { claim } }: Held, by: 1 | -1): void {
    bytes += by * smallBytesOf(claim)
    const ofTenant = (rowsOfTenant.get(claim.tenantId) ?? 0) + by
    if (ofTenant > 0) rowsOfTenant.set(claim.tenantId, ofTenant)
    else rowsOfTenant.delete(claim.tenantId)
  }

  return {
    roomFor(tenantId) {
      if (bytes >= BYTES_MAX) return 0
      const ofTenant = ROWS_MAX_OF_TENANT - (rowsOfTenant.get(tenantId) ?? 0)
      return Math.max(0, Math.min(ROWS_MAX - rows.size, ofTenant))
    },
    add(added) {
      for (const row of added) {
        rows.add(row)
        count(row, 1)
      }
    },
    delete(row) {
      if (rows.delete(row)) count(row, -1)
    },
    isValid: (row) => monotonicMs() < row.validUntilMs,
    async extend() {
      const startedMs = monotonicMs()
      const due = [...rows].filter((row) => row.validUntilMs - startedMs <= (leaseMs * 2) / 3)
      if (due.length === 0) return
      await extendClaims(
        db,
        due.map((row) => row.loaded.claim),
        leaseMs,
      )
      for (const row of due) row.validUntilMs = startedMs + leaseMs
    },
    get size() {
      return rows.size
    },
  }
}

function smallBytesOf({ contentBytes }: Claim): number {
  return contentBytes < LARGE_CONTENT_BYTES ? contentBytes : 0
}
