/**
 * Opens an SMTP session: socket, TLS, greeting, EHLO, login, all before one absolute deadline.
 *
 * `SSL`, and `Auto` on port 465, ask `connect` for a socket with TLS done. `Tls` requires STARTTLS;
 * `Auto` takes it where it is offered and does not fall back when it fails, since a peer that breaks
 * STARTTLS may be one that wants to read the password. For the same reason a server that offers no
 * AUTH to a mailer with a login is not used at all: the offer may have been stripped on the way.
 */
import type { Socket } from 'node:net'
import { type Capabilities, capabilitiesOf } from './capabilities.ts'
import { createConnection, type SmtpConnection } from './connection.ts'
import { createSession } from './create-session.ts'
import {
  failureOf,
  failureOfConnect,
  LOCAL_REFUSALS,
  type SmtpFailure,
  type SmtpStage,
  stageOfCommand,
  toReply,
} from './failure.ts'
import { createLoginRedactor, type LoginRedactor } from './redact-login.ts'
import type { OpenSessionOptions, OpenSessionResult, SmtpConnectOptions } from './session.ts'

const REPLY_BYTES_MAX = 65_536
const IDLE_TIMEOUT_MS = 600_000
const CLOSE_TIMEOUT_MS = 2_000
const EHLO_NAME =
  /^(?=.{1,255}$)(?:[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*|\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[\da-f:.]+)\])$/i

export async function openSmtpSession(o: OpenSessionOptions): Promise<OpenSessionResult> {
  if (!EHLO_NAME.test(o.ehloName)) throw new TypeError(`not an EHLO name: ${o.ehloName}`)
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), o.timeoutMs)
  try {
    const opened = await openSocket(o, deadline.signal)
    if ('failure' in opened) return { ok: false, failure: opened.failure }
    const redactor = createLoginRedactor(o.auth)
    const started = await startSession(o, opened.socket, redactor, deadline.signal)
    return started.ok ? started : { ok: false, failure: redactor.failure(started.failure) }
  } finally {
    clearTimeout(timer)
  }
}

async function openSocket(
  o: OpenSessionOptions,
  signal: AbortSignal,
): Promise<{ readonly socket: Socket } | { readonly failure: SmtpFailure }> {
  const request: SmtpConnectOptions = { timeoutMs: o.timeoutMs, signal }
  const connecting = o.connect(isImplicitTls(o) ? { ...request, tls: tlsOptions(o) } : request)
  const timedOut = whenAborted(signal)
  try {
    const socket = await Promise.race([connecting, timedOut])
    if (socket !== undefined) return { socket }
    connecting.then(
      (late) => late.destroy(),
      () => undefined,
    )
    return { failure: timeout('connect', o.timeoutMs) }
  } catch (error) {
    return { failure: failureOfConnect(error) }
  }
}

function startSession(
  o: OpenSessionOptions,
  socket: Socket,
  redactor: LoginRedactor,
  signal: AbortSignal,
): Promise<OpenSessionResult> {
  const isImplicit = isImplicitTls(o)
  const connection = createConnection(socket, {
    host: o.host,
    port: o.port,
    secure: isImplicit,
    secured: isImplicit,
    requireTLS: o.secure === 'Tls',
    ignoreTLS: o.secure === 'None',
    tls: tlsOptions(o),
    name: o.ehloName,
    // Ours is the deadline; the library's own timers only have to stay out of its way.
    connectionTimeout: o.timeoutMs + IDLE_TIMEOUT_MS,
    greetingTimeout: o.timeoutMs + IDLE_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    socketCloseTimeout: CLOSE_TIMEOUT_MS,
    maxResponseSize: REPLY_BYTES_MAX,
  })
  const { wire } = connection

  return new Promise((resolve) => {
    let capabilities: Capabilities | undefined
    let isSettled = false
    const settle = (result: OpenSessionResult) => {
      if (isSettled) return
      isSettled = true
      signal.removeEventListener('abort', onTimeout)
      connection.whenLost(undefined)
      if (!result.ok) connection.destroy()
      resolve(result)
    }
    const fail = (failure: SmtpFailure) => settle({ ok: false, failure })
    const stage = (error?: unknown) =>
      stageOfCommand(error) ?? (capabilities === undefined ? stageOf(connection, error) : 'auth')
    const onError = (error: unknown) => fail(failureOf(error, stage(error)))
    const onTimeout = () => fail(timeout(stage(), o.timeoutMs))
    const succeed = () => {
      if (capabilities === undefined) return
      settle({ ok: true, session: createSession(connection, capabilities, redactor) })
    }

    signal.addEventListener('abort', onTimeout)
    if (signal.aborted) return onTimeout()
    connection.whenLost(onError)
    wire.connect((error) => {
      if (error !== undefined && error !== null) return onError(error)
      if (isSettled) return
      capabilities = capabilitiesOf(wire.lastServerResponse || '')
      if (o.auth === undefined) return succeed()
      if (!capabilities.hasAuth)
        return fail({
          stage: 'auth',
          systemCode: LOCAL_REFUSALS.noLoginOffered,
          message: 'The server offers no login (AUTH) on this connection',
        })
      if (o.auth.username === '' || o.auth.password === '')
        return fail({
          stage: 'auth',
          systemCode: LOCAL_REFUSALS.noCredentials,
          message: 'The server asks for a login and the mailer has no password',
        })
      wire.login({ user: o.auth.username, pass: o.auth.password }, (loginError) => {
        if (loginError !== null) onError(loginError)
        else succeed()
      })
    })
  })
}

/** Where a conversation that has not finished EHLO stands, by what was last heard. */
function stageOf({ wire }: SmtpConnection, error: unknown): SmtpStage {
  if (wire.upgrading === true) return 'starttls'
  const last = toReply(wire.lastServerResponse || undefined)
  if (last === undefined) return 'greeting'
  if (last.code === 250 && !wire.secure) return 'starttls'
  const isAboutLast = error !== undefined && failureOf(error, 'greeting').reply !== undefined
  return last.code >= 400 && isAboutLast ? 'greeting' : 'ehlo'
}

function isImplicitTls(o: OpenSessionOptions): boolean {
  return o.secure === 'SSL' || (o.secure === 'Auto' && o.port === 465)
}

function tlsOptions(o: OpenSessionOptions): { readonly rejectUnauthorized: boolean } {
  return { rejectUnauthorized: o.tlsVerify }
}

function timeout(stage: SmtpStage, timeoutMs: number): SmtpFailure {
  return {
    stage,
    systemCode: 'ETIMEDOUT',
    message: `Timeout: no session within ${Math.round(timeoutMs)} ms`,
  }
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}
