/**
 * Decides what providers' bounces rest on, and whether that is good enough a reason to suppress
 * (docs/reference/suppressions.md#bounces): the provider has to call the bounce permanent, and the reply has
 * to be about the address. What a mail server reports by mail was judged when the mail was read.
 */
import { setImmediate } from 'node:timers/promises'
import { judgeBounce } from '@postrider/mail'
import type { RelayFact } from '../../relays/index.ts'
import type { MatchedReport } from './fact-store.ts'

/** A server that writes its replies to cost time gets no more of it at once. */
const TURN = 20

/** In the order of the given. */
export async function judgeBounces(matched: readonly MatchedReport[]): Promise<MatchedReport[]> {
  const judged: MatchedReport[] = []
  for (const [i, one] of matched.entries()) {
    const { report } = one
    judged.push({ ...one, report: { ...report, fact: withVerdict(report) } })
    if (i % TURN === TURN - 1) await setImmediate()
  }
  return judged
}

function withVerdict({ fact, relay }: MatchedReport['report']): RelayFact {
  if (fact.kind !== 'bounced') return fact
  // That it is on the provider's list counts, unless the reply says why, and it was something else.
  if (fact.classified !== undefined && !(relay !== undefined && saysOtherwise(fact))) return fact
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

function saysOtherwise(fact: RelayFact): boolean {
  if (fact.suppresses !== 'bounced') return false
  const { status, email: recipient } = fact
  return judgeBounce({ recipient, status, diagnostic: diagnosticOf(fact) }).isOtherwise
}

/** Some give the code of the reply beside its words. */
function diagnosticOf({ reason, errorCode = '' }: RelayFact): string {
  const isBare = /^[45]\d\d$/.test(errorCode) && !/^[45]\d\d/.test(reason)
  return isBare ? `${errorCode} ${reason}` : reason
}
