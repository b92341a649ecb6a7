/**
 * A login, step by step, for a person: name lookup, connection, TLS with the server's certificate,
 * greeting, EHLO, AUTH. By the same code as a send; no secret is in what it answers.
 */
import type { TLSSocket } from 'node:tls'
import {
  type Classification,
  classifyFailure,
  type SmtpFailure,
  type SmtpReply,
  type SmtpSession,
  type SmtpStage,
} from '@postrider/mail'
import type { ConnectProgress } from '../../platform/egress/index.ts'
import { printable } from '../smtp/login-failure.ts'
import {
  type ConfigWithSecret,
  openMailerSession,
  type SessionDeps,
  type SessionTrace,
} from '../smtp/open-mailer-session.ts'

export type LoginStepName =
  /** Of a mailer that logs in by OAuth (try-smtp.ts). */
  | 'token'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  /** What the session was used for. */
  | 'message'

export interface LoginStep {
  readonly step: LoginStepName
  readonly ok: boolean
  /** One line. */
  readonly detail: string
  /** Since the step before. */
  readonly ms: number
}

export interface TracedLogin {
  readonly steps: readonly LoginStep[]
  /** Undefined when it logged in. */
  readonly failure?: Classification
  /** The same, as it came about. */
  readonly cause?: SmtpFailure
}

/** Uses a session that has logged in, and says what came of it. */
export type UseSession = (
  session: SmtpSession,
) => Promise<{ readonly ok: boolean; readonly detail: string }>

const TIMEOUT_MS = 30_000

export async function traceLogin(
  deps: SessionDeps,
  config: ConfigWithSecret,
  use?: UseSession,
): Promise<TracedLogin> {
  const steps: LoginStep[] = []
  let beganMs = performance.now()
  const add = (step: LoginStepName, ok: boolean, detail: string) => {
    const nowMs = performance.now()
    steps.push({ step, ok, detail: printable(detail), ms: Math.round(nowMs - beganMs) })
    beganMs = nowMs
  }
  let mechanism = 'AUTH'
  const trace: SessionTrace = {
    onProgress: (progress) => add(progress.step, true, describeProgress(progress, config)),
    onSecured: (socket) => add('tls', true, describeTls(socket, config)),
    onReply(stage, reply, asked) {
      if (stage === 'auth') mechanism = asked ?? mechanism
      const isQuestion = reply.code === 334
      if (!isQuestion && isStep(stage))
        add(stage, reply.code < 400, describeReply(stage, reply, mechanism))
    },
  }
  const opened = await openMailerSession(deps, config, { timeoutMs: TIMEOUT_MS, trace })
  if (opened.ok) {
    const used = await use?.(opened.session)
    if (used !== undefined) add('message', used.ok, used.detail)
    opened.session.close()
    return { steps }
  }
  const { failure } = opened
  if (failure.reply === undefined || steps.at(-1)?.ok !== false)
    add(stepOf(failure, steps), false, describeFailure(failure))
  return { steps, failure: classifyFailure(failure), cause: failure }
}

function isStep(stage: SmtpStage): stage is 'greeting' | 'ehlo' | 'starttls' | 'auth' {
  return stage === 'greeting' || stage === 'ehlo' || stage === 'starttls' || stage === 'auth'
}

function describeProgress(progress: ConnectProgress, { host, port }: ConfigWithSecret): string {
  if (progress.step === 'connect') return `${progress.address} port ${port}`
  const { addresses, isPartlyRefused } = progress
  const refused = isPartlyRefused ? ' (others are not allowed: POSTRIDER_ALLOW_NETWORKS)' : ''
  return `${host}: ${addresses.join(', ')}${refused}`
}

function describeTls(socket: TLSSocket, { tlsVerify }: ConfigWithSecret): string {
  const { subject, issuer, valid_to: validTo } = socket.getPeerCertificate()
  const names = `${nameOf(subject)}, issued by ${nameOf(issuer)}, valid until ${validTo}`
  const verified = tlsVerify ? 'verified' : 'NOT verified (tls_verify is false)'
  return `${socket.getProtocol() ?? 'TLS'}, certificate of ${names}, ${verified}`
}

/** A peer may name itself twice, or not at all. */
function nameOf(
  name: { readonly CN?: string | string[]; readonly O?: string | string[] } | undefined,
) {
  return [name?.CN ?? name?.O ?? 'nobody'].flat().join(', ')
}

function describeReply(
  stage: 'greeting' | 'ehlo' | 'starttls' | 'auth',
  { code, text }: SmtpReply,
  mechanism: string,
): string {
  if (stage === 'auth') return `${mechanism}: ${text}`
  if (stage !== 'ehlo' || code >= 300) return text
  const [, ...extensions] = text.split(/ (?=250[ -])/).map((line) => line.slice(4).trim())
  return extensions.length === 0 ? 'offers no extensions' : extensions.join(', ')
}

/** What was not reached is not what failed. */
function stepOf({ stage }: SmtpFailure, steps: readonly LoginStep[]): LoginStepName {
  if (isStep(stage)) {
    const isSecuring = stage === 'starttls' && steps.at(-1)?.step === 'starttls'
    return isSecuring ? 'tls' : stage
  }
  const reached = new Set(steps.map(({ step }) => step))
  return reached.has('connect') ? 'tls' : reached.has('dns') ? 'connect' : 'dns'
}

function describeFailure({ reply, message, systemCode }: SmtpFailure): string {
  const said = reply?.text ?? message ?? 'failed'
  return systemCode === undefined || said.includes(systemCode) ? said : `${said} (${systemCode})`
}
