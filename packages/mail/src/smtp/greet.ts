/**
 * The beginning of a conversation: greeting, EHLO, STARTTLS and EHLO again, login.
 *
 * A server that refuses EHLO for good is greeted with HELO and offers nothing then (RFC 5321
 * §3.2). STARTTLS is taken where it is offered and does not fall back when it fails, since a peer
 * that breaks it may be one that wants to read the password; what was said before it counts no
 * more (RFC 3207 §4.2).
 */
import { type Capabilities, NO_CAPABILITIES, readCapabilities } from './capabilities.ts'
import { type Dialogue, DONE, type Input, isLost, STEP_TIMEOUTS_MS, say } from './dialogue.ts'
import { failureOfReply, type SmtpFailure, type SmtpStage } from './failure.ts'
import { login } from './login.ts'
import type { SmtpAuth } from './session.ts'

export interface GreetOptions {
  readonly ehloName: string
  readonly startTls: 'required' | 'offered' | 'never'
  readonly auth?: SmtpAuth | undefined
  readonly server: { readonly host: string; readonly port: number }
}

export type Greeted =
  | { readonly ok: true; readonly capabilities: Capabilities }
  | { readonly ok: false; readonly failure: SmtpFailure }

export function* greet(o: GreetOptions): Dialogue<Greeted> {
  const greeting = yield say('greeting')
  // Other protocols greet with numbers too.
  if (!isPositive(greeting, 220)) return refused('greeting', greeting)
  let greeted = yield* sayHello(o)
  if (!greeted.ok) return greeted
  const { hasStartTls } = greeted.capabilities
  if (o.startTls === 'required' || (o.startTls === 'offered' && hasStartTls)) {
    const answer = yield say('starttls', 'STARTTLS\r\n')
    if (!isPositive(answer)) return refused('starttls', answer)
    const timeoutMs = STEP_TIMEOUTS_MS.starttls
    const secured = yield { stage: 'starttls', until: 'secured', timeoutMs }
    if (secured !== DONE) return refused('starttls', secured)
    greeted = yield* sayHello(o)
    if (!greeted.ok) return greeted
  }
  if (o.auth === undefined) return greeted
  const { authMechanisms } = greeted.capabilities
  const end = yield* login(o.auth, authMechanisms, o.server)
  return end.ok ? greeted : end
}

function* sayHello({ ehloName, startTls }: GreetOptions): Dialogue<Greeted> {
  const extended = yield say('ehlo', `EHLO ${ehloName}\r\n`)
  if (extended !== DONE && !isLost(extended) && isPositive(extended))
    return { ok: true, capabilities: readCapabilities(extended.lines) }
  const mayFallBack = extended !== DONE && !isLost(extended) && extended.code >= 500
  if (!mayFallBack || startTls === 'required') return refused('ehlo', extended)
  const plain = yield say('ehlo', `HELO ${ehloName}\r\n`)
  return isPositive(plain) ? { ok: true, capabilities: NO_CAPABILITIES } : refused('ehlo', plain)
}

function isPositive(input: Input, code?: number): boolean {
  if (input === DONE || isLost(input)) return false
  return code === undefined ? input.code < 300 : input.code === code
}

function refused(stage: SmtpStage, input: Input): Greeted {
  if (input === DONE) throw new Error('only TLS is told to be done')
  return {
    ok: false,
    failure: isLost(input) ? { stage, ...input } : failureOfReply(stage, input),
  }
}
