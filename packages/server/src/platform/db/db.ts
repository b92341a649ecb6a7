/**
 * A pool of connections and the transactions on them.
 *
 * Connections are pipelined: statements are written as they are issued and answered in order, so BEGIN
 * and the statements of a transaction that do not depend on each other cost one round trip. An error in one makes the
 * server skip the rest, and COMMIT then answers ROLLBACK, which is an error here.
 *
 * A connection returns to the pool only from a known state; every other one is destroyed.
 * The URL may name several hosts, of which the primary is used (`primaries.ts`). It must lead to PostgreSQL itself or to a pooler in session mode (prepared statements, session settings).
 */

import { runTask } from '@postrider/runtime/task'
import pg from 'pg'
import type { Logger } from '../log.ts'
import { explainStatement, noteCommit, noteStatement } from './commits.ts'
import { type Connection, openConnection, wireOf } from './connection.ts'
import { DatabaseUnavailableError, isServerError, isUnavailableState } from './errors.ts'
import { createPrimaries } from './primaries.ts'
import type { Db, Statement } from './statement.ts'
import { runTransaction } from './transaction.ts'

export interface DbOptions {
  readonly url: string
  readonly poolMax: number
  readonly log: Logger
  readonly applicationName: string
  /** How long to wait for a connection, new or given back; default 5 s. */
  readonly connectTimeoutMs?: number
  /** Throws when this program must not touch the database any more. */
  readonly check?: () => void
}

const statementTimeoutMs = 30_000
/** Longer than the server's own limit: it fires only when the server no longer answers at all. */
const answerTimeoutMs = 40_000
/**
 * Pages cost the same wherever they are, as on every disk of today: with the server's default of four
 * times as much, a small queue is read as a whole for each group of rows that is wanted of it, which
 * took a tenth of the database's time.
 */
const sessionSettings = '-c timezone=UTC -c random_page_cost=1.1'

export function createDb(o: DbOptions): Db {
  const primaries = createPrimaries(o)
  const connectTimeoutMs = o.connectTimeoutMs ?? 5_000
  const pool = new pg.Pool({
    Client: primaries.Client,
    connectionString: primaries.url,
    max: o.poolMax,
    pipeline: true,
    application_name: o.applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: sessionSettings,
    types: { getTypeParser },
  })
  // An idle connection that breaks is already out of the pool; without a listener it would end the process.
  // While the pool closes it is no loss: a server that stops may be faster than the connection's own end.
  pool.on('error', (error) => {
    if (closing === undefined) o.log.warn({ err: error }, 'database.idle_connection_lost')
  })
  // One that breaks in the turn in which it is handed out has no listener of the pool's any more, and
  // none of its user's yet.
  const broken = new WeakSet<pg.PoolClient>()
  pool.on('connect', (client) => client.on('error', () => broken.add(client)))
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  // Those to the old primary may hang for as long as a statement may last.
  const stopWatching = primaries.watch((from, to) => {
    o.log.warn({ from, to }, 'database.primary_moved')
    for (const client of clients) if (!primaries.isCurrent(client)) wireOf(client).stream.destroy()
  })
  let closing: Promise<void> | undefined

  async function acquire(): Promise<Connection> {
    o.check?.()
    const startedMs = performance.now()
    for (let isFirst = true; ; isFirst = false) {
      try {
        // A new connection serves all tasks, so it belongs to none of them.
        const client = await runTask('database', () => pool.connect())
        return openConnection(client, { isUsable: !broken.has(client) })
      } catch (error) {
        // The remembered host is gone, so another one is looked for, while there is time.
        const isEarly = isFirst && performance.now() - startedMs < connectTimeoutMs / 2
        if (isEarly && primaries.mayMove() && !(error instanceof DatabaseUnavailableError)) continue
        throw unavailable(error)
      }
    }
  }

  function unavailable(error: unknown): unknown {
    if (error instanceof DatabaseUnavailableError) return error
    if (isServerError(error) && !isUnavailableState(error)) return error
    return new DatabaseUnavailableError('The database cannot be reached', { cause: error })
  }

  return {
    async query<Row>(s: Statement | string, values?: readonly unknown[]) {
      const connection = await acquire()
      try {
        const result = await connection.query<Row>(s, values)
        noteStatement(textOf(s))
        return result
      } catch (error) {
        throw explainStatement(error, textOf(s))
      } finally {
        connection.release()
      }
    },
    async transaction(work, transactionOptions) {
      const connection = await acquire()
      try {
        const result = await runTransaction(connection, work, transactionOptions)
        noteCommit()
        return result
      } finally {
        connection.release()
      }
    },
    close: () => {
      stopWatching()
      closing ??= pool.end()
      return closing
    },
    get stats() {
      return {
        connections: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
        max: o.poolMax,
      }
    },
  }
}

function textOf(s: Statement | string): string {
  return typeof s === 'string' ? s : s.text
}

const dateOid = 1082

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === dateOid) return String
  return pg.types.getTypeParser(oid, format as 'text')
}
