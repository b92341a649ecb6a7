/** What became of each accepted recipient: invariants 1 to 4 and the truth of event_at. */
import {
  type Copy,
  type DeliveredEvent,
  type Model,
  recipientKey,
  type Seen,
  type Send,
} from './model.ts'
import type { Rule, Violation } from './report.ts'

type Blame = (rule: Rule, detail: string) => void

const NOTHING_SEEN: Seen = { copies: [], refusals: [], cutShort: 0, namedAt: [] }
/** Processes of one machine read one clock, but not all in the same way. */
const CLOCK_SLACK_MS = 50
const INTERRUPTIONS_MAX = 3
const UNCERTAIN = /may have been delivered/i
/** Interrupting one of these can cut off an attempt between the reply and its record. */
const ATTEMPT_CUTTERS = ['sender', 'database']

export function checkRecipients(model: Model): Violation[] {
  const violations: Violation[] = []
  const blame: Blame = (rule, detail) => violations.push({ rule, detail })
  checkAnswers(model, blame)
  checkMessageIds(model, blame)
  const kills = model.cuts.filter((cut) => ATTEMPT_CUTTERS.includes(cut.process)).length
  for (const send of model.sends) {
    for (const refId of send.refIds) {
      for (const address of send.recipients) {
        const name = `${send.key} ${refId} ${address}`
        const events = model.eventsOf.get(recipientKey(refId, address)) ?? []
        const seen = model.seen.get(address.toLowerCase()) ?? NOTHING_SEEN
        const say: Blame = (rule, detail) => blame(rule, `${name}: ${detail}`)
        checkEnd(events, say)
        checkCopies(events, seen, say)
        checkAttempts(send, events, kills, say)
        checkErrorsAgainstReplies(events, seen, kills, say)
        checkTimes(send, events, seen, say)
      }
    }
  }
  return violations
}

function checkAnswers(model: Model, blame: Blame): void {
  const keyOfRef = new Map<string, string>()
  for (const send of model.sends) {
    if (send.refIds.size > 1) blame('I1.split', `${send.key}: ${[...send.refIds].join(', ')}`)
    for (const refId of send.refIds) {
      const other = keyOfRef.get(refId)
      if (other !== undefined) blame('I1.split', `${refId}: ${other} and ${send.key}`)
      keyOfRef.set(refId, send.key)
    }
    for (const { status, answer } of send.answers) {
      const code = (answer as { code?: string } | null)?.code
      const isPatience = status === 503 || status === 429 || code === 'idempotency_in_progress'
      if (status !== 202 && !isPatience) blame('I1.refused', `${send.key}: ${status} ${code}`)
    }
  }
}

function checkMessageIds(model: Model, blame: Blame): void {
  const owner = new Map<string, string>()
  for (const [address, { copies }] of model.seen) {
    for (const messageId of new Set(copies.map((copy) => copy.messageId))) {
      const other = owner.get(messageId)
      if (other !== undefined) blame('I2.message-id', `${messageId}: ${other} and ${address}`)
      owner.set(messageId, address)
    }
    const ids = new Set(copies.map((copy) => copy.messageId))
    if (ids.size > 1) blame('I2.message-id', `${address}: ${[...ids].join(', ')}`)
  }
}

function isTerminal(event: DeliveredEvent): boolean {
  return event.event === 'MAIL_DELIVERED' || event.details.retry_scheduled === false
}

function isUncertain(event: DeliveredEvent): boolean {
  return event.event === 'SMTP_ERROR' && UNCERTAIN.test(String(event.details.failed_reason))
}

/** A recipient within whose attempts processes died again and again is given up, and says so. */
function isPoison(event: DeliveredEvent, kills: number): boolean {
  return kills >= INTERRUPTIONS_MAX && event.details.failed_reason === 'Internal error'
}

function checkEnd(events: readonly DeliveredEvent[], say: Blame): void {
  const terminal = events.filter(isTerminal)
  if (terminal.length === 0) say('I1.lost', `${events.length} events, none terminal`)
  if (terminal.length > 1) say('I1.ended-twice', terminal.map((event) => event.dedupKey).join('; '))
}

function checkCopies(events: readonly DeliveredEvent[], seen: Seen, say: Blame): void {
  const possible = seen.copies.filter((copy) => copy.accepted || copy.reply === null)
  const uncertain = events.filter(isUncertain).length
  if (possible.length > 1 + uncertain) {
    say('I2.copies', `${possible.length} copies, ${uncertain} uncertain attempts`)
  }
  for (const event of events.filter((one) => one.event === 'MAIL_DELIVERED')) {
    const fits = (copy: Copy): boolean =>
      copy.accepted && copy.messageId === event.details.message_id
    if (!seen.copies.some(fits)) say('I3.delivered-unseen', String(event.details.message_id))
  }
  const isToldFailed = events.some(
    (event) => event.event === 'SMTP_ERROR' && event.details.retry_scheduled === false,
  )
  const wasTaken = seen.copies.some((copy) => copy.accepted)
  if (isToldFailed && wasTaken && uncertain === 0)
    say('I3.delivered-denied', 'no uncertain attempt')
}

function checkAttempts(
  send: Send,
  events: readonly DeliveredEvent[],
  kills: number,
  say: Blame,
): void {
  const errors = events.filter((event) => event.event === 'SMTP_ERROR')
  const numbers = errors.map((event) => event.details.attempt)
  if (numbers.some((attempt, i) => attempt !== i + 1)) say('I4.attempts', numbers.join(', '))
  const budget = send.request.settings.max_attempts
  const isDelivered = events.at(-1)?.event === 'MAIL_DELIVERED'
  errors.forEach((event, i) => {
    const { attempt, max_attempts, retry_scheduled, provider_error = '' } = event.details
    const told = `attempt ${attempt} of ${max_attempts}, ${retry_scheduled}, "${provider_error}"`
    if (max_attempts !== budget) say('I4.budget', `${told}; asked for ${budget}`)
    const isFollowed = i < errors.length - 1 || isDelivered
    const isPermanent = /^5/.test(String(provider_error))
    const isExpected = !isPermanent && !isPoison(event, kills) && Number(attempt) < budget
    if (retry_scheduled !== isExpected) say('I4.retry', `${told}: not what the reply calls for`)
    if (retry_scheduled === false && isFollowed) say('I4.retry', `${told}: but more followed`)
  })
}

function checkErrorsAgainstReplies(
  events: readonly DeliveredEvent[],
  seen: Seen,
  kills: number,
  say: Blame,
): void {
  const told = events.flatMap((event) =>
    /^[45]/.test(String(event.details.provider_error ?? '')) && !isUncertain(event)
      ? [String(event.details.provider_error)]
      : [],
  )
  for (const reply of new Set(told)) {
    const given = seen.refusals.filter((one) => one === reply).length
    const events = told.filter((one) => one === reply).length
    if (events > given) say('I4.invented', `"${reply}" told ${events} times, given ${given} times`)
  }
  if (seen.refusals.length - told.length > kills) {
    say('I4.swallowed', `${seen.refusals.length} refusals, ${told.length} told, ${kills} kills`)
  }
  const unanswered =
    seen.cutShort + seen.copies.filter((copy) => copy.reply === null || !copy.replyFlushed).length
  const uncertain = events.filter(isUncertain).length
  if (uncertain > unanswered + kills) {
    say('I4.doubt', `${uncertain} uncertain, ${unanswered} unanswered dots, ${kills} kills`)
  }
}

/** Every failure happened before the next try began, and nothing before it was asked for. */
function checkTimes(send: Send, events: readonly DeliveredEvent[], seen: Seen, say: Blame): void {
  const firstTakenAt = Math.min(...seen.copies.map((copy) => copy.at))
  const lastNamedAt = Math.max(...seen.namedAt)
  for (const event of events) {
    const at = Date.parse(String(event.details.event_at))
    const told = `${event.event} at ${event.details.event_at}`
    if (at < send.invokedAt - CLOCK_SLACK_MS) say('I5.stamped-late', `${told}: before the send`)
    // What was decided at the SMTP server had to be tried there, after this failure.
    const wasTriedAgain = events.some(
      (other) =>
        other.event === 'MAIL_DELIVERED' ||
        (Number(other.details.attempt) > Number(event.details.attempt) &&
          /^[45]/.test(String(other.details.provider_error))),
    )
    if (event.event === 'SMTP_ERROR' && wasTriedAgain && at > lastNamedAt + CLOCK_SLACK_MS) {
      say('I5.stamped-late', `${told}: after the last try began`)
    }
    if (event.event === 'MAIL_DELIVERED' && at < firstTakenAt - CLOCK_SLACK_MS) {
      if (seen.copies.length > 0) say('I5.stamped-late', `${told}: before it was taken`)
    }
  }
}
