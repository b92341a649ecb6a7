/**
 * What the slow tests make once for a run instead of at each start of a service: a bundle of the service,
 * a data directory whose embedded database is migrated and has its day partitions, and a PostgreSQL server
 * with the same.
 *
 * The bundle reads migrations, dashboard and the like where the checkout has them. That the sources start
 * on an empty directory is the matter of `e2e/start.test.ts`.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEmbeddedPostgres } from '@postrider/embedded-postgres'
import { findFreePort } from '@postrider/testkit'
import { runOnServer } from '@postrider/testkit/database'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import pino from 'pino'
import { bundleService } from '../../../release/npm/bundle.ts'
import { migrationsDir } from '../src/operator-database.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { onceForARun } from './once-for-a-run.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Within the package `server`, so that it finds the embedded PostgreSQL. */
const BUNDLE = 'packages/server/node_modules/.cache/service/'

/** What the service names beside its modules. */
const NAMED = [
  'packages/server/',
  'packages/server/migrations/',
  'packages/server/src/platform/http/reference/',
  'packages/server/src/platform/http/description/examples.json',
  'packages/dashboard/dist/',
]

export async function setup(): Promise<() => Promise<void>> {
  const { value, end } = await onceForARun('service', prepare)
  // Workers inherit them; packages/testkit/src/programs.ts and prepared-data.ts read them.
  Object.assign(process.env, value)
  return end
}

async function prepare() {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-prepared-'))
  // The servers run as another user where tests run as root.
  chmodSync(directory, 0o711)
  const dataDir = join(directory, 'service')
  mkdirSync(dataDir)
  const [server] = await Promise.all([makeServer(directory), makeBundle(), makeDatabase(dataDir)])
  const value = {
    BUNDLED_SERVICE: join(root, BUNDLE, 'main.js'),
    PREPARED_DATA: dataDir,
    PREPARED_SERVER: server,
  }
  return { value, end: async () => rmSync(directory, { recursive: true, force: true }) }
}

async function makeBundle(): Promise<void> {
  const { modules } = await bundleService({
    entry: 'packages/server/src/main.ts',
    files: new Map(NAMED.map((path) => [path, fromBundle(path)])),
  })
  rmSync(join(root, BUNDLE), { recursive: true, force: true })
  mkdirSync(join(root, BUNDLE), { recursive: true })
  // Otherwise Node finds out by reading them twice.
  writeFileSync(join(root, BUNDLE, 'package.json'), '{ "type": "module" }')
  for (const [name, code] of modules) writeFileSync(join(root, BUNDLE, name), code)
}

function fromBundle(path: string): string {
  const relative = posix.relative(BUNDLE, path)
  return path.endsWith('/') ? `${relative}/` : relative
}

const log = pino({ level: 'silent' })

async function makeDatabase(dataDir: string): Promise<void> {
  const postgres = createEmbeddedPostgres({ dataDir, log })
  await postgres.start()
  try {
    await fill(postgres.url())
  } finally {
    await postgres.stop()
  }
}

async function makeServer(directory: string): Promise<string> {
  const server = createPostgresServer({ directory, port: await findFreePort() })
  await server.start()
  try {
    await fill(server.url)
  } finally {
    await server.stop()
  }
  return server.data
}

/** As the first start of a service does. */
async function fill(url: string): Promise<void> {
  await migrate({ url, dir: migrationsDir, log })
  await runOnServer(
    url,
    `select platform_ensure_day_partitions(relname::text) from pg_class where relkind = 'p'`,
  )
}
