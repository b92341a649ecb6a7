/** The webhook requests themselves: invariants 5 and 6, and the published shapes. */
import { isDeepStrictEqual } from 'node:util'
import { checkEventShape } from './check-event-shape.ts'
import type { DeliveredEvent, Model, Request, Send } from './model.ts'
import type { Rule, Violation } from './report.ts'

type Blame = (rule: Rule, detail: string) => void

/** Interrupting one of these can cut off a delivery between the answer and its record. */
const DELIVERY_CUTTERS = ['dispatcher', 'database']

export function checkRequests(model: Model): Violation[] {
  const violations: Violation[] = []
  const blame: Blame = (rule, detail) => violations.push({ rule, detail })
  const sendOfRef = new Map(
    model.sends.flatMap((send) => [...send.refIds].map((refId): [string, Send] => [refId, send])),
  )
  for (const request of model.requests) {
    const say: Blame = (rule, detail) => blame(rule, `request ${request.request}: ${detail}`)
    checkEnvelope(request, say)
    if (request.events === undefined) continue
    checkOrder(request.events, say)
    checkTraceparent(request, sendOfRef, say)
    for (const event of request.events) {
      for (const fault of checkEventShape(event)) say('I6.shape', `${event.dedupKey}: ${fault}`)
      checkOrigin(event, sendOfRef, say)
    }
  }
  checkKeys(model, blame)
  checkAcknowledged(model, blame)
  checkRepetitions(model, blame)
  return violations
}

function checkEnvelope(request: Request, say: Blame): void {
  const { log, tenant } = request
  if (tenant === undefined) {
    say('I6.webhook', `nobody registered ${log.path}`)
    return
  }
  if (log.method !== 'POST') say('I6.webhook', `method ${log.method}`)
  const header = (name: string): string | undefined =>
    log.headers.find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1]
  for (const [name, value] of Object.entries(tenant.headers)) {
    if (header(name) !== value) say('I6.webhook', `header ${name}: ${header(name)}`)
  }
  if (!/^application\/json(;|$)/.test(header('content-type') ?? '')) {
    say('I6.webhook', `content-type ${header('content-type')}`)
  }
  if (request.events === undefined || request.events.length === 0) {
    say('I6.shape', `not an array of events: ${log.body.slice(0, 200)}`)
  }
}

function checkOrder(events: readonly DeliveredEvent[], say: Blame): void {
  const times = events.map((event) => String(event.details.event_at))
  const at = times.findIndex((time, i) => i > 0 && time < (times[i - 1] ?? ''))
  if (at > 0) say('I6.sorted', `${times[at - 1]} stands before ${times[at]}`)
}

function checkTraceparent(request: Request, sendOfRef: Map<string, Send>, say: Blame): void {
  const given = request.log.headers.find(([name]) => name.toLowerCase() === 'traceparent')?.[1]
  const parsed = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(given ?? '')
  if (parsed === null || /^0+$/.test(parsed[2] ?? '')) {
    say('I6.traceparent', `malformed: ${given}`)
    return
  }
  const events = request.events ?? []
  const oldest = events.filter((one) => one.details.event_at === events[0]?.details.event_at)
  const sends = oldest.flatMap((event) => sendOfRef.get(String(event.details.ref_id)) ?? [])
  if (sends.length > 0 && sends.every((send) => send.traceId !== parsed[1])) {
    say('I6.traceparent', `${parsed[1]} is not the trace of ${sends.map((send) => send.key)}`)
  }
}

/** An event is of an accepted email, of one of its recipients, and goes to the one who sent it. */
function checkOrigin(event: DeliveredEvent, sendOfRef: Map<string, Send>, say: Blame): void {
  const { details, tenant } = event
  if (event.event !== 'MAIL_DELIVERED' && event.event !== 'SMTP_ERROR') {
    say('I5.invented', `a ${event.event}`)
  }
  if (details.webhook_id !== tenant.webhookId) say('I6.webhook', `id ${details.webhook_id}`)
  const send = sendOfRef.get(String(details.ref_id))
  if (send === undefined || send.tenant !== tenant.tenant) {
    say('I5.invented', `${event.dedupKey}: not an accepted email of ${tenant.tenant}`)
    return
  }
  const addresses = Array.isArray(details.email) ? details.email : []
  for (const address of addresses) {
    const isKnown = send.recipients.some(
      (one) => one.toLowerCase() === String(address).toLowerCase(),
    )
    if (!isKnown) say('I5.invented', `${event.dedupKey}: ${address} is no recipient`)
  }
  if (details.mailer_id !== tenant.mailerId) say('I6.shape', `mailer_id ${details.mailer_id}`)
  if (!isDeepStrictEqual(details.custom_args, send.request.custom_args ?? null)) {
    say('I6.shape', `${event.dedupKey}: custom_args changed`)
  }
}

function checkKeys(model: Model, blame: Blame): void {
  const known = new Map<string, string>()
  for (const event of model.requests.flatMap((request) => request.events ?? [])) {
    const other = known.get(event.dedupKey)
    if (other === undefined) known.set(event.dedupKey, event.json)
    else if (other !== event.json) blame('I5.key', `${event.dedupKey}: ${other} / ${event.json}`)
  }
  // The key has no recipient in it: two recipients of one email must not share one.
  const owners = new Map<string, string>()
  for (const [recipient, events] of model.eventsOf) {
    for (const event of events) {
      const other = owners.get(event.dedupKey)
      if (other !== undefined && other !== recipient) {
        blame('I5.key', `${event.dedupKey}: of ${other} and of ${recipient}`)
      }
      owners.set(event.dedupKey, recipient)
    }
  }
}

function checkAcknowledged(model: Model, blame: Blame): void {
  const acknowledged = new Set(
    model.requests
      .filter((request) => request.acknowledged)
      .flatMap((request) => request.events?.map((event) => event.dedupKey) ?? []),
  )
  for (const event of model.requests.flatMap((request) => request.events ?? [])) {
    if (acknowledged.has(event.dedupKey)) continue
    blame('I5.unacknowledged', `${event.dedupKey}, in request ${event.request}`)
    acknowledged.add(event.dedupKey)
  }
}

function checkRepetitions(model: Model, blame: Blame): void {
  const requestsOf = new Map<string, Request[]>()
  const bodyOfEvent = new Map<string, Request>()
  for (const request of model.requests) {
    const sameBytes = requestsOf.get(request.log.body) ?? []
    requestsOf.set(request.log.body, [...sameBytes, request])
    for (const event of request.events ?? []) {
      const earlier = bodyOfEvent.get(event.dedupKey)
      if (earlier === undefined) bodyOfEvent.set(event.dedupKey, request)
      else if (earlier.log.body !== request.log.body) {
        blame('I6.repeat', `requests ${earlier.request} and ${request.request}: ${event.dedupKey}`)
        break
      }
    }
  }
  const cuts = model.cuts.filter((cut) => DELIVERY_CUTTERS.includes(cut.process))
  for (const requests of requestsOf.values()) {
    // Each acknowledgement but one was not taken note of.
    const [first, ...more] = requests.filter((request) => request.acknowledged)
    const since = first?.at ?? 0
    // The repetition may have been on its way already when the process was cut off.
    const explained = cuts.filter((cut) => cut.until >= since - 1000).length
    if (more.length > explained) {
      blame('I6.needless', `requests ${requests.map((request) => request.request).join(', ')}`)
    }
  }
}
