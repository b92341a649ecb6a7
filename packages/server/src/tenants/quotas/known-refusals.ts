/**
 * Remembers refusals of tenants that flood beyond a quota (docs/reference/operator.md#quotas), so that a further
 * one costs the database nothing.
 *
 * The database is asked as before until it has refused a tenant 20 times within a second. Then requests that ask
 * for more than is left are refused from memory: for a second at most, and never beyond the second or the day of
 * the quota. So a quota that was raised, by whatever process, counts within a second.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Charge, OverQuota } from './decide-quota.ts'

export interface KnownRefusals {
  /** What a request would be refused with, if it is known. `asked` is what it asks for at least. */
  find(tenantId: string, asked: Pick<Charge, 'emails' | 'bytes'>): OverQuota | undefined
  /** Call before the database is asked. The result takes the refusal. */
  begin(tenantId: string): (over: OverQuota) => void
}

const REMEMBERED_MS = 1_000
export const askedAnywayMax = 20
const TENANTS_MAX = 10_000

interface Known {
  readonly over: OverQuota
  readonly untilMs: number
  readonly refusals: number
}

export function createKnownRefusals(
  o: { readonly monotonicMs?: () => number } = {},
): KnownRefusals {
  const monotonicMs = o.monotonicMs ?? (() => performance.now())
  const known = createBoundedMap<string, Known>(TENANTS_MAX)

  function lookUp(tenantId: string): Known | undefined {
    const entry = known.get(tenantId)
    return entry !== undefined && monotonicMs() < entry.untilMs ? entry : undefined
  }

  return {
    find(tenantId, { emails, bytes }) {
      const entry = lookUp(tenantId)
      if (entry === undefined || entry.refusals < askedAnywayMax) return undefined
      const { over } = entry
      const asked = over.quota === 'storage_bytes_max' ? bytes : emails
      return asked > over.left ? { ...over, asked } : undefined
    },
    begin(tenantId) {
      // The database's answer is of a later time, so what it says of a second holds for longer than this.
      const askedAtMs = monotonicMs()
      return (over) => {
        const untilMs = askedAtMs + Math.min(REMEMBERED_MS, over.endsInMs)
        const refusals = (lookUp(tenantId)?.refusals ?? 0) + 1
        known.set(tenantId, { over, untilMs, refusals })
      }
    },
  }
}
