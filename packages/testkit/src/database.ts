/**
 * A database of its own for one test file, copied from a template in milliseconds.
 *
 * `serverUrl` names a role that may create databases. `close` drops the database, even with open connections.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface TestDatabaseCopy {
  readonly url: string
  close(): Promise<void>
}

export async function createDatabase(o: {
  serverUrl: string
  template?: string
}): Promise<TestDatabaseCopy> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // A template has a thousand files of a few pages: by the log, copying them takes three times as long.
  const template =
    o.template === undefined
      ? ''
      : ` template ${pg.escapeIdentifier(o.template)} strategy file_copy`
  await runOnServer(o.serverUrl, `create database ${name}${template}`)
  return {
    url: databaseUrl(o.serverUrl, name),
    close: () => runOnServer(o.serverUrl, `drop database if exists ${name} with (force)`),
  }
}

/** The same server, another database. */
export function databaseUrl(serverUrl: string, name: string): string {
  return serverUrl.replace(/^([a-z]+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${name}`)
}

export async function runOnServer(serverUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** A session of a test's own, which the test ends. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
