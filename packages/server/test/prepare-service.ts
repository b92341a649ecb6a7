/**
 * What the slow tests make once for a run instead of at each start of a service: a bundle of the service,
 * and a data directory whose embedded database is migrated and has its day partitions.
 *
 * The bundle reads migrations, dashboard and the like where the checkout has them. That the sources start
 * on an empty directory is the matter of `e2e/start.test.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createEmbeddedPostgres } from '@postrider/embedded-postgres'
import { runOnServer } from '@postrider/testkit/database'
import pino from 'pino'
import { bundleService } from '../../../release/npm/bundle.ts'
import { migrationsDir } from '../src/operator-database.ts'
import { migrate } from '../src/platform/db/migrate.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Within the package `server`, whose dependencies it imports. */
const BUNDLE = 'packages/server/node_modules/.cache/service/'

/** What the service names beside its modules. */
const NAMED = [
  'packages/server/',
  'packages/server/migrations/',
  'packages/server/src/platform/http/reference/',
  'packages/server/src/platform/http/description/examples.json',
  'packages/dashboard/dist/',
]

export async function setup(): Promise<() => void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-prepared-'))
  await Promise.all([makeBundle(), makeDatabase(dataDir)])
  // Workers inherit them; packages/testkit/src/programs.ts and e2e/world.ts read them.
  process.env.BUNDLED_SERVICE = join(root, BUNDLE, 'main.js')
  process.env.PREPARED_DATA = dataDir
  return () => rmSync(dataDir, { recursive: true, force: true })
}

async function makeBundle(): Promise<void> {
  const { modules } = await bundleService({
    entry: 'packages/server/src/main.ts',
    files: new Map(NAMED.map((path) => [path, fromBundle(path)])),
  })
  rmSync(join(root, BUNDLE), { recursive: true, force: true })
  mkdirSync(join(root, BUNDLE), { recursive: true })
  for (const [name, code] of modules) writeFileSync(join(root, BUNDLE, name), code)
}

function fromBundle(path: string): string {
  const relative = posix.relative(BUNDLE, path)
  return path.endsWith('/') ? `${relative}/` : relative
}

async function makeDatabase(dataDir: string): Promise<void> {
  const log = pino({ level: 'silent' })
  const postgres = createEmbeddedPostgres({ dataDir, log })
  await postgres.start()
  try {
    const url = postgres.url()
    await migrate({ url, dir: migrationsDir, log })
    await runOnServer(
      url,
      `select platform_ensure_day_partitions(relname::text) from pg_class where relkind = 'p'`,
    )
  } finally {
    await postgres.stop()
  }
}
