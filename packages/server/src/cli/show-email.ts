/** An email as text for the operator: status, attempts, why it failed, and what to do next. */
import type { Classified, TracedAttempt, TracedEmail, TracedRecipient } from '@postrider/contract'
import { concernsMailer } from '@postrider/mail'
import { type Mailer, printable, serverOf } from '../mailers/index.ts'
import { describeDuration } from '../platform/values/duration.ts'
import { table } from './output.ts'

export interface ShownEmail {
  readonly tenantId: string
  readonly email: TracedEmail
  /** Undefined when it was deleted. */
  readonly mailer: Mailer | undefined
  readonly isTenantSuspended: boolean
  /** Of the recipients who bounced, the addresses that get no mail any more. */
  readonly suppressed: ReadonlySet<string>
  readonly nowMs: number
}

/** The rest is in the JSON. */
const RECIPIENTS_MAX = 5
const ATTEMPTS_MAX = 8

export function emailText(shown: ShownEmail): string {
  const { email, mailer, tenantId } = shown
  const server = mailer === undefined ? 'deleted' : `${serverOf(mailer)}, ${mailer.state}`
  const heading = table([
    ['email', email.ref_id],
    ['tenant', tenantId],
    ['accepted', time(email.created_at)],
    ['from', printable(email.from)],
    ['subject', printable(email.subject)],
    ['mailer', `${email.mailer_id} (${printable(server)})`],
  ])
  const recipients = email.recipients.toSorted((a, b) => Number(isFine(a)) - Number(isFine(b)))
  const parts = recipients.slice(0, RECIPIENTS_MAX).map((one) => recipientText(shown, one))
  const left = recipients.length - parts.length
  return [
    heading,
    ...parts,
    ...(left > 0 ? [`And ${left} more recipients: --json shows all.`] : []),
    eventsText(email),
  ].join('\n\n')
}

function isFine({ status }: TracedRecipient): boolean {
  return status === 'delivered' || status === 'sent'
}

function recipientText(shown: ShownEmail, recipient: TracedRecipient): string {
  const { attempts } = recipient
  const lines = attempts.slice(-ATTEMPTS_MAX).map((one) => attemptLine(shown, one))
  const next = nextAttempt(recipient)
  return [
    `${printable(recipient.email)} (${recipient.type}): ${recipient.status}`,
    ...(lines.length === 0 ? ['  no attempt yet'] : [indented(table(lines))]),
    ...recipient.feedback
      .slice(-ATTEMPTS_MAX)
      .map(
        (f) =>
          `  reported ${time(f.at)}  ${f.meaning}  ${[printable(f.reason), ...basis(f.classified)].join(' | ')}`,
      ),
    ...(next === undefined ? [] : [`  next attempt at ${time(next)}${fromNow(next, shown.nowMs)}`]),
    `  What to do: ${adviceFor(shown, recipient)}`,
  ].join('\n')
}

function attemptLine({ mailer }: ShownEmail, a: TracedAttempt): string[] {
  const host = mailer === undefined ? '-' : printable(serverOf(mailer))
  const words = [a.failed_reason, a.provider_error].filter(
    (text, i, all) => text !== '' && all.indexOf(text) === i,
  )
  return [
    `attempt ${a.attempt} of ${a.max_attempts}`,
    time(a.started_at),
    host,
    a.outcome,
    [...words.map(printable), ...basis(a.classified)].join(' | '),
  ]
}

/** The sentence of the category is there already. */
function basis(classified: Classified | null): string[] {
  if (classified === null) return []
  const { category, by, evidence } = classified
  const shown = evidence === '' ? '' : `: ${printable(evidence)}`
  return [`${category}, by ${by.replace('_', ' ')}${shown}`]
}

function nextAttempt({ status, attempts }: TracedRecipient): string | undefined {
  return status === 'deferred' ? (attempts.at(-1)?.next_attempt_at ?? undefined) : undefined
}

function eventsText({ events, deliveries }: TracedEmail): string {
  const counted = Map.groupBy(deliveries, ({ webhook_id: id, status }) => `${id} ${status}`)
  return table([
    ['events', events.length === 0 ? 'none' : ''],
    ...events.slice(-ATTEMPTS_MAX).map(({ event, event_at: at }) => [`  ${event}`, time(at)]),
    ['webhook deliveries', deliveries.length === 0 ? 'none' : ''],
    ...[...counted].map(([key, ones]) => {
      const [id = '', status = ''] = key.split(' ')
      return [`  ${id}`, `${status}: ${ones.length}`]
    }),
  ])
}

function adviceFor(shown: ShownEmail, recipient: TracedRecipient): string {
  const { mailer } = shown
  const { status, email: to, attempts } = recipient
  const test = testOf(shown)
  const lift = `DELETE /v1/suppressions/${encodeURIComponent(to)} lets it be sent to again`
  switch (status) {
    case 'delivered':
      return 'nothing: the mail server has taken it.'
    case 'sent':
      return 'nothing: the relay provider has taken it, and reports what becomes of it.'
    case 'scheduled':
      return 'nothing: it is sent at its send_at.'
    case 'queued':
    case 'sending':
      return `nothing yet. Where it stays so: postrider doctor, ${test}`
    case 'deferred':
      return `nothing: it is tried again. Whether the server answers: ${test}`
    case 'held':
      if (shown.isTenantSuspended)
        return `its tenant is suspended: postrider tenant activate ${shown.tenantId} lets the mail go out.`
      return mailer === undefined
        ? 'its mailer is gone: the next attempt fails.'
        : `its mailer is ${mailer.state}: give it a login that works, or make it active; the mail then goes out.`
    case 'suppressed':
      return `it is not sent to: ${lift}.`
    case 'blocked':
      return 'phishing protection stopped it: docs/operations/phishing.md.'
    case 'bounced':
      return shown.suppressed.has(to)
        ? `the address is suppressed now and gets no more mail. Where the words above are wrong about it: ${lift}.`
        : 'nothing: the words above say why. The address is not suppressed: the next mail to it is tried.'
    case 'rejected':
      return recipient.cancelled === true
        ? 'nothing: it was cancelled (cancelEmails or cancelScheduledEmail). The audit log says by whom, if a person or the operator did it.'
        : 'nothing: the relay provider refused it, in the words above.'
    case 'failed':
    case 'expired':
      return adviceForFailed(shown, attempts.at(-1))
    default:
      return status satisfies never
  }
}

/** By what has to be fixed: the mailer, the address, or what the receiving server has against the mail. */
function adviceForFailed(shown: ShownEmail, last: TracedAttempt | undefined): string {
  const rescue = `POST /v1/email/rescue {"ref_ids": ["${shown.email.ref_id}"]} sends it again`
  const category = last?.classified?.category
  switch (category) {
    case 'invalid_recipient':
    case 'invalid_recipient_domain':
    case 'mailbox_disabled':
      return 'correct the address: it does not exist there or takes no mail, and sending to it again fails again. It is not suppressed: a refusal while sending suppresses nobody.'
    case 'mailbox_full':
    case 'recipient_rate_limited':
      return `wait until the recipient takes mail again, then ${rescue}.`
    case undefined:
      return `fix what the words above name (${testOf(shown)}), then ${rescue}.`
    default:
      return concernsMailer(category, last?.provider_error ?? '')
        ? `fix what the words above name (${testOf(shown)}), then ${rescue}.`
        : `the words above are those of the server that refused it: change what they name, or ask whoever runs that server, then ${rescue}.`
  }
}

function testOf({ email }: ShownEmail): string {
  return `postrider mailer test ${email.mailer_id}`
}

function time(at: string): string {
  return `${at.slice(0, 19)}Z`
}

function fromNow(at: string, nowMs: number): string {
  const ms = Date.parse(at) - nowMs
  return ms > 0 ? ` (in ${describeDuration(ms)})` : ' (due)'
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}
