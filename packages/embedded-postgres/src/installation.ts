/** What must be there before the server can start: binaries, account, data directory, socket; and no other server. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '@postrider/runtime/logger'
import { chooseServerAccount, type ServerAccount } from './account.ts'
import { findPostgresBinaries, type PostgresBinaries } from './binaries.ts'
import { DirectoryInUseError } from './directory-lock.ts'
import { initialiseDataDirectory } from './initialise.ts'
import {
  generateSecrets,
  type Layout,
  letThrough,
  prepareSocketDir,
  readSecrets,
  type ServerSecrets,
  writeSecrets,
} from './layout.ts'
import { takeOwnership } from './owner-session.ts'
import { findPostmaster, removeStalePidFile, stopPostmaster } from './postmaster.ts'

export interface Installation {
  readonly binaries: PostgresBinaries
  readonly account: ServerAccount
  readonly layout: Layout
  readonly secrets: ServerSecrets
  readonly socketDir: string
}

export async function install(layout: Layout, log: Logger): Promise<Installation> {
  const binaries = findPostgresBinaries(layout.libraries)
  const account = chooseServerAccount(binaries, { data: layout.root, database: layout.database })
  letThrough(layout, account)
  let secrets = readSecrets(layout)
  if (!existsSync(layout.database)) {
    secrets = generateSecrets()
    writeSecrets(layout, secrets)
    await initialiseDataDirectory({
      binaries,
      account,
      directory: layout.database,
      superuserPassword: secrets.superuserPassword,
    })
    log.info({ data_dir: layout.root }, 'embedded_postgres.initialised')
  }
  if (secrets === undefined)
    throw new Error(`${layout.root} holds a database, but postgres.json with its password is gone`)
  const made = readFileSync(join(layout.database, 'PG_VERSION'), 'utf8').trim()
  if (made !== binaries.major)
    throw new Error(
      `The data directory ${layout.root} was made by PostgreSQL ${made}, this program brings ${binaries.major}: move the data with pg_dump or pg_upgrade`,
    )
  const socketDir = prepareSocketDir(layout, account, secrets)
  return { binaries, account, layout, secrets, socketDir }
}

/** A server that answers to a living service is not a leftover, whatever the lock file says. */
export async function endLeftover({ layout, secrets }: Installation, log: Logger): Promise<void> {
  const leftover = findPostmaster(layout.database)
  if (leftover === undefined) return removeStalePidFile(layout.database)
  const ownership = await takeOwnership(leftover.socketDir, secrets).catch((error: unknown) => {
    log.warn({ err: error, server_pid: leftover.pid }, 'embedded_postgres.leftover_silent')
    return undefined
  })
  if (ownership?.kind === 'in-use')
    throw new DirectoryInUseError(layout.root, ownership.pid ?? leftover.pid)
  await ownership?.client.end()
  log.warn({ server_pid: leftover.pid }, 'embedded_postgres.leftover_found')
  await stopPostmaster(leftover.pid)
}
