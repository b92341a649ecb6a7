/**
 * A real SMTP server on loopback that does what a test tells it to and remembers everything.
 *
 * Unless told otherwise it accepts every mail. See `smtp-script.ts` for what it can be told; a
 * script may be changed while it runs. With `record: 'count'` it keeps nothing but the number of
 * accepted messages, which makes it quick enough to be the sink of a benchmark.
 */
import { createSecureContext } from 'node:tls'
import { createMailListener } from './listen.ts'
import { createSignal } from './signal.ts'
import type { SmtpAuthSettings } from './smtp-auth.ts'
import { serveSmtpConnection } from './smtp-connection.ts'
import type { SmtpConnectionRecord, SmtpFact, SmtpTransaction } from './smtp-facts.ts'
import { createSmtpLedger } from './smtp-ledger.ts'
import { type SmtpScript, type SmtpScriptTable, tableScript } from './smtp-script.ts'
import type { SmtpConnectionSettings } from './smtp-talk.ts'

export interface SmtpServerOptions {
  readonly port?: number
  readonly host?: string
  readonly script?: SmtpScript | SmtpScriptTable
  readonly tls?: {
    readonly mode: 'implicit' | 'starttls'
    readonly key: string
    readonly cert: string
  }
  readonly auth?: SmtpAuthSettings
  /** Connections beyond this many at a time are told `421` and closed. */
  readonly connectionsMax?: number
  readonly sizeMax?: number
  /** What EHLO announces, besides STARTTLS and AUTH. */
  readonly extensions?: readonly string[]
  readonly record?: 'all' | 'count'
  readonly onFact?: (fact: SmtpFact) => void
}

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** How many messages were accepted: their dot was answered 2xx. */
  readonly accepted: number
  /** Every message whose final dot arrived, whatever it was told. Empty with `record: 'count'`. */
  readonly transactions: readonly SmtpTransaction[]
  /** The accepted ones among them. */
  readonly messages: readonly SmtpTransaction[]
  readonly connections: readonly SmtpConnectionRecord[]
  readonly openConnections: number
  setScript(script: SmtpScript | SmtpScriptTable | undefined): void
  /** Resolves with the accepted messages once there are at least so many. */
  waitForMessages(count: number, timeoutMs?: number): Promise<readonly SmtpTransaction[]>
  /** Resolves once the condition holds; it is looked at after every fact. */
  waitFor(isMet: (server: SmtpServer) => boolean, timeoutMs?: number): Promise<void>
  /** Forgets what was recorded, not the connections that are open. */
  clear(): void
  close(): Promise<void>
}

const EXTENSIONS = ['PIPELINING', 'SIZE 41943040', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES']

export async function createSmtpServer(o: SmtpServerOptions = {}): Promise<SmtpServer> {
  const host = o.host ?? '127.0.0.1'
  const keepBytes = o.record !== 'count'
  const changed = createSignal()
  const attempts = new Map<string, number>()
  const ledger = createSmtpLedger()
  let script = toScript(o.script)
  let accepted = 0
  let lastTransaction = 0

  const onFact = (fact: SmtpFact): void => {
    ledger.add(fact)
    o.onFact?.(fact)
    changed.notify()
  }
  const settings: SmtpConnectionSettings = {
    hostname: 'sink.test',
    sizeMax: o.sizeMax ?? 41_943_040,
    extensions: o.extensions ?? EXTENSIONS,
    get script() {
      return script
    },
    tls: o.tls && { mode: o.tls.mode, context: createSecureContext(o.tls) },
    auth: o.auth,
    keepBytes,
    nextTransaction: () => ++lastTransaction,
    countAttempt(recipient: string) {
      if (!keepBytes && script === undefined) return 1
      const name = recipient.toLowerCase()
      const attempt = (attempts.get(name) ?? 0) + 1
      attempts.set(name, attempt)
      return attempt
    },
    onFact: keepBytes ? onFact : undefined,
    onAccepted() {
      accepted += 1
      changed.notify()
    },
  }

  const listener = await createMailListener({
    host,
    port: o.port,
    connectionsMax: o.connectionsMax,
    refusal: '421 4.7.0 too many connections',
    serve: (socket, connection) => serveSmtpConnection(socket, connection, settings),
    onClosed: changed.notify,
  })

  const self: SmtpServer = {
    host,
    port: listener.port,
    get accepted() {
      return accepted
    },
    transactions: ledger.transactions,
    get messages() {
      return ledger.transactions.filter((transaction) => transaction.accepted)
    },
    connections: ledger.connections,
    get openConnections() {
      return listener.openConnections
    },
    setScript(next) {
      script = toScript(next)
    },
    async waitForMessages(count, timeoutMs) {
      await changed.until(() => accepted >= count, {
        timeoutMs,
        describe: () => `${accepted} of ${count} messages accepted; ${ledger.describe()}`,
      })
      return self.messages
    },
    waitFor: (isMet, timeoutMs) =>
      changed.until(() => isMet(self), {
        timeoutMs,
        describe: () => `condition not met; ${accepted} messages accepted; ${ledger.describe()}`,
      }),
    clear() {
      accepted = 0
      attempts.clear()
      ledger.clear()
    },
    async close() {
      changed.close('the SMTP server was closed')
      await listener.close()
    },
  }
  return self
}

function toScript(script: SmtpScript | SmtpScriptTable | undefined): SmtpScript | undefined {
  return typeof script === 'object' ? tableScript(script) : script
}
