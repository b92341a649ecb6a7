/**
 * A streaming replica of a test's PostgreSQL server, made as PostgreSQL's documentation says for a
 * base backup by its low-level API: a copy of the files between `pg_backup_start` and
 * `pg_backup_stop`. It needs no program but the server itself.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import pg from 'pg'
import {
  createPostgresServer,
  type PostgresServer,
  type PostgresServerOptions,
} from './postgres-server.ts'

/** What the primary needs: the replica reads from it what was written while it was copied. */
export const replicatedSettings = { wal_level: 'replica', wal_keep_size: '256MB' } as const

/** Of these the replica has its own, or none. */
const LEFT_OUT = /^(?:postmaster\.(?:pid|opts)|pg_wal\/.+|pg_replslot\/.+|pg_stat_tmp\/.+)$/

/** Copies the running primary; the replica starts as a standby until it is promoted. */
export async function createReplica(
  primary: PostgresServer,
  o: PostgresServerOptions,
): Promise<PostgresServer> {
  chmodSync(o.directory, 0o711)
  const replica = createPostgresServer({
    ...o,
    settings: {
      ...o.settings,
      ...replicatedSettings,
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres application_name=replica`,
    },
  })
  const { uid, gid } = statSync(primary.data)
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('replica', true)`)
    copyFiles(primary.data, replica.data)
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    )
    for (const [name, text] of [
      ['backup_label', rows[0]?.labelfile ?? ''],
      ['standby.signal', ''],
    ] as const) {
      writeFileSync(join(replica.data, name), text, { mode: 0o600 })
      chownSync(join(replica.data, name), uid, gid)
    }
  } finally {
    await client.end()
  }
  return replica
}

/** A file that goes while the copy is made is no loss: the log has what became of it. */
function copyFiles(from: string, to: string, root = from): void {
  const { uid, gid } = statSync(from)
  mkdirSync(to, { mode: 0o700 })
  chownSync(to, uid, gid)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (LEFT_OUT.test(relative(root, source).split(sep).join('/'))) continue
    if (entry.isDirectory()) copyFiles(source, target, root)
    else if (existsSync(source)) {
      copyFileSync(source, target)
      chownSync(target, uid, gid)
    }
  }
}
