/**
 * What `postrider doctor` finds of sealed values: it opens some of each kind and key, and changes nothing.
 */
import type { Queryable } from '../db/index.ts'
import type { ConfiguredKeys } from './check-keys.ts'
import { SealedValueError } from './key-ring.ts'
import { isKey, listKnownKeys, SENT_LINKS } from './known-keys.ts'
import { openAll, type SealedColumn, type SealedRow } from './sealed-column.ts'

export interface SealedKind {
  readonly kind: string
  /** As the rows have them, with commas between; of a problem `missing`, those that are missing. */
  readonly keyIds: string
  /** Undefined: nobody counts them. */
  readonly count?: number
  /** Undefined: those that were tried open. */
  readonly problem?: 'missing' | 'wrong'
}

/** A value may be damaged by itself; that a key is wrong is seen by any of them. */
const OPENED_MAX = 5

export async function examineSealed(
  q: Queryable,
  keys: ConfiguredKeys | undefined,
  columns: readonly SealedColumn[],
): Promise<readonly SealedKind[]> {
  const kinds: SealedKind[] = []
  for (const column of columns)
    for (const { ids, count } of await countByKey(q, column)) {
      const of = { kind: column.kind, keyIds: ids, count }
      const absent = ids.split(',').filter((id) => keys?.keyIds.includes(id) !== true)
      if (keys === undefined || absent.length > 0)
        kinds.push({ ...of, keyIds: absent.join(','), problem: 'missing' })
      else if ((await readSome(q, column, ids)).every((row) => opens(keys, row, column)))
        kinds.push(of)
      else kinds.push({ ...of, problem: 'wrong' })
    }
  return [...kinds, ...(await examineLinks(q, keys))]
}

/** Nothing is said of those whose key is there. */
async function examineLinks(
  q: Queryable,
  keys: ConfiguredKeys | undefined,
): Promise<readonly SealedKind[]> {
  const known = await listKnownKeys(q)
  return known.flatMap((key): readonly SealedKind[] => {
    const of = { kind: SENT_LINKS, keyIds: key.key_id }
    if (key.derived !== null) return []
    if (keys?.keyIds.includes(key.key_id) !== true) return [{ ...of, problem: 'missing' }]
    return isKey(keys.keyRing, key) ? [] : [{ ...of, problem: 'wrong' }]
  })
}

function opens({ keyRing }: ConfiguredKeys, row: SealedRow, column: SealedColumn): boolean {
  try {
    openAll(keyRing, column, row, String(row.sealed_text))
    return true
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    return false
  }
}

async function countByKey(q: Queryable, { table, sealedBy }: SealedColumn) {
  const { rows } = await q.query<{ ids: string; count: number }>(
    `select ${sealedBy} as ids, count(*)::int as count from ${table}
      where ${sealedBy} > '' group by 1 order by 1`,
  )
  return rows
}

async function readSome(
  q: Queryable,
  { table, column, keys, sealedBy }: SealedColumn,
  ids: string,
) {
  const { rows } = await q.query<SealedRow>(
    `select ${keys.join(', ')}, ${column}::text as sealed_text from ${table}
      where ${sealedBy} = $1 limit ${OPENED_MAX}`,
    [ids],
  )
  return rows
}
