/**
 * One connection while it is out of the pool.
 *
 * What its errors mean is decided by SQLSTATE and by the state of the connection, not by the words of the error. A connection in
 * any state but a known one is spoiled: its release destroys it.
 */
import type { Duplex } from 'node:stream'
import { resumeTask } from '@postrider/runtime/task'
import type pg from 'pg'
import {
  DatabaseUnavailableError,
  isServerError,
  isSessionOver,
  isUnavailableState,
} from './errors.ts'
import type { QueryResult, Statement } from './statement.ts'

export interface Connection {
  query<Row>(s: Statement | string, values?: readonly unknown[]): Promise<QueryResult<Row>>
  /** The command tag tells a COMMIT that was turned into a ROLLBACK. */
  command(text: string): Promise<string>
  /** From here on release() destroys the connection. */
  spoil(): void
  release(): void
}

export function openConnection(
  client: pg.PoolClient,
  given: { readonly isUsable: boolean },
): Connection {
  let { isUsable } = given
  const spoil = () => {
    isUsable = false
  }
  client.on('error', spoil)
  client.on('end', spoil)

  function explain(error: unknown): unknown {
    if (isServerError(error)) {
      if (isSessionOver(error)) spoil()
      // A changed table invalidates this session's named statements: a fresh session plans them anew.
      if (error.code === '0A000' || error.code === '26000') spoil()
      // The server has become read-only: a new connection looks for the primary.
      if (error.code === '25006') spoil()
      if (!isUnavailableState(error)) return error
      return new DatabaseUnavailableError('The database is unavailable', { cause: error })
    }
    const isLost = !isUsable || isSocketClosed(client)
    spoil()
    if (!isLost) return error
    return new DatabaseUnavailableError('The connection to the database was lost', { cause: error })
  }

  /** Statements that are issued in one turn leave in one write instead of one each. */
  const { stream } = wireOf(client)
  let isCorked = false
  function cork(): void {
    if (isCorked) return
    isCorked = true
    stream.cork()
    process.nextTick(() => {
      isCorked = false
      stream.uncork()
    })
  }

  async function send(s: Statement | string, values?: readonly unknown[]) {
    cork()
    try {
      const config = typeof s === 'string' ? { text: s } : s
      const result = await client.query({
        ...config,
        ...(values && { values: values as unknown[] }),
      })
      resumeTask()
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

function isSocketClosed(client: pg.PoolClient): boolean {
  return wireOf(client).stream.destroyed
}

/** What the driver's types leave out. */
export function wireOf(client: pg.ClientBase): { readonly stream: Duplex } {
  return (client as unknown as { connection: { stream: Duplex } }).connection
}
