/**
 * Opens an SMTP session: socket, TLS, greeting, EHLO, login, all before one absolute deadline.
 *
 * `SSL`, and `Auto` on port 465, ask `connect` for a socket with TLS done. `Tls` requires STARTTLS;
 * `Auto` takes it where it is offered. A server that offers no AUTH to a mailer with a login is not
 * used at all: the offer may have been stripped on the way.
 */
import type { Socket } from 'node:net'
import { withTimeout } from '@postrider/runtime/timeout'
import { createSession } from './create-session.ts'
import type { Dialogue, Input } from './dialogue.ts'
import { failureOfConnect, type SmtpFailure, toSmtpReply } from './failure.ts'
import { type Greeted, type GreetOptions, greet } from './greet.ts'
import { createLoginRedactor, type LoginRedactor } from './redact-login.ts'
import type { OpenSessionOptions, OpenSessionResult, SmtpConnectOptions } from './session.ts'
import { createWire } from './wire.ts'

const EHLO_NAME =
  /^(?=.{1,255}$)(?:[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*|\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[\da-f:.]+)\])$/i

export async function openSmtpSession(o: OpenSessionOptions): Promise<OpenSessionResult> {
  if (!EHLO_NAME.test(o.ehloName)) throw new TypeError(`not an EHLO name: ${o.ehloName}`)
  const deadlineAt = performance.now() + o.timeoutMs
  const opened = await openSocket(o)
  if ('failure' in opened) return { ok: false, failure: opened.failure }
  const redactor = createLoginRedactor(o.auth, o)
  const wire = createWire(opened.socket)
  const greeted = await wire.run(listened(greet(greetOptions(o)), o, redactor), {
    deadlineAt,
    timeoutMessage: timeoutMessage(o),
    tls: { host: o.host, ...tlsOptions(o), secure: o.secureSocket, onSecured: o.onSecured },
  })
  if (greeted.ok) {
    const session = createSession(wire, greeted.capabilities, redactor)
    return { ok: true, session }
  }
  wire.destroy()
  return { ok: false, failure: redactor.failure(greeted.failure) }
}

async function openSocket(
  o: OpenSessionOptions,
): Promise<{ readonly socket: Socket } | { readonly failure: SmtpFailure }> {
  const deadline = new AbortController()
  const request: SmtpConnectOptions = { timeoutMs: o.timeoutMs, signal: deadline.signal }
  const late = () => {
    deadline.abort()
    return undefined
  }
  const connecting = o.connect(isImplicitTls(o) ? { ...request, tls: tlsOptions(o) } : request)
  try {
    const socket = await withTimeout(connecting, o.timeoutMs, late)
    if (socket !== undefined) return { socket }
    connecting.then(
      (late) => late.destroy(),
      () => undefined,
    )
    const message = timeoutMessage(o)
    return { failure: { stage: 'connect', systemCode: 'ETIMEDOUT', message } }
  } catch (error) {
    return { failure: failureOfConnect(error) }
  }
}

function greetOptions(o: OpenSessionOptions): GreetOptions {
  const { ehloName, auth, host, port } = o
  const plain = o.secure === 'Tls' ? 'required' : o.secure === 'Auto' ? 'offered' : 'never'
  return {
    ehloName,
    auth,
    server: { host, port },
    startTls: isImplicitTls(o) ? 'never' : plain,
  }
}

/** The same dialogue, with a callback for each reply. */
function* listened(
  dialogue: Dialogue<Greeted>,
  { onReply }: OpenSessionOptions,
  redactor: LoginRedactor,
): Dialogue<Greeted> {
  if (onReply === undefined) return yield* dialogue
  let turn = dialogue.next()
  while (turn.done !== true) {
    const { stage, write } = turn.value
    const input: Input = yield turn.value
    if (typeof input === 'object' && 'code' in input)
      onReply(stage, redactor.reply(toSmtpReply(input)), verbOf(write))
    turn = dialogue.next(input)
  }
  return turn.value
}

/** Of an AUTH line the mechanism alone; what answers a challenge is no command. */
function verbOf(line = ''): string | undefined {
  return /^(?:AUTH \S+|EHLO|HELO|STARTTLS)(?=\s)/.exec(line)?.[0]
}

function isImplicitTls(o: OpenSessionOptions): boolean {
  return o.secure === 'SSL' || (o.secure === 'Auto' && o.port === 465)
}

function tlsOptions(o: OpenSessionOptions): { readonly rejectUnauthorized: boolean } {
  return { rejectUnauthorized: o.tlsVerify }
}

function timeoutMessage({ timeoutMs }: OpenSessionOptions): string {
  return `Timeout: no session within ${Math.round(timeoutMs)} ms`
}
