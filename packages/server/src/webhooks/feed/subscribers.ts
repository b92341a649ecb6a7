/** The open streams of a process, by tenant. A stream that closes leaves by itself. */
import type { Subscriber } from './subscriber.ts'

export interface Subscribers {
  readonly all: ReadonlySet<Subscriber>
  tenantIds(): string[]
  ofTenant(tenantId: string): Iterable<Subscriber>
  /** It gets what is marked after `seq`. One that has closed meanwhile is left out. */
  admit(subscriber: Subscriber, seq: number): void
  /** Of those that are open. */
  endAll(): void
}

export function createSubscribers(): Subscribers {
  const all = new Set<Subscriber>()
  const byTenant = new Map<string, Set<Subscriber>>()

  function leave(subscriber: Subscriber): void {
    all.delete(subscriber)
    const own = byTenant.get(subscriber.tenantId)
    own?.delete(subscriber)
    if (own?.size === 0) byTenant.delete(subscriber.tenantId)
  }

  return {
    all,
    tenantIds: () => [...byTenant.keys()],
    ofTenant: (tenantId) => byTenant.get(tenantId) ?? [],
    admit(subscriber, seq) {
      if (subscriber.isClosed()) return
      subscriber.sinceSeq = seq
      all.add(subscriber)
      const own = byTenant.get(subscriber.tenantId) ?? new Set()
      byTenant.set(subscriber.tenantId, own.add(subscriber))
      subscriber.stream.once('close', () => leave(subscriber))
    },
    endAll() {
      for (const subscriber of all) {
        subscriber.end()
        leave(subscriber)
      }
    },
  }
}
