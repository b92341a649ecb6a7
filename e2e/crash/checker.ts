/**
 * Judges one round of the crash test from its logs alone. Knows nothing of how the service works,
 * only what it promises: see `rules` for every promise, by name.
 */
import { checkDeliveries } from './check-deliveries.ts'
import { checkIsolation } from './check-isolation.ts'
import { checkRecipients } from './check-recipients.ts'
import { checkRequests } from './check-requests.ts'
import { checkProcesses, findVoidReasons } from './check-round.ts'
import type { History } from './history.ts'
import { buildModel, isDispatcher, isPoison, type Model } from './model.ts'
import type { Report } from './report.ts'

export function checkHistory(history: History): Report {
  const model = buildModel(history)
  const violations = [
    ...checkRecipients(model),
    ...checkRequests(model),
    ...checkDeliveries(model),
    ...checkIsolation(history, model),
    ...checkProcesses(history),
  ]
  const voidBecause = findVoidReasons(history, model)
  // A broken promise counts in whatever round it shows.
  const verdict = violations.length > 0 ? 'red' : voidBecause.length > 0 ? 'void' : 'green'
  return { verdict, violations, voidBecause, counts: countWork(history, model) }
}

function countWork(history: History, model: Model): Record<string, number> {
  const events = [...model.eventsOf.values()].flat()
  const taken = model.requests.filter((request) => request.acknowledged)
  const takenEvents = taken.flatMap((request) => request.events ?? [])
  const records = model.readings.flatMap((reading) =>
    reading.when === 'drained' ? reading.deliveries : [],
  )
  const killsOf = (isOne: (process: string) => boolean): number =>
    history.nemesis.filter(
      (fact) => fact.fact === 'process.died' && fact.signal === 'SIGKILL' && isOne(fact.process),
    ).length
  const copies = [...model.seen.values()].map((seen) => seen.copies.filter((one) => one.accepted))
  return {
    accepted: model.sends.filter((send) => send.refIds.size > 0).length,
    recipients: model.sends.flatMap((send) => (send.refIds.size > 0 ? send.recipients : [])).length,
    delivered: events.filter((event) => event.event === 'MAIL_DELIVERED').length,
    failedAttempts: events.filter((event) => event.event === 'SMTP_ERROR').length,
    uncertainAttempts: events.filter((event) =>
      /may have been delivered/i.test(String(event.details.failed_reason)),
    ).length,
    extraCopies: copies.reduce((sum, list) => sum + Math.max(0, list.length - 1), 0),
    requests: model.requests.length,
    repeatedRequests:
      model.requests.length - new Set(model.requests.map((one) => one.log.body)).size,
    events: events.length,
    poisonEvents: events.filter(isPoison).length,
    deliveries: records.length,
    dividedDeliveries: records.filter((one) => one.divided_into !== undefined).length,
    /** Acknowledged requests, and events in them, that repeat acknowledged ones. */
    duplicateRequests: taken.length - new Set(taken.map((one) => one.log.body)).size,
    duplicateEvents: takenEvents.length - new Set(takenEvents.map((one) => one.dedupKey)).size,
    apiKills: killsOf((process) => process === 'api'),
    senderKills: killsOf((process) => process === 'sender'),
    dispatcherKills: killsOf(isDispatcher),
    databaseKills: killsOf((process) => process === 'database'),
  }
}
