/** A data directory whose database a test run has made beforehand; PREPARED_DATA names it. */
import { execFileSync } from 'node:child_process'

/** False: there is none, and the first start of a service makes its own. */
export function copyPreparedData(dataDir: string): boolean {
  const prepared = process.env.PREPARED_DATA
  if (prepared === undefined) return false
  // The database's files belong to another user where tests run as root: `cp -a` keeps owners.
  execFileSync('cp', ['-a', `${prepared}/.`, dataDir])
  return true
}
