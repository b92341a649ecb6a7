/**
 * Finds many words in a text at once, in one pass over it (Aho and Corasick, 1975).
 *
 * Letters of either case are the same, and so are plus signs, tabs and spaces: forms write a space
 * as a plus. All transitions are in one hash table, whose multipliers are drawn at start: nobody can
 * choose words that collide.
 */
import { randomInt } from 'node:crypto'

export interface TextFinder {
  readonly octets: number
  /** The state after this character; the first state is 0. */
  next(state: number, code: number): number
  /** The length of the longest word that ends here, or 0. */
  foundAt(state: number): number
  /** Of the longest beginning of a word that ends here. */
  begunAt(state: number): number
}

/** A megabyte, and a few milliseconds to make it. */
const STATES_MAX = 32_768
/** Those that words share are states once, but steps each time. */
const CHARACTERS_MAX = 131_072
const CODES = 65_536
const MULTIPLIERS = [randomInt(2 ** 31, 2 ** 32) | 1, randomInt(2 ** 31, 2 ** 32) | 1] as const

export function areTooLong(words: readonly string[]): boolean {
  return words.reduce((sum, word) => sum + word.length, 0) > CHARACTERS_MAX
}

/** Undefined when the words are too many or too long. */
export function createTextFinder(words: readonly string[]): TextFinder | undefined {
  if (areTooLong(words)) return undefined
  const characters = words.reduce((sum, word) => sum + word.length, 0)
  const statesMax = Math.min(STATES_MAX, characters + 1)
  const table = createTable(statesMax)
  /** By state: the state before it and the character between them, the length, the longest word. */
  const parents = new Uint16Array(statesMax)
  const entries = new Uint16Array(statesMax)
  const lengths = new Uint32Array(statesMax)
  const found = new Uint32Array(statesMax)
  let states = 1
  for (const word of words) {
    let state = 0
    for (let at = 0; at < word.length; at += 1) {
      const code = fold(word.charCodeAt(at))
      let next = table.get(state, code)
      if (next === 0) {
        if (states === statesMax) return undefined
        next = states
        states += 1
        parents[next] = state
        entries[next] = code
        lengths[next] = at + 1
        table.set(state, code, next)
      }
      state = next
    }
    found[state] = word.length
  }
  /** By state: the longest other one that ends alike. */
  const fallbacks = new Uint16Array(statesMax)

  function next(state: number, code: number): number {
    const folded = fold(code)
    for (let from = state; ; from = fallbacks[from] ?? 0) {
      const to = table.get(from, folded)
      if (to > 0 || from === 0) return to
    }
  }

  for (const state of byLength(lengths, states)) {
    const parent = parents[state] ?? 0
    const fallback = parent === 0 ? 0 : next(fallbacks[parent] ?? 0, entries[state] ?? 0)
    fallbacks[state] = fallback
    if (found[state] === 0) found[state] = found[fallback] ?? 0
  }
  return {
    octets: statesMax * 14 + table.octets,
    next,
    foundAt: (state) => found[state] ?? 0,
    begunAt: (state) => lengths[state] ?? 0,
  }
}

/** All but the first: each one's fallback is shorter, and known before. */
function byLength(lengths: Uint32Array, states: number): Uint32Array {
  const order = new Uint32Array(states - 1).map((_, at) => at + 1)
  return order.sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0))
}

function createTable(entriesMax: number) {
  const bits = Math.ceil(Math.log2(entriesMax * 2))
  const size = 2 ** bits
  const mask = size - 1
  /** One more than the key; 0 is a free place. */
  const keys = new Uint32Array(size)
  const values = new Uint16Array(size)

  function placeOf(key: number): number {
    const mixed = Math.imul(key ^ (key >>> 15), MULTIPLIERS[0])
    let place = Math.imul(mixed ^ (mixed >>> 13), MULTIPLIERS[1]) >>> (32 - bits)
    while (keys[place] !== 0 && keys[place] !== key) place = (place + 1) & mask
    return place
  }

  const keyOf = (state: number, code: number) => state * CODES + code + 1
  return {
    octets: size * 6,
    get: (state: number, code: number) => values[placeOf(keyOf(state, code))] ?? 0,
    set(state: number, code: number, value: number) {
      const key = keyOf(state, code)
      const place = placeOf(key)
      keys[place] = key
      values[place] = value
    },
  }
}

function fold(code: number): number {
  if (code >= 0x41 && code <= 0x5a) return code + 0x20
  return code === 0x2b || code === 0x09 ? 0x20 : code
}
