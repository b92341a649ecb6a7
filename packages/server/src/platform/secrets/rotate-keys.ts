/**
 * Seals everything by the first key that another key seals (docs/reference/running.md#secret-keys).
 *
 * It goes through each column in the order of its primary key, a batch at a time, and writes a value
 * only over the one that it read: what somebody changes meanwhile stays. So it may be stopped at any
 * moment and run again, and several may run at once.
 */
import { type Db, isStatementTimeout, type Queryable } from '../db/index.ts'
import { type ConfiguredKeys, findNeeds, KeysDoNotFitError, refuseWrongKeys } from './check-keys.ts'
import { SealedValueError } from './key-ring.ts'
import { handOverKey, listKnownKeys } from './known-keys.ts'
import { findKeysInUse, openAll, type SealedColumn, type SealedRow } from './sealed-column.ts'

export interface RotatedKind {
  readonly kind: string
  /** Sealed anew; with `isDryRun`, to be sealed anew. */
  readonly rotated: number
  /** No configured key opens them. */
  readonly unopened: number
}

export interface Rotation {
  readonly keyId: string
  readonly kinds: readonly RotatedKind[]
  /** Configured, and not needed any more: this database was sealed by them once. */
  readonly needless: readonly string[]
}

export interface RotateOptions extends ConfiguredKeys {
  readonly db: Db
  readonly columns: readonly SealedColumn[]
  /** What else is made of a key, and has to outlast it. */
  readonly derived: { readonly purpose: string; readonly bytes: number }
  readonly isDryRun: boolean
  readonly batch?: number
  /** How long a row that somebody holds is waited for; default 5 s. */
  readonly lockMsMax?: number
  /** Between two batches. */
  readonly onBatch?: () => void
}

const BATCH = 200
/** A change at the same moment may bring back a value of an older key; more than a few do not follow. */
const PASSES_MAX = 5
const LOCK_MS_MAX = 5_000

export async function rotateKeys(o: RotateOptions): Promise<Rotation> {
  const { db, keyIds, keyRing } = o
  const [keyId = ''] = keyIds
  const known = await listKnownKeys(db)
  refuseWrongKeys(known, o, await findNeeds(db, o.columns))
  if (!known.some(({ key_id: id }) => id === keyId))
    throw new KeysDoNotFitError(
      `No process has started with "${keyId}" as its first secret key yet: others could not open what is sealed by it. Give the key to every process first, restart them, and run this again`,
    )
  const kinds: RotatedKind[] = []
  for (const column of o.columns) kinds.push(await rotateColumn(o, column))
  if (o.isDryRun) return { keyId, kinds, needless: [] }
  const derived = keyRing.derive(o.derived.purpose, o.derived.bytes)
  for (const [index, id] of keyIds.entries()) {
    const own = derived[index]
    if (id !== keyId && own !== undefined) await handOverKey(db, keyRing, { id, derived: own })
  }
  return { keyId, kinds, needless: await findNeedless(db, o) }
}

/**
 * Keys of the configuration that seal nothing, and from which everything was handed over. A key that
 * this database does not know is none of them: it is to be the next one.
 */
export async function findNeedless(
  q: Queryable,
  o: Pick<RotateOptions, 'keyIds' | 'columns'>,
): Promise<readonly string[]> {
  const inUse = await findKeysInUse(q, o.columns)
  const known = await listKnownKeys(q)
  return o.keyIds.slice(1).filter((id) => {
    const key = known.find(({ key_id }) => key_id === id)
    return !inUse.has(id) && key !== undefined && key.derived !== null
  })
}

async function rotateColumn(o: RotateOptions, column: SealedColumn): Promise<RotatedKind> {
  let [rotated, unopened] = [0, 0]
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const done = await rotateOnce(o, column)
    rotated += done.rotated
    unopened = done.unopened
    if (o.isDryRun || done.rotated + done.lost === 0) break
  }
  return { kind: column.kind, rotated, unopened }
}

async function rotateOnce(o: RotateOptions, column: SealedColumn) {
  const batch = o.batch ?? BATCH
  let [rotated, unopened, lost] = [0, 0, 0]
  let after: SealedRow | undefined
  for (;;) {
    const rows = await readBatch(o, column, after, batch)
    const changes = rows.flatMap((row) => reseal(o, column, row) ?? [])
    unopened += rows.length - changes.length
    const written = o.isDryRun ? changes.length : await write(o, column, changes)
    rotated += written
    lost += changes.length - written
    after = rows.at(-1)
    if (rows.length < batch) return { rotated, unopened, lost }
    o.onBatch?.()
  }
}

async function readBatch(
  { db, keyIds }: RotateOptions,
  { table, column, keys, sealedBy }: SealedColumn,
  after: SealedRow | undefined,
  limit: number,
): Promise<readonly SealedRow[]> {
  const names = keys.join(', ')
  const places = keys.map((_, index) => `$${index + 3}`).join(', ')
  const { rows } = await db.query<SealedRow>(
    `select ${names}, ${column}::text as sealed_text from ${table}
      where ${sealedBy} <> $1 and ${sealedBy} <> ''
        ${after === undefined ? '' : `and (${names}) > (${places})`}
      order by ${names} limit $2`,
    [keyIds[0], limit, ...(after === undefined ? [] : keys.map((name) => after[name]))],
  )
  return rows
}

interface Change {
  readonly row: SealedRow
  readonly from: string
  readonly to: string
}

/** Undefined when no key opens it. */
function reseal({ keyRing }: RotateOptions, column: SealedColumn, row: SealedRow) {
  const from = String(row.sealed_text)
  try {
    const to = column.rewrite(row, from, (sealed, place) =>
      keyRing.encrypt(keyRing.decrypt(sealed, place), place),
    )
    openAll(keyRing, column, row, to)
    return { row, from, to }
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    return undefined
  }
}

/** Answers how many it wrote; a row that somebody holds for long is left. */
async function write(
  { db, lockMsMax = LOCK_MS_MAX }: RotateOptions,
  column: SealedColumn,
  changes: readonly Change[],
): Promise<number> {
  if (changes.length === 0) return 0
  const writeAll = async (q: Queryable) => {
    const counts = await Promise.all(changes.map((change) => writeOne(q, column, change)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  try {
    return await db.transaction(writeAll, { lockMsMax })
  } catch {
    // Somebody holds one of the rows, or two wait for each other: the others one by one.
    let count = 0
    for (const change of changes)
      count += await db
        .transaction((tx) => writeOne(tx, column, change), { lockMsMax })
        .catch((error: unknown) => {
          if (isStatementTimeout(error)) return 0
          throw error
        })
    return count
  }
}

async function writeOne(
  q: Queryable,
  { table, column, keys, isJson }: SealedColumn,
  { row, from, to }: Change,
): Promise<number> {
  const where = keys.map((name, index) => `${name} = $${index + 3}`).join(' and ')
  const { rowCount } = await q.query(
    `update ${table} set ${column} = $1${isJson === true ? '::json' : ''}
      where ${where} and ${column}::text = $2`,
    [to, from, ...keys.map((name) => row[name])],
  )
  return rowCount
}
