/**
 * The service's own record of its webhook deliveries against what the receiver saw of them, and what
 * is left open in it while the receiver refuses poison.
 */
import type { DeliveryRecord } from './history.ts'
import {
  cutsDeliveries,
  type DeliveriesRead,
  isPoison,
  type Model,
  type Request,
  recordedKey,
} from './model.ts'
import type { Rule, Violation } from './report.ts'

type Blame = (rule: Rule, detail: string) => void

const UNSETTLED = ['pending', 'retrying', 'parked']
/** A list shows no more attempts of one delivery. */
const ATTEMPTS_SHOWN = 10
const ON_ITS_WAY_MS = 1000

export function checkDeliveries(model: Model): Violation[] {
  const violations: Violation[] = []
  for (const reading of model.readings) {
    const blame: Blame = (rule, detail) =>
      violations.push({ rule, detail: `${reading.tenant}: ${detail}` })
    const requests = model.requests.filter(({ tenant }) => tenant?.tenant === reading.tenant)
    if (reading.when === 'refusing') checkRefusing(reading, requests, blame)
    else checkDrained(model, reading, requests, blame)
  }
  return violations
}

/** All that is not refused has come: poison is left, each for itself. */
function checkRefusing(reading: DeliveriesRead, requests: readonly Request[], blame: Blame): void {
  const poisonous = new Set(
    requests
      .filter((request) => request.at < reading.at)
      .flatMap((request) => (request.events ?? []).filter(isPoison).map((one) => one.dedupKey)),
  )
  const left = new Set<string>()
  for (const delivery of reading.deliveries) {
    if (!UNSETTLED.includes(delivery.status)) continue
    const keys = delivery.events.map(recordedKey)
    const told = `${delivery.delivery_id}, ${delivery.status}`
    if (keys.length !== 1) blame('I12.parked', `${told}: ${keys.length} events together`)
    for (const key of keys) {
      if (left.has(key)) blame('I12.parked', `${told}: ${key} waits twice`)
      if (!poisonous.has(key)) blame('I12.parked', `${told}: ${key} is no poison`)
      left.add(key)
    }
  }
  for (const key of poisonous) {
    if (!left.has(key)) blame('I12.parked', `${key} is poison, and not waiting`)
  }
}

function checkDrained(
  model: Model,
  reading: DeliveriesRead,
  requests: readonly Request[],
  blame: Blame,
): void {
  const requestsOf = new Map<string, Request[]>()
  for (const request of requests) {
    const members = (request.events ?? []).map((event) => event.dedupKey).join('\n')
    requestsOf.set(members, [...(requestsOf.get(members) ?? []), request])
  }
  const byId = new Map(reading.deliveries.map((one) => [one.delivery_id, one]))
  const delivered = new Set<string>()
  const carried = new Map<string, string>()
  for (const delivery of reading.deliveries) {
    const say: Blame = (rule, detail) => blame(rule, `${delivery.delivery_id}: ${detail}`)
    const members = membersOf(delivery)
    const seen = requestsOf.get(members) ?? []
    checkAttempts(model, delivery, seen, say)
    if (delivery.divided_into !== undefined) {
      checkDivision(delivery, delivery.divided_into, byId, seen, say)
    } else if (delivery.status !== 'delivered') {
      say('I12.ended', delivery.status)
    } else {
      if (!seen.some((request) => request.acknowledged)) say('I12.unseen', `${members}`)
      delivered.add(members)
      for (const key of delivery.events.map(recordedKey)) {
        const other = carried.get(key)
        if (other !== undefined) say('I12.once', `${key}, also in ${other}`)
        carried.set(key, delivery.delivery_id)
      }
    }
  }
  for (const [members, seen] of requestsOf) {
    const taken = seen.find((request) => request.acknowledged)
    if (taken !== undefined && !delivered.has(members)) {
      blame('I12.unrecorded', `request ${taken.request}`)
    }
    for (const key of members.split('\n')) {
      if (!carried.has(key)) blame('I12.once', `${key}, in none`)
      carried.set(key, carried.get(key) ?? '')
    }
  }
}

function membersOf({ events }: DeliveryRecord): string {
  return events.map(recordedKey).join('\n')
}

function checkDivision(
  whole: DeliveryRecord,
  dividedInto: readonly string[],
  byId: ReadonlyMap<string, DeliveryRecord>,
  seen: readonly Request[],
  say: Blame,
): void {
  if (whole.status !== 'discarded') say('I12.divided', `divided, and ${whole.status}`)
  if (!seen.some((request) => request.refused)) say('I12.divided', 'it was not refused')
  const parts = dividedInto.map((id) => byId.get(id))
  const events = parts.map((part) => (part === undefined ? '' : membersOf(part)))
  if (parts.length < 2 || events.join('\n') !== membersOf(whole)) {
    say('I12.divided', `into ${dividedInto.join(', ')}`)
  }
}

/** What was seen and is not on record was cut off before it was written down. */
function checkAttempts(
  model: Model,
  { attempts }: DeliveryRecord,
  seen: readonly Request[],
  say: Blame,
): void {
  for (const status of new Set(attempts.flatMap((attempt) => attempt.status ?? []))) {
    const given = seen.filter(({ log }) => log.answer.status === status).length
    const recorded = attempts.filter((attempt) => attempt.status === status).length
    if (recorded > given) say('I12.attempts', `${status} on record ${recorded} times, not ${given}`)
  }
  const since = (seen[0]?.at ?? 0) - ON_ITS_WAY_MS
  const explained =
    model.cuts.filter((cut) => cutsDeliveries(cut) && cut.until >= since).length +
    model.handovers.filter((at) => at >= since).length
  if (attempts.length < ATTEMPTS_SHOWN && seen.length > attempts.length + explained) {
    say('I12.attempts', `${attempts.length} on record, ${seen.length} seen, ${explained} cuts`)
  }
}
