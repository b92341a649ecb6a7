/**
 * Runs one claimed attempt up to its ending, without writing it: what was claimed → message →
 * conversation → result → what follows.
 */
import { composeMessage, failedReasonOf } from '@postrider/mail'
import { isDomainMailer, type MailerForSend } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { PhishingCheck } from '../phishing/check-phishing.ts'
import { domainOf } from '../record/email.ts'
import {
  deliveredEvent,
  type EventSubject,
  phishingEvent,
  smtpErrorEvent,
} from '../results/attempt-events.ts'
import { decideNextStep, type NextStep } from '../results/decide-next-step.ts'
import type { Ending, FailedFinish } from '../results/ending.ts'
import type {
  AttemptFailed,
  AttemptResult,
  Claim,
  LoadedAttempt,
  Stopped,
  Undo,
} from './attempt.ts'
import { type ConverseDeps, converse, wireOf } from './converse.ts'
import { type ConverseRelayDeps, converseRelay } from './converse-relay.ts'
import type { BrokenEmail, ReadyEmail } from './prepare-email.ts'

export interface RunAttemptDeps extends ConverseDeps, ConverseRelayDeps {
  readonly clock: Clock
  readonly phishing: PhishingCheck
  readonly retryScheduleMs: readonly number[]
  /** In [0, 1). */
  readonly random?: () => number
}

/** A process that ends again and again within one recipient's attempt is ended by it. */
const INTERRUPTIONS_MAX = 3
const UNDO_WAIT_MS = 1_000
/** For what is claimed whatever its queue does. */
const INACTIVE_WAIT_MS = 60_000

/** Undefined when the claim was lost on the way: another has the row, nothing is to be written. */
export async function runAttempt(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
): Promise<Ending | undefined> {
  const { claim } = loaded
  const result = await attempt(deps, loaded)
  if (result === 'lost') return undefined
  if (result.kind === 'undone') return { kind: 'undone', claim, undo: result }
  if (result.kind === 'stopped' && result.status === 'suppressed')
    return { kind: 'stopped', claim, status: result.status, failedReason: '' }
  const { traceparent } = loaded
  if (result.kind === 'sent')
    return { kind: 'finished', claim, result, traceparent, messageId: result.messageId }
  const subject: EventSubject = {
    ...loaded,
    // A provider has an id of its own for what it has taken, and for nothing else.
    messageId: isDomainMailer(claim.mailerId) ? '' : loaded.messageId,
    atMicros: deps.clock.nowMicros(),
  }
  if (result.kind === 'stopped')
    return { ...result, claim, event: phishingEvent(subject, result.failedReason) }
  if (result.kind === 'accepted') {
    const event = deliveredEvent(subject)
    const { messageId, isMessageIdStored } = loaded
    const finish = {
      kind: 'finished',
      claim,
      result,
      event,
      traceparent,
      ...(isFetched(loaded) ? { sentCopyId: messageId } : {}),
    } as const
    return isMessageIdStored ? finish : { ...finish, messageId }
  }
  const finish = failed(deps, loaded, subject, result)
  const { rejectedLogin } = result
  if (rejectedLogin === undefined) return finish
  const { providerError } = result
  const doubted = { ...failure('auth_temporary'), retryable: true, providerError }
  return {
    ...finish,
    rejection: { ...rejectedLogin, ifDoubted: failed(deps, loaded, subject, doubted) },
  }
}

function isFetched({ mailer }: LoadedAttempt): boolean {
  return typeof mailer === 'object' && mailer.kind === 'smtp' && mailer.isFetched
}

function failed(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
  subject: EventSubject,
  result: AttemptFailed,
): FailedFinish {
  const next = nextStep(deps, loaded, result)
  const event = smtpErrorEvent(subject, result, next.kind === 'retry')
  const { claim, traceparent } = loaded
  const finish = { kind: 'finished', claim, result, next, event, traceparent } as const
  return result.isBeforeMessage && claim.attempt === 1 ? { ...finish, messageId: '' } : finish
}

async function attempt(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
): Promise<AttemptResult | Stopped | Undo | 'lost'> {
  const { claim, mailer } = loaded
  // An earlier claim ran out after the commit point: its outcome is this attempt's.
  if (claim.was === 'dot') return { ...failure('uncertain'), retryable: true, isUncertain: true }
  const suppressed = await isSuppressed(loaded)
  if (suppressed !== false) return suppressed
  if (claim.isExpired) return { ...failure('expired'), isBeforeMessage: claim.attempt === 1 }
  if (claim.interrupted >= INTERRUPTIONS_MAX) return failure('internal')
  if (mailer === 'held') return heldBack(claim)
  if (mailer === 'gone') return withoutMailer(`mailer ${claim.mailerId} not found`)
  // A key that is missing from the configuration can be put back.
  if (mailer === 'unreadable')
    return {
      ...withoutMailer(`${secretOf(claim)} of mailer ${claim.mailerId} cannot be opened`),
      retryable: true,
    }
  if (mailer.state !== 'active') return heldBack(claim)
  return send(deps, loaded, mailer)
}

async function isSuppressed(loaded: LoadedAttempt): Promise<false | Stopped | Undo> {
  try {
    return (await loaded.isSuppressed()) && { kind: 'stopped', status: 'suppressed' }
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return undo(UNDO_WAIT_MS)
    throw error
  }
}

async function send(
  deps: RunAttemptDeps,
  loaded: LoadedAttempt,
  mailer: MailerForSend,
): Promise<AttemptResult | Stopped | Undo | 'lost'> {
  const { claim } = loaded
  let conversation: () => Promise<AttemptResult | 'lost' | 'undone'>
  try {
    const email = await loaded.prepare()
    if ('templateProblem' in email) return brokenTemplate(email)
    const verdict = await deps.phishing.check(claim, email.toScan)
    if (verdict.kind === 'unknown') return undo(UNDO_WAIT_MS)
    if (verdict.kind === 'flagged')
      return { kind: 'stopped', status: 'blocked', failedReason: verdict.failedReason }
    if (mailer.kind === 'relay') {
      const { from, mailOf } = readyFor('relay', email)
      const { domain = domainOf(from) } = mailer
      if (domainOf(from) !== domain) return notOfDomain(from, domain)
      const mail = mailOf(claim.n, wireOf(loaded.email))
      conversation = () => converseRelay(deps, { claim, mailer, mail })
    } else {
      const { message: prepared, ownOf, showsUtf8Address } = readyFor('smtp', email)
      const message = await composeMessage(prepared, loaded.messageId, ownOf?.(claim.n))
      const mail = { to: loaded.email, message, showsUtf8Address }
      conversation = () => converse(deps, { claim, mailer, ...mail })
    }
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return undo(UNDO_WAIT_MS)
    deps.log.error({ err: error, ref_id: claim.refId, n: claim.n }, 'message.build_failed')
    return { ...failure('internal'), isBeforeMessage: true }
  }
  const result = await conversation()
  return result === 'undone' ? undo(deps.conversations.isCut ? 0 : UNDO_WAIT_MS) : result
}

/** Of which kind a mailer is, its id says: it is made ready for what it is sent by. */
function readyFor<K extends ReadyEmail['kind']>(kind: K, email: ReadyEmail) {
  if (email.kind !== kind) throw new Error(`an email is ready for ${email.kind}, not for ${kind}`)
  return email as Extract<ReadyEmail, { readonly kind: K }>
}

/** As by a rescue: at acceptance such a mailer is not found. */
function notOfDomain(from: string, domain: string): AttemptFailed {
  const providerError = `${from} is not an address of ${domain}`
  return { ...failure('sender_not_allowed'), providerError, isBeforeMessage: true }
}

function failure(
  category:
    | 'uncertain'
    | 'expired'
    | 'internal'
    | 'mailer_config'
    | 'template'
    | 'auth_temporary'
    | 'sender_not_allowed',
): AttemptFailed {
  return {
    kind: 'failed',
    category,
    retryable: false,
    isUncertain: false,
    failedReason: failedReasonOf(category),
    providerError: '',
    isBeforeMessage: false,
  }
}

function secretOf({ mailerId }: Claim): string {
  return isDomainMailer(mailerId) ? 'key' : 'password'
}

function withoutMailer(providerError: string): AttemptFailed {
  return { ...failure('mailer_config'), providerError, isBeforeMessage: true }
}

function brokenTemplate({ templateProblem }: BrokenEmail): AttemptFailed {
  return { ...failure('template'), providerError: templateProblem, isBeforeMessage: true }
}

/** It stays due, and its queue pauses until its mailer and its tenant are active again. */
function heldBack({ interrupted }: Claim): Undo {
  return undo(interrupted > 0 ? INACTIVE_WAIT_MS : 0)
}

function undo(waitMs: number): Undo {
  return { kind: 'undone', waitMs }
}

function nextStep(
  deps: RunAttemptDeps,
  { claim, mailer }: LoadedAttempt,
  failed: AttemptFailed,
): NextStep {
  const isRefusedByPolicy =
    failed.isUncertain && typeof mailer === 'object' && mailer.uncertain === 'at_most_once'
  return decideNextStep(
    { ...failed, ...claim, retryable: failed.retryable && !isRefusedByPolicy },
    deps.retryScheduleMs,
    (deps.random ?? Math.random)(),
  )
}
