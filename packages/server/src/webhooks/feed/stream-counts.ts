/** How many streams may be open at once in this process: of one API key, of one tenant, and in all. */
import { rateLimited } from '../../platform/errors.ts'

export interface StreamLimits {
  readonly perKeyMax: number
  readonly perTenantMax: number
  readonly max: number
}

const RETRY_AFTER_S = 5

export interface StreamCounts {
  readonly open: number
  /** Takes a place, and answers what gives it back; throws where a limit is met. */
  enter(caller: { readonly keyId: string; readonly tenantId: string }): () => void
}

export function createStreamCounts(o: StreamLimits): StreamCounts {
  const keys = new Map<string, number>()
  const tenants = new Map<string, number>()
  let open = 0
  const refuse = (policy: string, quota: number, of: string) =>
    rateLimited({
      policy,
      quota,
      retryAfterS: RETRY_AFTER_S,
      message: `Too many event streams ${of} at once: at most ${quota}`,
    })
  return {
    get open() {
      return open
    },
    enter({ keyId, tenantId }) {
      // The operator's token is one key for all tenants.
      const key = `${tenantId} ${keyId}`
      if ((keys.get(key) ?? 0) >= o.perKeyMax)
        throw refuse('streams-per-key', o.perKeyMax, 'of this API key')
      if ((tenants.get(tenantId) ?? 0) >= o.perTenantMax)
        throw refuse('streams-per-tenant', o.perTenantMax, 'of this tenant')
      if (open >= o.max) throw refuse('streams-per-process', o.max, 'in this process')
      change(keys, key, 1)
      change(tenants, tenantId, 1)
      open += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        change(keys, key, -1)
        change(tenants, tenantId, -1)
        open -= 1
      }
    },
  }
}

function change(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}
