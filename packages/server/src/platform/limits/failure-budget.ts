/**
 * Counts failures of one kind by address: so many in a window are told as they are, further ones are
 * answered 429. It never decides on a success.
 *
 * The addresses are bounded in number: the one that failed longest ago is forgotten first.
 */

import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { type ApiError, rateLimited } from '../errors.ts'
import { networkOf } from './address-network.ts'

export interface FailureBudget {
  /** Counts one failure. Answers the refusal when that is one too many. */
  note(address: string): ApiError | undefined
}

const ADDRESSES_MAX = 20_000

export function createFailureBudget(o: {
  /** Names the policy in the header fields and in the log. */
  readonly name: string
  readonly failuresMax: number
  readonly windowS: number
  readonly message: string
  readonly monotonicMs?: (() => number) | undefined
}): FailureBudget {
  const { name, failuresMax, windowS, message, monotonicMs = () => performance.now() } = o
  const counts = createBoundedMap<string, { readonly fromMs: number; count: number }>(ADDRESSES_MAX)
  return {
    note(address) {
      const [id, nowMs] = [networkOf(address), monotonicMs()]
      const known = counts.get(id)
      const isOver = known === undefined || nowMs - known.fromMs >= windowS * 1000
      const state = isOver ? { fromMs: nowMs, count: 0 } : known
      state.count += 1
      counts.set(id, state)
      if (state.count <= failuresMax) return undefined
      const retryAfterS = Math.max(1, Math.ceil(windowS - (nowMs - state.fromMs) / 1000))
      return rateLimited({ policy: name, quota: failuresMax, windowS, retryAfterS, message })
    },
  }
}
