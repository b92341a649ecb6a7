/**
 * Databases that a test run has made beforehand, migrated and with their day partitions: PREPARED_DATA names a
 * data directory of a service, PREPARED_SERVER that of a PostgreSQL server of a test's own.
 */
import { execFileSync } from 'node:child_process'

/** False: there is none, and the first start of a service makes its own. */
export function copyPreparedData(dataDir: string): boolean {
  return copy(process.env.PREPARED_DATA, dataDir)
}

/** False: there is none, and the server begins empty. */
export function copyPreparedServer(data: string): boolean {
  return copy(process.env.PREPARED_SERVER, data)
}

function copy(prepared: string | undefined, directory: string): boolean {
  if (prepared === undefined) return false
  // The database's files belong to another user where tests run as root: `cp -a` keeps owners.
  execFileSync('cp', ['-a', `${prepared}/.`, directory])
  return true
}
