/** Those who wait to join the open streams: from now on, or with everything up to a mark. */
import type { Subscriber } from './subscriber.ts'
import type { Subscribers } from './subscribers.ts'

export interface Joiner {
  /** Undefined: it waits for the mark alone. */
  readonly subscriber: Subscriber | undefined
  /** Of the mark that it has. Undefined: now. */
  readonly seq: number | undefined
  readonly resolve: (isJoined: boolean) => void
  readonly reject: (error: unknown) => void
}

export function createJoiners(subscribers: Pick<Subscribers, 'admit'>) {
  let waiting: Joiner[] = []

  function join({ subscriber, resolve }: Joiner, seq: number): void {
    if (subscriber !== undefined) subscribers.admit(subscriber, seq)
    resolve(true)
  }

  return {
    isEmpty: () => waiting.length === 0,
    add(joiner: Joiner): void {
      waiting.push(joiner)
    },
    /** Those that join now. */
    freshOnes: () => waiting.filter(({ seq }) => seq === undefined),
    /** With the mark that sees all that was committed when they came. */
    admit(fresh: readonly Joiner[], seq: number): void {
      const joining = waiting.filter((joiner) => fresh.includes(joiner))
      waiting = waiting.filter((joiner) => !fresh.includes(joiner))
      for (const joiner of joining) join(joiner, seq)
    },
    /** Those that have what the others have join them; those of an older mark read on by themselves. */
    admitCaughtUp(latest: number): void {
      const returning = waiting.filter(({ seq }) => seq !== undefined)
      waiting = waiting.filter(({ seq }) => seq === undefined)
      for (const joiner of returning) {
        if (joiner.seq !== undefined && joiner.seq >= latest) join(joiner, joiner.seq)
        else joiner.resolve(false)
      }
    },
    rejectAll(error: unknown): void {
      const rejected = waiting
      waiting = []
      for (const joiner of rejected) joiner.reject(error)
    },
  }
}
