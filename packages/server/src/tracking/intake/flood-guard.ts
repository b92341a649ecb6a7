/**
 * Bounds what one token can do: so many hits of it in an hour are recorded, the rest is answered and
 * forgotten. A link that became public, or a program that asks for a pixel all day, fills neither the
 * database nor anyone's webhook.
 *
 * Counted in this process; every tenth hit of one token asks how many all processes have recorded. So
 * an ordinary recipient's hits cost nothing, and several processes together allow a few more.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'

export interface FloodGuard {
  /** Counts one. `ask`: it may be recorded unless others have filled the hour. */
  admit(token: string, nowMs: number): 'free' | 'ask' | 'full'
  /** Others have recorded enough of it: nothing more until the hour is over. */
  fill(token: string): void
  /** What was counted was not recorded. */
  giveBack(token: string): void
}

export const hitsAnHourMax = 50
export const hourMs = 3_600_000
const ASK_EVERY = 10
/** A token that is asked for all the time stays in, whatever comes by. */
const TOKENS_MAX = 50_000

export function createFloodGuard(): FloodGuard {
  const counts = createBoundedMap<string, { readonly fromMs: number; count: number }>(TOKENS_MAX)
  return {
    admit(token, nowMs) {
      const known = counts.get(token)
      const isOver = known === undefined || Math.abs(nowMs - known.fromMs) >= hourMs
      const state = isOver ? { fromMs: nowMs, count: 0 } : known
      counts.set(token, state)
      if (state.count >= hitsAnHourMax) return 'full'
      state.count += 1
      return state.count % ASK_EVERY === 0 ? 'ask' : 'free'
    },
    fill(token) {
      const state = counts.get(token)
      if (state !== undefined) state.count = hitsAnHourMax
    },
    giveBack(token) {
      const state = counts.get(token)
      if (state !== undefined) state.count = Math.max(0, state.count - 1)
    },
  }
}
