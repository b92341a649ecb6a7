/**
 * The way to an embedded server that is running already, for operator commands beside the service.
 */
import { lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { layoutOf, readSecrets } from './layout.ts'
import { serviceUrl } from './owner-session.ts'
import { findPostmaster } from './postmaster.ts'

/** `absent`: nothing was ever started in this directory. */
export type EmbeddedState =
  | { readonly kind: 'running'; readonly url: string }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'absent' }

/** Looks without changing anything. */
export function findEmbedded(dataDir: string): EmbeddedState {
  const database = join(dataDir, 'postgres')
  if (lstatSync(database, { throwIfNoEntry: false }) === undefined) return { kind: 'absent' }
  const layout = layoutOf(realpathSync(dataDir))
  const postmaster = findPostmaster(layout.database)
  const secrets = readSecrets(layout)
  if (postmaster === undefined || secrets === undefined) return { kind: 'stopped' }
  return { kind: 'running', url: serviceUrl(postmaster.socketDir, secrets) }
}
