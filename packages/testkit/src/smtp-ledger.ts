/** Turns the facts of a scripted SMTP server into what a test reads: records of connections and messages. */
import type { SmtpConnectionRecord, SmtpFact, SmtpTransaction } from './smtp-facts.ts'

export interface SmtpLedger {
  readonly connections: readonly SmtpConnectionRecord[]
  readonly transactions: readonly SmtpTransaction[]
  add(fact: SmtpFact): void
  /** What happened last, for a message of failure. */
  describe(): string
  clear(): void
}

export function createSmtpLedger(): SmtpLedger {
  const connections: Mutable[] = []
  const transactions: (SmtpTransaction & { replyFlushed: boolean })[] = []
  const byNumber = new Map<number, Mutable>()
  const open = (connection: number): void => {
    const record: Mutable = {
      connection,
      commands: [],
      phase: 'connect',
      secure: false,
      username: undefined,
      closed: false,
    }
    byNumber.set(connection, record)
    connections.push(record)
  }
  return {
    connections,
    transactions,
    add(fact: SmtpFact): void {
      if (fact.fact === 'connection.opened') open(fact.connection)
      const record = byNumber.get(fact.connection)
      if (record === undefined) return
      switch (fact.fact) {
        case 'connection.opened':
          return
        case 'command.received':
          record.phase = fact.phase
          record.commands.push(fact.line)
          return
        case 'reply.given':
          record.phase = fact.phase
          if (fact.phase === 'auth' && fact.reply?.startsWith('235'))
            record.username = fact.username
          return
        case 'connection.secured':
          record.secure = true
          return
        case 'message.received': {
          const { fact: _kind, ...received } = fact
          transactions.push({ ...received, replyFlushed: false })
          return
        }
        case 'reply.flushed': {
          const flushed = transactions.findLast((one) => one.transaction === fact.transaction)
          if (flushed !== undefined) flushed.replyFlushed = true
          return
        }
        case 'connection.closed':
          record.phase = fact.phase
          record.closed = true
          byNumber.delete(fact.connection)
          return
      }
    },
    describe(): string {
      return connections
        .slice(-5)
        .map((one) => `connection ${one.connection} in ${one.phase}: ${one.commands.join(' | ')}`)
        .join('\n')
    },
    clear(): void {
      connections.length = 0
      transactions.length = 0
    },
  }
}

interface Mutable {
  connection: number
  commands: string[]
  phase: SmtpConnectionRecord['phase']
  secure: boolean
  username: string | undefined
  closed: boolean
}
