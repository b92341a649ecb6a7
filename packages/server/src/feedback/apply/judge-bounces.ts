/**
 * Decides what providers' bounces rest on, and whether that is good enough a reason to suppress (contract §7.4):
 * the provider has to call the bounce permanent, and the reply has to be about the address. What a mail server
 * reports by mail was judged when the mail was read.
 */
import { setImmediate } from 'node:timers/promises'
import { judgeBounce } from '../../mail/index.ts'
import type { RelayFact } from '../../relays/index.ts'
import type { PlacedReport } from './fact-store.ts'

/** A server that writes its replies to cost time gets no more of it at once. */
const TURN_MS = 10

/** In the order of the given. */
export async function judgeBounces(placed: readonly PlacedReport[]): Promise<PlacedReport[]> {
  const judged: PlacedReport[] = []
  let turnEndsAt = performance.now() + TURN_MS
  for (const one of placed) {
    const { report } = one
    judged.push({ ...one, report: { ...report, fact: withVerdict(report.fact) } })
    if (performance.now() < turnEndsAt) continue
    await setImmediate()
    turnEndsAt = performance.now() + TURN_MS
  }
  return judged
}

function withVerdict(fact: RelayFact): RelayFact {
  if (fact.kind !== 'bounced' || fact.classified !== undefined) return fact
  const { status, providerSays, suppresses, ...rest } = fact
  const { isOfAddress, classified } = judgeBounce({
    recipient: fact.email,
    status,
    diagnostic: diagnosticOf(fact),
    providerSays,
  })
  const isKept = suppresses !== undefined && (suppresses !== 'bounced' || isOfAddress)
  return {
    ...rest,
    ...(status === undefined ? {} : { status }),
    ...(providerSays === undefined ? {} : { providerSays }),
    ...(isKept ? { suppresses } : {}),
    classified,
  }
}

/** Some give the code of the reply beside its words. */
function diagnosticOf({ reason, errorCode = '' }: RelayFact): string {
  const isBare = /^[45]\d\d$/.test(errorCode) && !/^[45]\d\d/.test(reason)
  return isBare ? `${errorCode} ${reason}` : reason
}
