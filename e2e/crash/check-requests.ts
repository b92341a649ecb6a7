/** The webhook requests themselves: invariants 5 and 6, and the published shapes. */
import { isDeepStrictEqual } from 'node:util'
import { checkEventShape } from './check-event-shape.ts'
import {
  cutsDeliveries,
  type DeliveredEvent,
  isPoison,
  type Model,
  type Request,
  type Send,
} from './model.ts'
import type { Rule, Violation } from './report.ts'

type Blame = (rule: Rule, detail: string) => void

/** A repetition may have been on its way already when the process was cut off. */
const ON_ITS_WAY_MS = 1000

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
  checkHeldUp(model, blame)
  checkBodies(model, blame)
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

/** A receiver that refuses some events delays no others. */
function checkHeldUp(model: Model, blame: Blame): void {
  const { poisonTakenAt = Number.POSITIVE_INFINITY } = model
  const firstTaken = new Map<string, Request>()
  for (const request of model.requests) {
    if (!request.acknowledged) continue
    for (const event of request.events ?? []) {
      if (firstTaken.has(event.dedupKey)) continue
      firstTaken.set(event.dedupKey, request)
      if (request.at >= poisonTakenAt && !isPoison(event)) {
        blame('I11.held-up', `${event.dedupKey}, until request ${request.request}`)
      }
    }
  }
}

/**
 * Of the bodies that held an event, each repeats the one before it or is a part of it, and then that
 * one was refused as a whole. A process that was cut off, or that lost its streams, may have had the
 * larger one on its way still.
 */
function checkBodies(model: Model, blame: Blame): void {
  const refused = new Set<string>()
  const bodiesOf = new Map<string, Request[]>()
  const explainsAfter = (at: number): boolean =>
    model.cuts.some((cut) => cutsDeliveries(cut) && cut.until >= at - ON_ITS_WAY_MS) ||
    model.handovers.some((handover) => handover >= at - ON_ITS_WAY_MS)
  for (const request of model.requests) {
    for (const event of request.events ?? []) {
      const bodies = bodiesOf.get(event.dedupKey) ?? []
      bodiesOf.set(event.dedupKey, bodies)
      const last = bodies.at(-1)
      if (last?.log.body === request.log.body) continue
      if (last === undefined || (refused.has(last.log.body) && isPart(request, last))) {
        bodies.push(request)
        continue
      }
      const followed = bodies[bodies.findIndex((one) => one.log.body === request.log.body) + 1]
      if (followed !== undefined && followed !== bodies[0] && explainsAfter(followed.at)) continue
      blame('I6.repeat', `requests ${last.request} and ${request.request}: ${event.dedupKey}`)
      break
    }
    if (request.refused) refused.add(request.log.body)
  }
}

/** Fewer of its events, without a gap. */
function isPart(part: Request, whole: Request): boolean {
  const [events = [], all = []] = [part.events, whole.events]
  const from = all.findIndex((event) => event.json === events[0]?.json)
  return (
    events.length < all.length &&
    from >= 0 &&
    events.every((event, i) => event.json === all[from + i]?.json)
  )
}

function checkRepetitions(model: Model, blame: Blame): void {
  const requestsOf = new Map<string, Request[]>()
  for (const request of model.requests) {
    const sameBytes = requestsOf.get(request.log.body) ?? []
    requestsOf.set(request.log.body, [...sameBytes, request])
  }
  const causes = [...model.cuts.filter(cutsDeliveries).map((cut) => cut.until), ...model.handovers]
  for (const requests of requestsOf.values()) {
    // Each acknowledgement but one was not taken note of.
    const [first, ...more] = requests.filter((request) => request.acknowledged)
    const since = first?.at ?? 0
    const explained = causes.filter((at) => at >= since - ON_ITS_WAY_MS).length
    if (more.length > explained) {
      blame('I6.needless', `requests ${requests.map((request) => request.request).join(', ')}`)
    }
  }
}
