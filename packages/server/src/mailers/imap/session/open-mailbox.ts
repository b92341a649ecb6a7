/**
 * Logs in at a mailbox: to try its configuration, to watch it, to look into one of its folders. The one
 * place where imapflow is made.
 *
 * It makes its connection itself, to addresses that the guarded egress has looked up and allowed, and
 * for the host's name: its own lookup is ours, and an address that is written out is checked as one.
 * What a server may send is bounded before it is parsed (guard-client.ts); nothing is compressed, for that
 * would hide how much it is. Everything until the login is done has one deadline. Where no file descriptor
 * is free the failure is `busy`, as of the egress: nobody was asked.
 */

import { createLoginRedactor, type ImapFailure, type LoginRedactor } from '@postrider/mail'
import { ImapFlow } from 'imapflow'
import type { Egress, ResolvedAddress } from '../../../platform/egress/index.ts'
import { type Descriptors, isOutOfDescriptors } from '../../../platform/process/descriptors.ts'
import type { MailerConfig } from '../../mailer.ts'
import { type GuardedClient, guardClient } from './guard-client.ts'
import { imapFailureOf } from './imap-error.ts'
import { createImapSession, type ImapSession } from './imap-session.ts'
import type { ImapBound } from './wire-guard.ts'

export interface OpenMailboxDeps {
  readonly egress: Pick<Egress, 'resolve'>
  /** Told when there was none for a connection. */
  readonly descriptors?: Pick<Descriptors, 'ranOut'> | undefined
  /** Called for each connection that ends because its server broke a bound. */
  readonly onImapBound?: OnImapBound
}

export type OnImapBound = (
  bound: ImapBound,
  server: { readonly host: string; readonly port: number },
) => void

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
/** Space for a long answer to a search, and around a message. */
const LINE_BYTES_MAX = 512 * 1024
/** Longer than any time within which something of ours happens on a connection. */
const QUIET_MS_MAX = 20 * 60_000

/** Never rejects on account of the server. */
export async function openMailbox(
  { descriptors, egress, onImapBound }: OpenMailboxDeps,
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
  const { messageBytesMax = MESSAGE_BYTES_DEFAULT } = o
  const client = createClient(login, addresses, { ...o, messageBytesMax })
  const { host, port } = login
  const onBroken = (bound: ImapBound) => onImapBound?.(bound, { host, port })
  const guarded = guardClient(client, { messageBytesMax, onBroken })
  return connect(client, guarded, redactor, { ...o, deadlineAt, descriptors })
}

async function connect(
  client: ImapFlow,
  guarded: GuardedClient,
  redactor: LoginRedactor,
  o: OpenMailboxOptions & Pick<OpenMailboxDeps, 'descriptors'> & { readonly deadlineAt: number },
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
    if (ended !== undefined) throw ended
    guarded.begin()
    return { ok: true, session: createImapSession(client, guarded, redactor) }
  } catch (error) {
    client.close()
    if (isOutOfDescriptors(error)) {
      o.descriptors?.ranOut(error)
      const message = 'no free file descriptors'
      return { ok: false, failure: { stage: 'connect', systemCode: 'busy', message } }
    }
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
  { timeoutMs, messageBytesMax }: OpenMailboxOptions & { readonly messageBytesMax: number },
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
    maxLiteralSize: messageBytesMax,
    maxResponseSize: messageBytesMax + LINE_BYTES_MAX,
  })
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
