/**
 * A pool of connections and the transactions on them.
 *
 * Connections are pipelined: statements are written as they are issued and answered in order, so BEGIN
 * and the statements of a transaction that do not depend on each other cost one round trip. An error in one makes the
 * server skip the rest, and COMMIT then answers ROLLBACK, which is an error here.
 *
 * A connection returns to the pool only from a known state; every other one is destroyed.
 * The URL must lead to PostgreSQL itself or to a pooler in session mode (prepared statements, session settings).
 */
import pg from 'pg'
import type { Logger } from '../log.ts'
import {
  DatabaseUnavailableError,
  isServerError,
  isSessionOver,
  isUnavailableState,
} from './errors.ts'
import type { Db, QueryResult, Statement, TransactionOptions, Tx } from './statement.ts'

export interface DbOptions {
  readonly url: string
  readonly poolMax: number
  readonly log: Logger
  readonly applicationName: string
  /** How long to wait for a connection, new or given back; default 5 s. */
  readonly connectTimeoutMs?: number
}

const statementTimeoutMs = 30_000
/** Longer than the server's own limit: it fires only when the server no longer answers at all. */
const answerTimeoutMs = 40_000

export function createDb(o: DbOptions): Db {
  const pool = new pg.Pool({
    connectionString: o.url,
    max: o.poolMax,
    pipeline: true,
    application_name: o.applicationName,
    connectionTimeoutMillis: o.connectTimeoutMs ?? 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: '-c timezone=UTC',
    types: { getTypeParser },
  })
  // An idle connection that breaks is already out of the pool; without a listener it would end the process.
  pool.on('error', (error) => o.log.warn({ err: error }, 'database.idle_connection_lost'))
  let closing: Promise<void> | undefined

  async function acquire(): Promise<Connection> {
    try {
      return openConnection(await pool.connect())
    } catch (error) {
      if (isServerError(error) && !isUnavailableState(error)) throw error
      throw new DatabaseUnavailableError('The database cannot be reached', { cause: error })
    }
  }

  return {
    async query<Row>(s: Statement | string, values?: readonly unknown[]) {
      const connection = await acquire()
      try {
        return await connection.query<Row>(s, values)
      } finally {
        connection.release()
      }
    },
    async transaction(work, transactionOptions) {
      const connection = await acquire()
      try {
        return await runTransaction(connection, work, transactionOptions)
      } finally {
        connection.release()
      }
    },
    close: () => {
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

interface Connection {
  query<Row>(s: Statement | string, values?: readonly unknown[]): Promise<QueryResult<Row>>
  /** The command tag tells a COMMIT that was turned into a ROLLBACK. */
  command(text: string): Promise<string>
  /** From here on release() destroys the connection. */
  spoil(): void
  release(): void
}

function openConnection(client: pg.PoolClient): Connection {
  let isUsable = true
  const spoil = () => {
    isUsable = false
  }
  client.on('error', spoil)
  client.on('end', spoil)

  /** Decides by the state of the connection, not by the words of the error. */
  function explain(error: unknown): unknown {
    if (isServerError(error)) {
      if (isSessionOver(error)) spoil()
      // A changed table invalidates this session's named statements: a fresh session plans them anew.
      if (error.code === '0A000' || error.code === '26000') spoil()
      if (!isUnavailableState(error)) return error
      return new DatabaseUnavailableError('The database is unavailable', { cause: error })
    }
    const isLost = !isUsable || isSocketClosed(client)
    spoil()
    if (!isLost) return error
    return new DatabaseUnavailableError('The connection to the database was lost', { cause: error })
  }

  async function send(s: Statement | string, values?: readonly unknown[]) {
    try {
      const config = typeof s === 'string' ? { text: s } : s
      const result = await client.query({
        ...config,
        ...(values && { values: values as unknown[] }),
      })
      // Several statements in one text answer with a list.
      return Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result
    } catch (error) {
      throw explain(error)
    }
  }

  return {
    async query<Row>(s: Statement | string, values?: readonly unknown[]) {
      const result = await send(s, values)
      return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
    },
    command: async (text) => (await send(text)).command,
    spoil,
    release: () => {
      client.off('error', spoil)
      client.off('end', spoil)
      client.release(!isUsable)
    },
  }
}

async function runTransaction<T>(
  connection: Connection,
  work: (tx: Tx) => Promise<T>,
  o: TransactionOptions | undefined,
): Promise<T> {
  const begun = connection.command(
    o?.synchronousCommit === 'off' ? 'begin; set local synchronous_commit to off' : 'begin',
  )
  // Awaited below; until then its failure must not count as unhandled.
  begun.catch(() => undefined)
  let isOpen = true
  const tx: Tx = {
    isTx: true,
    query: async (s, values) => {
      if (!isOpen)
        throw new Error('This transaction is over: a statement came after its work ended')
      return connection.query(s, values)
    },
  }
  let result: T
  try {
    result = await work(tx)
    await begun
  } catch (error) {
    isOpen = false
    await rollback(connection)
    throw error
  }
  isOpen = false
  await commit(connection)
  return result
}

async function commit(connection: Connection): Promise<void> {
  let tag: string
  try {
    tag = await connection.command('commit')
  } catch (error) {
    connection.spoil()
    if (!(error instanceof DatabaseUnavailableError)) throw error
    throw new DatabaseUnavailableError('The database did not confirm a commit', {
      cause: error.cause,
      isCommitUnknown: true,
    })
  }
  if (tag !== 'COMMIT')
    throw new Error('The transaction was rolled back: a statement in it had failed')
}

/** A failed rollback needs no answer of its own: the connection goes, and with it the transaction. */
async function rollback(connection: Connection): Promise<void> {
  try {
    await connection.command('rollback')
  } catch {
    connection.spoil()
  }
}

function isSocketClosed(client: pg.PoolClient): boolean {
  const { stream } = (client as unknown as { connection: { stream: { destroyed: boolean } } })
    .connection
  return stream.destroyed
}

const dateOid = 1082

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === dateOid) return String
  return pg.types.getTypeParser(oid, format as 'text')
}
