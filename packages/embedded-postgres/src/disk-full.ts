/** A full disk: what failed for it, and is done again when the spare file was given up. */
import pg from 'pg'
import type { Ballast } from './ballast.ts'

/** Does the work again when the disk was too full for it and some of it could be freed. */
export async function withRoom<T>(spare: Ballast, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDiskFull(error) || !(await spare.release())) throw error
    return work()
  }
}

function isDiskFull(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '53100'
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC'
}
