/**
 * A column that holds sealed values: what doctor, the start and `secrets rotate` need to know of it.
 *
 * Each column has an index on `sealedBy`, so the ids of the keys in use are found by one look-up for
 * each of them.
 */
import type { Queryable } from '../db/index.ts'
import type { KeyRing } from './key-ring.ts'

export type SealedRow = Readonly<Record<string, unknown>>

export interface SealedColumn {
  /** For people, in the plural: `mailer passwords`. */
  readonly kind: string
  readonly table: string
  readonly column: string
  /** The columns of its primary key, or of another unique one, in order. */
  readonly keys: readonly string[]
  /** SQL: the ids of the keys that seal the column's values, with commas between; as it is indexed. */
  readonly sealedBy: string
  /** `text` is JSON, and holds any number of sealed values. */
  readonly isJson?: boolean
  /** The text of a row with each sealed value replaced. `place` is what the value is bound to. */
  rewrite(row: SealedRow, text: string, replace: (sealed: string, place: string) => string): string
}

/** A column whose text is one sealed value. */
export function sealedText(
  o: Pick<SealedColumn, 'kind' | 'table' | 'column' | 'keys'> & {
    readonly placeOf: (row: SealedRow) => string
  },
): SealedColumn {
  return {
    ...o,
    sealedBy: `split_part(${o.column}, '.', 2)`,
    rewrite: (row, text, replace) => replace(text, o.placeOf(row)),
  }
}

/** Throws SealedValueError when a value of the row does not open. */
export function openAll(keyRing: KeyRing, { rewrite }: SealedColumn, row: SealedRow, text: string) {
  rewrite(row, text, (sealed, place) => {
    keyRing.decrypt(sealed, place)
    return sealed
  })
}

/** The kinds of values that each key in use seals. */
export async function findKeysInUse(
  q: Queryable,
  columns: readonly SealedColumn[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const inUse = new Map<string, string[]>()
  for (const column of columns)
    for (const id of await keyIdsIn(q, column))
      inUse.set(id, [...(inUse.get(id) ?? []), column.kind])
  return inUse
}

/** One probe of the index for each different id. */
async function keyIdsIn(q: Queryable, { table, sealedBy }: SealedColumn): Promise<Set<string>> {
  const { rows } = await q.query<{ ids: string }>(
    `with recursive found (ids) as (
       (select min(${sealedBy}) from ${table} where ${sealedBy} > '')
       union all
       select (select min(${sealedBy}) from ${table} where ${sealedBy} > found.ids)
         from found where found.ids is not null)
     select ids from found where ids is not null`,
  )
  return new Set(rows.flatMap(({ ids }) => ids.split(',')))
}
