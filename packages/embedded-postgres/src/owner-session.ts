/**
 * Sessions of the service with its own server: first contact, roles, and the lock that proves exclusive use.
 *
 * The service works as an ordinary role that owns its database; the superuser is used at start only.
 * The advisory lock is held by a connection of its own for as long as the service runs.
 */
import pg from 'pg'
import { superuser } from './initialise.ts'
import type { ServerSecrets } from './layout.ts'

export const databaseName = 'postrider'
const ownerPrefix = 'postrider owner '
const ownerLockKey = '7017031945'

export function serviceUrl(socketDir: string, secrets: ServerSecrets): string {
  return `postgresql://${databaseName}:${secrets.password}@/${databaseName}?host=${encodeURIComponent(socketDir)}`
}

/** The server exists but does not take connections yet. */
export function isNotReady(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || error.code === '57P03'
}

export async function ensureDatabase(socketDir: string, secrets: ServerSecrets): Promise<void> {
  const client = await connect({
    host: socketDir,
    user: superuser,
    password: secrets.superuserPassword,
    database: 'postgres',
  })
  try {
    const role = await client.query('select 1 from pg_roles where rolname = $1', [databaseName])
    const verb = role.rows.length === 0 ? 'create' : 'alter'
    const password = pg.escapeLiteral(secrets.password)
    await client.query(`${verb} role ${databaseName} login password ${password}`)
    const database = await client.query('select 1 from pg_database where datname = $1', [
      databaseName,
    ])
    if (database.rows.length === 0)
      await client.query(`create database ${databaseName} owner ${databaseName}`)
  } finally {
    await client.end()
  }
}

export type Ownership =
  | { readonly kind: 'owner'; readonly client: pg.Client }
  | { readonly kind: 'in-use'; readonly pid: number | undefined }

/** The client stays connected for as long as its ownership lasts. */
export async function takeOwnership(socketDir: string, secrets: ServerSecrets): Promise<Ownership> {
  const client = await connect({
    host: socketDir,
    user: databaseName,
    password: secrets.password,
    database: databaseName,
    application_name: `${ownerPrefix}${process.pid}`,
  })
  const lock = await client.query<{ granted: boolean }>(
    'select pg_try_advisory_lock($1) as granted',
    [ownerLockKey],
  )
  if (lock.rows[0]?.granted) return { kind: 'owner', client }
  const owner = await client.query<{ application_name: string }>(
    `select application_name from pg_stat_activity
     where application_name like $1 and pid <> pg_backend_pid()`,
    [`${ownerPrefix}%`],
  )
  await client.end()
  const pid = Number(owner.rows[0]?.application_name.slice(ownerPrefix.length))
  return { kind: 'in-use', pid: Number.isInteger(pid) ? pid : undefined }
}

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client({ connectionTimeoutMillis: 5_000, ...config })
  // Losses are seen by 'end' and by the statement in flight.
  client.on('error', () => undefined)
  await client.connect()
  return client
}
