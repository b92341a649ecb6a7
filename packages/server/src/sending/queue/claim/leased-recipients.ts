/**
 * The rows that this process holds by a claim, from claim to commit: kept alive by a heartbeat, and
 * bounded, for each is memory. A tenant may hold an eighth of the whole, so that servers that hang
 * do not use it up for others, and one row whatever others hold. The recipients of an email share its
 * content, which counts once.
 *
 * `isValid` is this process's own reading of its claims: a process that was suspended for longer than
 * a claim lasts must not begin what another may have by now. The fence is what decides.
 */
import { type Db, transactByIndex } from '../../../platform/db/index.ts'
import type { Claim, LoadedClaim } from '../../attempt/attempt.ts'
import { preparedAs } from '../../attempt/prepare-email.ts'
import type { LeasedRecipient } from '../mailer-queue.ts'
import { extendClaims } from '../queue-store.ts'
import { LARGE_CONTENT_BYTES } from './large-emails.ts'

const ROWS_MAX = 8_192
/** Of contents that are loaded with the claim. */
const BYTES_MAX = 64 * 1024 * 1024
const TENANT_SHARE = 1 / 8

export interface LeasedRecipients {
  /** How many more rows a tenant may claim. */
  roomFor(tenantId: string): number
  /** What makes the message ready, when a row of the same email is held. */
  prepareOf(claim: Claim): LoadedClaim['prepare'] | undefined
  add(rows: readonly LeasedRecipient[]): void
  delete(row: LeasedRecipient): void
  isValid(row: LeasedRecipient): boolean
  /** Extends the claims that have run for a third of their time. */
  extend(): Promise<void>
  /** The same, if this process was suspended for so long that its own claims may have expired. */
  catchUp(): Promise<void>
  readonly size: number
}

interface TenantHeld {
  rows: number
  bytes: number
  readonly emails: Map<string, LeasedEmail>
}

interface LeasedEmail {
  rows: number
  readonly bytes: number
  readonly prepare: LoadedClaim['prepare']
}

export function createLeasedRecipients(deps: {
  readonly db: Db
  readonly leaseMs: number
  readonly monotonicMs: () => number
}): LeasedRecipients {
  const { db, leaseMs, monotonicMs } = deps
  const rows = new Set<LeasedRecipient>()
  const tenants = new Map<string, TenantHeld>()
  let bytes = 0
  let extendedMs = monotonicMs()

  function addRow(row: LeasedRecipient): void {
    const { claim, prepare } = row.loaded
    const own = tenants.get(claim.tenantId) ?? { rows: 0, bytes: 0, emails: new Map() }
    tenants.set(claim.tenantId, own)
    const key = preparedAs(claim)
    const email = own.emails.get(key)
    own.rows += 1
    if (email !== undefined) {
      email.rows += 1
      return
    }
    const added = smallBytesOf(claim)
    own.emails.set(key, { rows: 1, bytes: added, prepare })
    own.bytes += added
    bytes += added
  }

  function deleteRow({ loaded: { claim } }: LeasedRecipient): void {
    const own = tenants.get(claim.tenantId)
    const key = preparedAs(claim)
    const email = own?.emails.get(key)
    if (own === undefined || email === undefined) return
    own.rows -= 1
    email.rows -= 1
    if (email.rows === 0) {
      own.emails.delete(key)
      own.bytes -= email.bytes
      bytes -= email.bytes
    }
    if (own.rows === 0) tenants.delete(claim.tenantId)
  }

  async function extend(): Promise<void> {
    const startedMs = monotonicMs()
    const due = [...rows].filter((row) => row.validUntilMs - startedMs <= (leaseMs * 2) / 3)
    const claims = due.map((row) => row.loaded.claim)
    if (due.length > 0) await transactByIndex(db, (tx) => extendClaims(tx, claims, leaseMs))
    extendedMs = startedMs
    for (const row of due) row.validUntilMs = startedMs + leaseMs
  }

  return {
    roomFor(tenantId) {
      const own = tenants.get(tenantId)
      const ofAll = bytes < BYTES_MAX ? ROWS_MAX - rows.size : 0
      if (own === undefined) return Math.max(1, Math.min(ofAll, ROWS_MAX * TENANT_SHARE))
      const ofTenant = own.bytes < BYTES_MAX * TENANT_SHARE ? ROWS_MAX * TENANT_SHARE - own.rows : 0
      return Math.max(0, Math.min(ofAll, ofTenant))
    },
    prepareOf: (claim) => tenants.get(claim.tenantId)?.emails.get(preparedAs(claim))?.prepare,
    add(added) {
      for (const row of added) {
        rows.add(row)
        addRow(row)
      }
    },
    delete(row) {
      if (rows.delete(row)) deleteRow(row)
    },
    isValid: (row) => monotonicMs() < row.validUntilMs,
    extend,
    async catchUp() {
      if (rows.size > 0 && monotonicMs() - extendedMs >= leaseMs) await extend()
    },
    get size() {
      return rows.size
    },
  }
}

/** Large ones and renderings are kept elsewhere (`large-emails.ts`). */
function smallBytesOf({ contentBytes, rendering }: Claim): number {
  return contentBytes < LARGE_CONTENT_BYTES && rendering === undefined ? contentBytes : 0
}
