/**
 * Tells "the database is away" from "the database refused this".
 *
 * Away: no connection could be had, it was lost, or the server says it cannot work now (starting up,
 * shutting down, too many clients, disk full, read-only after a failover, out of time). Everything else is an answer
 * about the statement and passes unchanged.
 */
import pg from 'pg'

export class DatabaseUnavailableError extends Error {
  /**
   * True when COMMIT, or a statement that is a transaction of its own, was sent and no answer came: it
   * may or may not have happened.
   */
  readonly isCommitUnknown: boolean

  constructor(message: string, o: { cause?: unknown; isCommitUnknown?: boolean } = {}) {
    super(message, o.cause === undefined ? {} : { cause: o.cause })
    this.name = 'DatabaseUnavailableError'
    this.isCommitUnknown = o.isCommitUnknown ?? false
  }
}

/** The server's own answer, as against an error of the connection or of this program. */
export function isServerError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!isServerError(error) || error.code !== '23505') return false
  return constraint === undefined || error.constraint === constraint
}

/** A table that is gone meanwhile, such as the partition of an old day. */
export function isUndefinedTable(error: unknown): boolean {
  return isServerError(error) && error.code === '42P01'
}

/** A row that others refer to, or one that refers to none. */
export function isForeignKeyViolation(error: unknown): boolean {
  return isServerError(error) && error.code === '23503'
}

/** A row of a partitioned table whose partition does not exist. */
export function isWithoutPartition(error: unknown): boolean {
  return isServerError(error) && error.code === '23514' && error.constraint === undefined
}

/** A statement took too long: it waited for a lock, or for a disk; or for a lock longer than it was to. */
export function isStatementTimeout(error: unknown): boolean {
  const cause = error instanceof DatabaseUnavailableError ? error.cause : error
  return isServerError(cause) && (cause.code === '57014' || cause.code === '55P03')
}

/** Nothing can be done now, whatever is asked for; a statement that took too long may be at fault itself. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && !isStatementTimeout(error)
}

/** A deadlock or serialization failure: nothing was done, and the same again may well succeed. */
export function isConflict(error: unknown): boolean {
  return isServerError(error) && (error.code === '40P01' || error.code === '40001')
}

/** SQLSTATE classes: 08 connection, 53 resources (disk full, too many clients, memory). */
const unavailableClasses = new Set(['08', '53'])

const unavailableStates = new Set([
  '25006', // read-only transaction: a standby, in the middle of a failover
  '25P03', // idle in transaction too long: the connection is gone
  '25P04', // transaction took too long
  '57014', // statement took too long
  '57P01', // administrator ended the session
  '57P02', // the server crashed
  '57P03', // starting up or shutting down
  '57P04', // the database was dropped
  '57P05', // idle session ended
  '58030', // I/O error
])

/** Unavailability that the server itself reports by SQLSTATE. */
export function isUnavailableState(error: unknown): boolean {
  if (!isServerError(error) || error.code === undefined) return false
  return unavailableStates.has(error.code) || unavailableClasses.has(error.code.slice(0, 2))
}

/** After these the server closes the session, so that its connection must not be used again. */
export function isSessionOver(error: unknown): boolean {
  if (!isServerError(error)) return false
  return error.severity === 'FATAL' || error.severity === 'PANIC'
}
