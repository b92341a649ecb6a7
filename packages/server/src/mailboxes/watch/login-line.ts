/**
 * Who logs in when: a bounded number of connections are made at once, in all, for one tenant, and to one
 * host, which other tenants use as well. Tenants take turns, so that one with a thousand mailboxes, or
 * with a server that does not answer, holds up its own alone.
 */
import { createFairQueue } from '@postrider/runtime/fair-queue'

export interface LoginLine {
  /** The work has its own time-out. */
  run<T>(who: LoginPlace, work: () => Promise<T>): Promise<T>
}

export interface LoginPlace {
  readonly tenantId: string
  readonly host: string
}

const AT_ONCE_MAX = 64
const AT_ONCE_PER_TENANT_MAX = 16
/** Large providers count connections, and logins, by the address that they come from. */
const AT_ONCE_PER_HOST_MAX = 8

interface Waiter extends LoginPlace {
  readonly enter: () => void
}

export function createLoginLine(): LoginLine {
  const line = createFairQueue<Waiter>()
  const ofTenants = new Map<string, number>()
  const ofHosts = new Map<string, number>()
  let atOnce = 0

  const tenantCanGo = (tenantId: string) => (ofTenants.get(tenantId) ?? 0) < AT_ONCE_PER_TENANT_MAX
  const canGo = ({ host }: Waiter) => (ofHosts.get(host) ?? 0) < AT_ONCE_PER_HOST_MAX

  function serve(): void {
    while (atOnce < AT_ONCE_MAX) {
      const next = line.take({ tenantCanGo, canGo })
      if (next === undefined) return
      hold(next, 1)
      next.enter()
    }
  }

  function hold({ tenantId, host }: LoginPlace, change: 1 | -1): void {
    atOnce += change
    add(ofTenants, tenantId, change)
    add(ofHosts, host, change)
  }

  return {
    async run({ tenantId, host }, work) {
      await new Promise<void>((resolve) => {
        line.add({ tenantId, host, enter: resolve })
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
