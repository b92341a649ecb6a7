/**
 * Whether a round proves anything. A round in which nothing was sent, or in which what was to be
 * killed lived on, is void: neither green nor red.
 */
import type { History } from './history.ts'
import type { Model } from './model.ts'
import type { Violation } from './report.ts'

/** Losing the database is no reason to end; being asked to is, in order. */
export function checkProcesses(history: History): Violation[] {
  return history.nemesis.flatMap((fact): Violation[] => {
    if (fact.fact !== 'process.died') return []
    const isOrderly = fact.by === 'stop' && fact.code === 0
    if (isOrderly || fact.by === 'failpoint' || fact.by === 'nemesis') return []
    const detail = `${fact.process} ${fact.pid}: code ${fact.code}, signal ${fact.signal}`
    return [{ rule: 'I10.fell', detail }]
  })
}

export function findVoidReasons(history: History, model: Model): string[] {
  const reasons: string[] = []
  const { nemesis } = history
  for (const fact of nemesis) {
    if (fact.fact !== 'failpoint.armed') continue
    const fired = nemesis.some(
      (death) =>
        death.fact === 'process.died' &&
        death.process === fact.process &&
        death.by === 'failpoint' &&
        death.signal === 'SIGKILL' &&
        death.at >= fact.at,
    )
    if (!fired) reasons.push(`${fact.failpoint} in ${fact.process} did not fire`)
  }
  for (const name of ['api', 'sender', 'dispatcher', 'database'] as const) {
    const of = (fact: string): number =>
      nemesis.filter((one) => one.fact === fact && 'process' in one && one.process === name).length
    const killed = nemesis.filter(
      (one) => one.fact === 'process.died' && one.process === name && one.by === 'nemesis',
    ).length
    if (killed < of('kill.planned')) reasons.push(`${name} was to be killed and was not`)
    if (of('process.started') === 0) reasons.push(`${name} never ran`)
  }
  for (const fact of nemesis) {
    if (fact.fact !== 'process.frozen') continue
    const isThawed = nemesis.some((one) => one.fact === 'process.thawed' && one.pid === fact.pid)
    if (!isThawed) reasons.push(`${fact.process} was frozen for good`)
  }
  for (const when of ['refusing', 'drained'] as const) {
    const read = model.readings.filter((reading) => reading.when === when)
    if (read.length < model.tenants.length) reasons.push(`deliveries were not read when ${when}`)
    const deliveries = read.flatMap((reading) => reading.deliveries)
    if (when === 'refusing' && !deliveries.some(({ status }) => status === 'parked')) {
      reasons.push('nothing was parked')
    }
    if (when === 'drained' && !deliveries.some((one) => one.divided_into !== undefined)) {
      reasons.push('nothing was divided')
    }
  }
  const accepted = model.sends.filter((send) => send.refIds.size > 0)
  if (accepted.length === 0) reasons.push('no send was accepted')
  if (![...model.seen.values()].some((seen) => seen.copies.length > 0)) {
    reasons.push('the SMTP server saw no mail')
  }
  if (!model.requests.some((request) => request.acknowledged)) {
    reasons.push('the receiver acknowledged nothing')
  }
  if (!nemesis.some((fact) => fact.fact === 'healed')) reasons.push('it was never healed')
  for (const send of model.sends) {
    const isKnown = send.refIds.size > 0 || send.answers.some(({ status }) => status < 500)
    if (!isKnown) reasons.push(`${send.key} was never answered for good`)
  }
  const addresses = model.sends.flatMap((send) => send.recipients)
  if (new Set(addresses).size < addresses.length) reasons.push('an address stands in two sends')
  return reasons
}
