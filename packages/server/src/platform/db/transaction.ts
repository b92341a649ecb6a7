/** One transaction on one connection; it ends committed, rolled back, or with its connection. */
import type { Connection } from './connection.ts'
import { DatabaseUnavailableError } from './errors.ts'
import type { TransactionOptions, Tx } from './statement.ts'

export async function runTransaction<T>(
  connection: Connection,
  work: (tx: Tx) => Promise<T>,
  o: TransactionOptions | undefined,
): Promise<T> {
  const begun = connection.command(beginning(o))
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

function beginning({ synchronousCommit, lockMsMax }: TransactionOptions = {}): string {
  const flush = synchronousCommit === 'off' ? '; set local synchronous_commit to off' : ''
  const wait = lockMsMax === undefined ? '' : `; set local lock_timeout to ${Math.ceil(lockMsMax)}`
  return `begin${flush}${wait}`
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
