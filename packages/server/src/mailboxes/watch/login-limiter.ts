/**
 * Bounds the logins under way: in all, for one tenant, and to one host, which other tenants use as well.
 * Tenants take turns, so that a tenant with a thousand mailboxes, or with a server that does not answer,
 * delays only its own.
 */
import { createFairQueue } from '@postrider/runtime/fair-queue'

export interface LoginLimiter {
  /** The work has its own time-out. */
  run<T>(who: LoginTarget, work: () => Promise<T>): Promise<T>
}

export interface LoginTarget {
  readonly tenantId: string
  readonly host: string
}

const AT_ONCE_MAX = 64
const AT_ONCE_PER_TENANT_MAX = 16
/** Large providers count connections, and logins, by the address that they come from. */
const AT_ONCE_PER_HOST_MAX = 8

interface Waiter extends LoginTarget {
  readonly enter: () => void
}

export function createLoginLimiter(): LoginLimiter {
  const waiting = createFairQueue<Waiter>()
  const ofTenants = new Map<string, number>()
  const ofHosts = new Map<string, number>()
  let atOnce = 0

  const tenantCanGo = (tenantId: string) => (ofTenants.get(tenantId) ?? 0) < AT_ONCE_PER_TENANT_MAX
  const canGo = ({ host }: Waiter) => (ofHosts.get(host) ?? 0) < AT_ONCE_PER_HOST_MAX

  function serve(): void {
    while (atOnce < AT_ONCE_MAX) {
      const next = waiting.take({ tenantCanGo, canGo })
      if (next === undefined) return
      hold(next, 1)
      next.enter()
    }
  }

  function hold({ tenantId, host }: LoginTarget, change: 1 | -1): void {
    atOnce += change
    add(ofTenants, tenantId, change)
    add(ofHosts, host, change)
  }

  return {
    async run({ tenantId, host }, work) {
      await new Promise<void>((resolve) => {
        waiting.add({ tenantId, host, enter: resolve })
        serve()
      })
      try {
        return await work()
      } finally {
        hold({ tenantId, host }, -1)
        serve()
      }
    },
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
