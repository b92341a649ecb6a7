/** So many bombs of each kind, spread over all of them, for a door. */
import { type BombKind, bombsOf } from '@postrider/testkit'
import type { Door } from './door.ts'

export function bombInputs(kinds: readonly BombKind[], bytes: number): Door['inputs'] {
  return ({ seed, count }) =>
    kinds.flatMap((kind) => {
      const all = bombsOf(kind, { seed })
      const step = Math.max(1, all.length / count)
      return Array.from({ length: Math.min(count, all.length) }, (_, i) => {
        const bomb = all[Math.floor(i * step)]
        return { kind, name: bomb?.name ?? '', text: bomb?.make(bytes) ?? '' }
      })
    })
}
