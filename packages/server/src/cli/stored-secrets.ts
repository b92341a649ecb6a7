/** The secrets of a service for an operator command, which makes none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { loadSecrets, type Secrets } from '../platform/secrets-file.ts'

/** Undefined: the first start makes them. */
export function findSecrets(config: Config): Secrets | undefined {
  const file = join(config.dataDir, 'secrets.json')
  const isAbsent = config.databaseUrl === undefined && !existsSync(file)
  return config.secretKeys === undefined && isAbsent ? undefined : loadKeys(config)
}

export function requireSecrets(config: Config): Secrets {
  const secrets = findSecrets(config)
  if (secrets !== undefined) return secrets
  throw new Error(
    `The key to stored passwords is missing: there is no ${join(config.dataDir, 'secrets.json')}, and no POSTRIDER_SECRET_KEYS`,
  )
}

/** With keys of its own a command needs no file, which it would make. */
function loadKeys(config: Config): Secrets {
  const { secretKeys } = config
  return secretKeys === undefined ? loadSecrets(config) : { secretKeys, adminToken: undefined }
}
