/** The front door of the database layer: pool, transactions, inserts, group commit, migrations, leases. */

export { type BucketSweep, createBucketSweep } from '../work/bucket-sweep.ts'
export {
  arrayText,
  bytesArray,
  nullableArrayText,
  plainArrayText,
  textArray,
} from './array-text.ts'
export { type Commits, watchCommits } from './commits.ts'
export { createDb, type DbOptions } from './db.ts'
export { type Durability, durability } from './durability.ts'
export {
  DatabaseUnavailableError,
  isConflict,
  isDatabaseAway,
  isForeignKeyViolation,
  isStatementTimeout,
  isUndefinedTable,
  isUniqueViolation,
  isWithoutPartition,
} from './errors.ts'
export { estimateRows } from './estimate-rows.ts'
export { createGroupCommit, type GroupCommit } from './group-commit.ts'
export { type InsertRowsInput, insertRows } from './insert-rows.ts'
export { type BucketLeases, bucketOf } from './leases.ts'
export { checkSchema, migrate, SchemaBehindError } from './migrate.ts'
export { createNotifications, type Notifications } from './notifications.ts'
export {
  createDayPartitions,
  type DayPartitions,
  type DaySpan,
  readDaySpans,
} from './partitions/partitions.ts'
export { planByIndex, readByIndex, readInOrder, transactByIndex } from './plan-by-index.ts'
export { NoPrimaryError } from './primaries.ts'
export { readersOfTable } from './readers-of-table.ts'
export { createSchemaFence, type SchemaFence } from './schema-fence.ts'
export { type FoundOfTenant, type SearchTenants, searchTenants } from './search-tenants.ts'
export {
  type Db,
  type DbStats,
  givenRows,
  type Queryable,
  type QueryResult,
  type Statement,
  statement,
  type TransactionOptions,
  type Tx,
} from './statement.ts'
export { listLargestTables, readDatabase, readNowMs } from './storage.ts'
export { timeOfMicros } from './time-of-micros.ts'
export { createWakeups, type Others, type Wakeups } from './wakeups.ts'
