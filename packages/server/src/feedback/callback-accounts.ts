/**
 * Whose callback URL a request came to, as it was at most two seconds ago: an account that is in use is
 * asked for again after one second, and no request waits for that. What is not known is remembered for
 * a moment too, and few are asked for at once: guessing tokens costs the database little.
 */
import { hash } from 'node:crypto'
import { createBoundedMap } from '../platform/bounded-map.ts'
import { ApiError } from '../platform/errors.ts'
import type { CalledBack } from '../relays/index.ts'

export interface CallbackAccounts {
  /** Rejects with `unavailable` when it cannot be told now. */
  find(kind: string, token: string): Promise<CalledBack | undefined>
}

const BELIEVED_MS = 2_000
const REFRESH_AFTER_MS = 1_000
const KNOWN_MAX = 10_000
const ASKING_MAX = 16
const RETRY_S = 1

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
  const asking = new Map<string, Promise<CalledBack | undefined>>()

  function ask(id: string, kind: string, token: string): Promise<CalledBack | undefined> {
    const running = asking.get(id)
    if (running !== undefined) return running
    if (asking.size >= ASKING_MAX) throw new ApiError('unavailable', { retryAfterS: RETRY_S })
    const askedAtMs = deps.monotonicMs()
    const answer = deps
      .find({ kind, token })
      .then((account) => {
        known.set(id, { account, askedAtMs })
        return account
      })
      .finally(() => asking.delete(id))
    asking.set(id, answer)
    return answer
  }

  return {
    async find(kind, token) {
      // Never the token itself, in memory either.
      const id = `${kind} ${hash('sha256', token, 'base64url')}`
      const last = known.get(id)
      const ageMs = last === undefined ? BELIEVED_MS : deps.monotonicMs() - last.askedAtMs
      if (last === undefined || ageMs >= BELIEVED_MS) return await ask(id, kind, token)
      if (ageMs >= REFRESH_AFTER_MS && asking.size < ASKING_MAX)
        ask(id, kind, token).catch(() => undefined)
      return last.account
    },
  }
}
