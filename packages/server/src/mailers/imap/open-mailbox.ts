/**
 * Logs in at a mailbox: to try its configuration, to watch it, to look into one of its folders. The one
 * place where imapflow is made.
 *
 * It makes its connection itself, to addresses that the guarded egress has looked up and allowed, and
 * for the host's name: its own lookup is ours, and an address that is written out is checked as one.
 * What a server may send has bounds, of which the largest is one message, and that only while messages are
 * asked for; nothing is compressed, for that would hide how much it is. Everything until the login is done has one deadline.
 */
import { ImapFlow } from 'imapflow'
import { createLoginRedactor, type ImapFailure, type LoginRedactor } from '../../mail/index.ts'
import type { Egress, ResolvedAddress } from '../../platform/egress/index.ts'
import type { MailerConfig } from '../mailer.ts'
import { imapFailureOf } from './imap-error.ts'
import { createImapSession, type ImapSession } from './imap-session.ts'

export interface OpenMailboxDeps {
  readonly egress: Pick<Egress, 'resolve'>
}

/** By password or by access token. */
export type MailboxLogin = Required<MailerConfig> &
  ({ readonly password: string } | { readonly accessToken: string })

export interface OpenMailboxOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** Of one message; 64 KiB where none is to be read. */
  readonly messageBytesMax?: number
}

export type OpenedMailbox =
  | { readonly ok: true; readonly session: ImapSession }
  | { readonly ok: false; readonly failure: ImapFailure }

const IMPLICIT_TLS_PORT = 993
/** Of the time for all: what greets later does not log in within it. */
const GREETING_SHARE = 0.9
const MESSAGE_BYTES_DEFAULT = 64 * 1024
/** Of anything but a message: the header of one has as much, of the servers that take most. */
const LITERAL_BYTES_MAX = 1024 * 1024
/** Room for a long answer to a search; and around a message. */
const LINE_BYTES_MAX = 512 * 1024
/** Longer than any time within which something of ours happens on a connection. */
const QUIET_MS_MAX = 20 * 60_000

/** Never rejects on account of the server. */
export async function openMailbox(
  { egress }: OpenMailboxDeps,
  login: MailboxLogin,
  o: OpenMailboxOptions,
): Promise<OpenedMailbox> {
  const deadlineAt = performance.now() + o.timeoutMs
  const redactor = createLoginRedactor(login, login)
  let addresses: readonly ResolvedAddress[]
  try {
    addresses = await egress.resolve({ host: login.host, ...o })
  } catch (error) {
    const failure = imapFailureOf(error, { stage: 'connect', redactor })
    return { ok: false, failure }
  }
  const client = createClient(login, addresses, o)
  return connect(client, redactor, { ...o, deadlineAt })
}

async function connect(
  client: ImapFlow,
  redactor: LoginRedactor,
  o: OpenMailboxOptions & { readonly deadlineAt: number },
): Promise<OpenedMailbox> {
  let ended: Error | undefined
  const end = (code: string, message: string) => {
    ended = Object.assign(new Error(message), { code })
    client.close()
  }
  const late = () => end('ETIMEDOUT', `Timeout: no session within ${Math.round(o.timeoutMs)} ms`)
  const timer = setTimeout(late, Math.max(0, o.deadlineAt - performance.now()))
  const stop = () => end('EABORTED', 'The connection was stopped')
  o.signal?.addEventListener('abort', stop, { once: true })
  let earlier: unknown
  client.on('error', (error) => {
    earlier ??= error
  })
  try {
    if (o.signal?.aborted === true) stop()
    await client.connect()
    if (ended === undefined)
      return { ok: true, session: createImapSession(client, redactor, limitOf(client, o)) }
    throw ended
  } catch (error) {
    client.close()
    const bye = ended === undefined ? client.byeReason : undefined
    const failure = imapFailureOf(ended ?? error, { stage: 'connect', redactor, bye, earlier })
    return { ok: false, failure }
  } finally {
    clearTimeout(timer)
    o.signal?.removeEventListener('abort', stop)
  }
}

function createClient(
  login: MailboxLogin,
  addresses: readonly ResolvedAddress[],
  { timeoutMs, messageBytesMax = MESSAGE_BYTES_DEFAULT }: OpenMailboxOptions,
): ImapFlow {
  const { host, port, secure, tlsVerify, username } = login
  const isImplicit = secure === 'SSL' || (secure === 'Auto' && port === IMPLICIT_TLS_PORT)
  return new ImapFlow({
    host,
    port,
    secure: isImplicit,
    ...(isImplicit || secure === 'Auto' ? {} : { doSTARTTLS: secure === 'Tls' }),
    auth: {
      user: username,
      ...('accessToken' in login ? { accessToken: login.accessToken } : { pass: login.password }),
    },
    tls: { rejectUnauthorized: tlsVerify, ...dialling(addresses) },
    clientInfo: { name: 'Postrider', vendor: '', version: '', 'support-url': '' },
    logger: false,
    disableAutoIdle: true,
    disableAutoEnable: true,
    disableCompression: true,
    disableBinary: true,
    disableIMAP4rev2: true,
    connectionTimeout: timeoutMs,
    // Before the deadline of all, which could not tell what was waited for. Over TLS that is known to be spoken.
    greetingTimeout: isImplicit ? timeoutMs : timeoutMs * GREETING_SHARE,
    socketTimeout: QUIET_MS_MAX,
    maxLineLength: LINE_BYTES_MAX,
    ...boundsOf(Math.min(messageBytesMax, LITERAL_BYTES_MAX)),
  })
}

function boundsOf(literalBytesMax: number) {
  return {
    maxLiteralSize: literalBytesMax,
    maxResponseSize: literalBytesMax + LINE_BYTES_MAX,
  }
}

/** Its parser reads its bounds again at every literal, and is not among its types. */
function limitOf(
  client: ImapFlow,
  { messageBytesMax = MESSAGE_BYTES_DEFAULT }: OpenMailboxOptions,
): (isForMessages: boolean) => void {
  const parser: unknown = Reflect.get(client, 'streamer')
  if (typeof parser !== 'object' || parser === null || !('maxLiteralSize' in parser))
    throw new Error('imapflow keeps the bounds of its parser elsewhere')
  return (isForMessages) => {
    const max = isForMessages ? messageBytesMax : Math.min(messageBytesMax, LITERAL_BYTES_MAX)
    Object.assign(parser, boundsOf(max))
  }
}

/**
 * Options of `net.connect`, of which the client hands on what it is given for TLS. Never asked for the
 * name again: resolving at connect time is what DNS rebinding lives on.
 */
function dialling(addresses: readonly ResolvedAddress[]): object {
  type Answer = (error: null, found: string | readonly ResolvedAddress[], family?: number) => void
  return {
    noDelay: true,
    autoSelectFamily: true,
    lookup(_host: string, options: { readonly all?: boolean }, answer: Answer) {
      const [first] = addresses
      if (options.all === true || first === undefined) answer(null, addresses)
      else answer(null, first.address, first.family)
    },
  }
}
