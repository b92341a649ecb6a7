/**
 * Reads in one short transaction whose plans keep to indexes, whatever the statistics say of tables
 * that grow and shrink by the hundred thousand.
 */
import { type Db, planByIndex, type Tx } from '../../platform/db/index.ts'

export async function readByIndex<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return await db.transaction(async (tx) => {
    const [, result] = await Promise.all([planByIndex(tx), read(tx)])
    return result
  })
}
