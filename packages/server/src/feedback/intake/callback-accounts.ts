/**
 * Whose callback URL a request came to, as it was at most two seconds ago: an account that is in use is
 * asked for again after one second, and no request waits for that. What is not known is remembered for
 * a moment too. Few are asked for at once, with turns by address: guessing tokens costs the database
 * little, and keeps no provider waiting.
 */
import { hash } from 'node:crypto'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { networkOf } from '../../platform/limits/address-network.ts'
import type { CalledBack } from '../../relays/index.ts'

export interface CallbackAccounts {
  /** Rejects with `unavailable` when it cannot be told now. */
  find(kind: string, token: string, address: string): Promise<CalledBack | undefined>
}

const BELIEVED_MS = 2_000
const REFRESH_AFTER_MS = 1_000
const KNOWN_MAX = 10_000
const LOOKUPS = {
  name: 'callback-lookups',
  atOnceMax: 8,
  atOncePerCallerMax: 2,
  waitingPerCallerMax: 100,
} as const
/** Accounts that are asked for again. */
const KNOWN = 'known'

interface Known {
  readonly account: CalledBack | undefined
  readonly askedAtMs: number
}

export function createCallbackAccounts(deps: {
  readonly find: (o: {
    readonly kind: string
    readonly token: string
  }) => Promise<CalledBack | undefined>
  readonly monotonicMs: () => number
}): CallbackAccounts {
  const known = createBoundedMap<string, Known>(KNOWN_MAX)
  const limiter = createConcurrencyLimiter(LOOKUPS)
  const asking = new Map<string, Promise<CalledBack | undefined>>()

  function ask(
    id: string,
    kind: string,
    token: string,
    address: string,
  ): Promise<CalledBack | undefined> {
    const running = asking.get(id)
    if (running !== undefined) return running
    const askedAtMs = deps.monotonicMs()
    const answer = limiter
      .run(address, () => deps.find({ kind, token }))
      .then((account) => {
        known.set(id, { account, askedAtMs })
        return account
      })
      .finally(() => asking.delete(id))
    asking.set(id, answer)
    return answer
  }

  return {
    async find(kind, token, address) {
      // Never the token itself, in memory either.
      const id = `${kind} ${hash('sha256', token, 'base64url')}`
      const last = known.get(id)
      const ageMs = last === undefined ? BELIEVED_MS : deps.monotonicMs() - last.askedAtMs
      if (last === undefined || ageMs >= BELIEVED_MS) {
        const group = last?.account === undefined ? networkOf(address) : KNOWN
        return await ask(id, kind, token, group)
      }
      if (ageMs >= REFRESH_AFTER_MS && last.account !== undefined)
        ask(id, kind, token, KNOWN).catch(() => undefined)
      return last.account
    },
  }
}
