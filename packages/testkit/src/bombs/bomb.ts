/**
 * Hostile input of any size, made from a seed. A material says what one kind of parser reads: frames
 * that lead to the parser's inner parts, units that it looks for, and pairs that may be nested. The
 * bombs are what such parsers fail on:
 * - long runs of one unit, ended and not ended, or ended by what comes close to a match;
 * - pairs nested without end, closed and not closed;
 * - words just below a limit, and many small parts;
 * - random phrases repeated, and random noise of all units.
 *
 * The same seed makes the same bombs. Text is a string of bytes (latin1): a door sends it as such.
 */
import { createRandom, type Random } from '../random.ts'

export interface Material {
  /** What stands before and after the bomb, so that the parser gets as far as the place of interest. */
  readonly frames: readonly (readonly [before: string, after: string])[]
  /** Beside `COMMON_UNITS`. */
  readonly units: readonly string[]
  readonly pairs: readonly (readonly [open: string, close: string])[]
}

export interface Bomb {
  readonly kind: string
  /** Unique within the kind and seed. */
  readonly name: string
  /** About so many bytes; the frame comes on top. */
  make(bytes: number): string
}

/** What upsets parsers of any kind: separators, quotes, escapes, NUL, bytes that are no UTF-8. */
export const COMMON_UNITS: readonly string[] = [
  'a', ' ', '\t', '\0', '\xff', '\xc3\xa9', '\xe2\x80\xa8', '\r', '\n', '\r\n', '\n ', '.', '-', '0',
  '"', "'", '\\', '\\"', '=', '%', '%00', '(', '<', '@', ',', ';', ':', '&', '/', '{', '[', 'a ', ' .',
  'a.', 'aA0_', '=?', '99999999',
] // biome-ignore format: a list

const COMMON_PAIRS: Material['pairs'] = [
  ['(', ')'],
  ['<', '>'],
  ['"', '"'],
  ['[', ']'],
  ['{', '}'],
]

/** At least 90 for every kind: each unit and each pair once, and `extra` that are left to chance. */
export function createBombs(
  kind: string,
  material: Material,
  o: { readonly seed: number; readonly extra?: number },
): readonly Bomb[] {
  const random = createRandom(o.seed ^ hashOf(kind))
  const { frames } = material
  const units = [...new Set([...material.units, ...COMMON_UNITS])]
  const pairs = [...material.pairs, ...COMMON_PAIRS]
  let made = 0
  const bomb = (what: string, body: (bytes: number) => string): Bomb => {
    const at = made % frames.length
    const [before, after] = frames[at] ?? ['', '']
    made += 1
    return {
      kind,
      name: `${kind} #${made}: ${what} in frame ${at}`,
      make: (bytes) => before + body(bytes) + after,
    }
  }
  const runs = frames.flatMap((_, shift) => {
    made = shift
    return units.map((unit) => bomb(`a run of ${shown(unit)}`, (bytes) => repeat(unit, bytes)))
  })
  const nested = pairs.flatMap(([open, close]) => [
    bomb(`${shown(open)} nested in ${shown(close)}`, (bytes) => {
      const depth = Math.floor(bytes / (open.length + close.length))
      return open.repeat(depth) + close.repeat(depth)
    }),
    bomb(`${shown(open)} never closed`, (bytes) => repeat(open, bytes)),
    bomb(`${shown(open + close)} in a row`, (bytes) => repeat(open + close, bytes)),
  ])
  const chance = Array.from({ length: o.extra ?? 40 }, () => randomBomb(random, units, bomb))
  return [...runs, ...nested, ...chance].map((one, i) => ({
    ...one,
    name: one.name.replace(/#\d+/, `#${i + 1}`),
  }))
}

type MakeBomb = (what: string, body: (bytes: number) => string) => Bomb

function randomBomb(random: Random, units: readonly string[], bomb: MakeBomb): Bomb {
  const some = (count: number) => Array.from({ length: count }, () => random.pick(units)).join('')
  const near = random.pick(units)
  switch (random.below(4)) {
    case 0: {
      const phrase = some(2 + random.below(5))
      return bomb(`the phrase ${shown(phrase)}`, (bytes) => repeat(phrase, bytes))
    }
    case 1: {
      const unit = random.pick(units)
      return bomb(
        `a run of ${shown(unit)} that ends with ${shown(near)}`,
        (bytes) => repeat(unit, bytes) + near,
      )
    }
    case 2: {
      const word = random.pick(units)
      const length = random.pick([60, 250, 900, 990, 4_000])
      return bomb(`words of ${length} ${shown(word)} with ${shown(near)} between`, (bytes) =>
        repeat(repeat(word, length) + near, bytes),
      )
    }
    default: {
      const seed = random.below(2 ** 31)
      return bomb(`noise of seed ${seed}`, (bytes) => noise(seed, units, bytes))
    }
  }
}

function noise(seed: number, units: readonly string[], bytes: number): string {
  const random = createRandom(seed)
  const parts: string[] = []
  for (let length = 0; length < bytes; ) {
    const part = random.pick(units).repeat(random.below(20) === 0 ? 50 : 1)
    parts.push(part)
    length += part.length
  }
  return parts.join('')
}

function repeat(unit: string, bytes: number): string {
  return unit.repeat(Math.ceil(bytes / unit.length))
}

function shown(text: string): string {
  const cut = text.length > 40 ? `${text.slice(0, 40)}…` : text
  return JSON.stringify(cut)
}

function hashOf(text: string): number {
  return [...text].reduce((hash, one) => (Math.imul(hash, 31) + one.charCodeAt(0)) | 0, 7)
}
