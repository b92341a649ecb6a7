/** Random numbers that come again with their seed (mulberry32). */
export interface Random {
  /** From 0 up to and without 1. */
  next(): number
  /** An integer from 0 up to and without `limit`. */
  below(limit: number): number
  pick<T>(choices: readonly T[]): T
  hex(digits: number): string
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick<T>(choices: readonly T[]): T {
      const choice = choices[below(choices.length)]
      if (choice === undefined) throw new Error('nothing to pick from')
      return choice
    },
    hex: (digits) => Array.from({ length: digits }, () => below(16).toString(16)).join(''),
  }
}
