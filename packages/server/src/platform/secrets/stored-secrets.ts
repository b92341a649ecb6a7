/** The secrets of a service for an operator command, which makes none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadSecrets, type SecretSources, type Secrets } from './secrets-file.ts'

/** Undefined: the first start makes them. */
export function findSecrets(sources: SecretSources): Secrets | undefined {
  const file = join(sources.dataDir, 'secrets.json')
  const isAbsent = sources.databaseUrl === undefined && !existsSync(file)
  return sources.secretKeys === undefined && isAbsent ? undefined : loadKeys(sources)
}

export function requireSecrets(sources: SecretSources): Secrets {
  const secrets = findSecrets(sources)
  if (secrets !== undefined) return secrets
  throw new Error(
    `The key to stored passwords is missing: there is no ${join(sources.dataDir, 'secrets.json')}, and no POSTRIDER_SECRET_KEYS`,
  )
}

/** With keys of its own a command needs no file, which it would make. */
function loadKeys(sources: SecretSources): Secrets {
  const { secretKeys } = sources
  return secretKeys === undefined ? loadSecrets(sources) : { secretKeys, adminToken: undefined }
}
