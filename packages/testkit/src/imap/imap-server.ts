/**
 * A real IMAP server on loopback that does what a test tells it to and remembers what it was asked.
 *
 * Unless told otherwise it is well-behaved: RFC 3501 with the extensions that its capabilities name,
 * mailboxes into which tests put mail, and everybody is told of what arrives. See `imap-script.ts`
 * for what else it can be told; a script may be changed while it runs.
 */
import { createSecureContext } from 'node:tls'
import { createMailListener } from '../listen.ts'
import { createSignal } from '../signal.ts'
import type { SmtpAuthSettings } from '../smtp-auth.ts'
import {
  createImapAccount,
  type DeliverOptions,
  type FolderChange,
  type ImapAccount,
} from './imap-account.ts'
import { serveImapConnection } from './imap-connection.ts'
import type { ImapScript } from './imap-script.ts'
import type { ImapConnection, ImapConnectionSettings } from './imap-talk.ts'

export interface ImapServerOptions {
  readonly port?: number
  readonly host?: string
  readonly script?: ImapScript
  readonly tls?: {
    readonly mode: 'implicit' | 'starttls'
    readonly key: string
    readonly cert: string
  }
  /** Without it `ada@example.com` has the password `secret`. */
  readonly auth?: SmtpAuthSettings
  /** What it can do, besides STARTTLS, AUTH and SASL-IR. */
  readonly capabilities?: readonly string[]
  /** Connections beyond this many at a time are told `BYE` and closed. */
  readonly connectionsMax?: number
}

export interface ImapServer {
  readonly host: string
  readonly port: number
  /** How many there have been. */
  readonly connections: number
  readonly logins: number
  readonly openConnections: number
  /** How many of them wait in IDLE. */
  readonly idleConnections: number
  /** How often a command has been given, by its name in capitals: `UID FETCH`. */
  count(command: string): number
  /** Of a username; without one of the first user there is. */
  account(username?: string): ImapAccount
  /** Mail arrives at the first user. */
  deliver(folder: string, raw: string | Buffer, o?: DeliverOptions): number
  setScript(script: ImapScript | undefined): void
  /** Ends connections, of all users or of one, as parseImapAction reads it: `rst`, `BYE text`. */
  disconnect(how: string, username?: string): void
  /** Resolves once the condition holds; it is looked at after every command and connection. */
  waitFor(isMet: (server: ImapServer) => boolean, timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

const CAPABILITIES = [
  'LITERAL+',
  'ID',
  'NAMESPACE',
  'ENABLE',
  'IDLE',
  'UIDPLUS',
  'CONDSTORE',
  'SPECIAL-USE',
]
const AUTH: SmtpAuthSettings = { users: { 'ada@example.com': 'secret' } }

export async function createImapServer(o: ImapServerOptions = {}): Promise<ImapServer> {
  const host = o.host ?? '127.0.0.1'
  const auth = o.auth ?? AUTH
  const changed = createSignal()
  const open = new Set<ImapConnection>()
  const accounts = new Map<string, ImapAccount>()
  const counts = new Map<string, number>()
  let script = o.script
  let logins = 0

  const onChange = (account: ImapAccount, folder: string, change: FolderChange): void => {
    for (const connection of open) connection.tell(account, folder, change)
  }
  const accountOf = (username: string): ImapAccount => {
    const account = accounts.get(username) ?? createImapAccount(username, onChange)
    accounts.set(username, account)
    return account
  }
  const settings: ImapConnectionSettings = {
    capabilities: o.capabilities ?? CAPABILITIES,
    get script() {
      return script
    },
    tls: o.tls && { mode: o.tls.mode, context: createSecureContext(o.tls) },
    auth,
    accountOf,
    onCommand(command) {
      const count = (counts.get(command) ?? 0) + 1
      counts.set(command, count)
      queueMicrotask(changed.notify)
      return count
    },
    onLogin() {
      logins += 1
    },
    onClosed(connection) {
      open.delete(connection)
      changed.notify()
    },
  }
  const listener = await createMailListener({
    host,
    port: o.port,
    connectionsMax: o.connectionsMax,
    refusal: '* BYE [UNAVAILABLE] Too many simultaneous connections.',
    serve: (socket, connection) => open.add(serveImapConnection(socket, connection, settings)),
    onClosed: changed.notify,
  })
  const first = Object.keys(auth.users)[0] ?? 'ada@example.com'

  const self: ImapServer = {
    host,
    port: listener.port,
    get connections() {
      return listener.connections
    },
    get logins() {
      return logins
    },
    get openConnections() {
      return listener.openConnections
    },
    get idleConnections() {
      return [...open].filter(({ isIdle }) => isIdle).length
    },
    count: (command) => counts.get(command) ?? 0,
    account: (username = first) => accountOf(username),
    deliver: (folder, raw, options) => accountOf(first).deliver(folder, raw, options),
    setScript(next) {
      script = next
    },
    disconnect(how, username) {
      for (const connection of open)
        if (username === undefined || connection.username === username) connection.end(how)
    },
    waitFor: (isMet, timeoutMs) =>
      changed.until(() => isMet(self), {
        timeoutMs,
        describe: () =>
          `condition not met; ${listener.connections} connections, ${logins} logins, commands: ${JSON.stringify(Object.fromEntries(counts))}`,
      }),
    async close() {
      changed.close('the IMAP server was closed')
      await listener.close()
    },
  }
  return self
}
