/**
 * The service spread over processes, one or more for each role, beside a PostgreSQL server whose
 * settings are those of the embedded one.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postrider/testkit'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import pg from 'pg'
import type { BenchOrder } from './report.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { adminToken } from './set-up.ts'

export interface Cluster {
  readonly databasePid: number
  readonly sql: pg.Client
  /** Stopped when the part ends, unless it is before. */
  start(
    roles: string,
    env?: Readonly<Record<string, string | number>>,
    profileDir?: string,
  ): Promise<ServiceProcess>
}

const databaseSettings = {
  wal_compression: 'on',
  shared_buffers: '128MB',
  max_connections: '100',
  checkpoint_timeout: '15min',
  max_wal_size: '256MB',
  min_wal_size: '64MB',
  autovacuum_naptime: '15s',
  autovacuum_vacuum_scale_factor: '0.05',
  jit: 'off',
  huge_pages: 'off',
  timezone: 'UTC',
}

export async function startCluster(
  o: BenchOrder,
  settings: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-bench-'))
  o.stopAtEnd(() => rmSync(directory, { recursive: true, force: true }))
  const database = createPostgresServer({
    directory,
    port: await findFreePort(),
    settings: { ...databaseSettings, ...settings },
  })
  o.stopAtEnd(() => database.stop())
  await database.start()
  const dataDir = join(directory, 'service')
  mkdirSync(dataDir)
  const common = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    ADMIN_TOKEN: adminToken,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    ALLOW_NETWORKS: '127.0.0.0/8',
    ALLOW_HTTP_WEBHOOKS: 'true',
    LOG_LEVEL: o.logLevel,
  }
  const sql = new pg.Client({ connectionString: database.url })
  // The server ends before its client does when the part is broken off.
  sql.on('error', () => undefined)
  await sql.connect()
  o.stopAtEnd(() => sql.end())
  return {
    databasePid: database.pid,
    sql,
    async start(roles, env = {}, profileDir) {
      const running = await startServiceProcess({
        env: { ...common, ROLES: roles, ...env },
        logFile: join(directory, `${roles}.log`),
        profileDir,
      })
      o.stopAtEnd(() => running.stop())
      return running
    },
  }
}
