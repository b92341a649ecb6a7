/**
 * Looks at a domain from outside: what name servers have, then, where all of it is there, what
 * the provider says. A new key whose record is there is given to the provider on the way. Nothing is
 * stored here, and nothing is lost by doing it twice.
 */

import { RECORDS_MAX } from '../add/create-at-provider.ts'
import { callProvider, callsDeadline, type ProviderDeps, type Said } from '../call-provider.ts'
import type { SendingDomain } from '../domain.ts'
import { listRecords } from '../list-records.ts'
import { areRecordsSeen, type Findings, seenNextKey } from './decide-check.ts'
import type { Verdict } from './decide-record.ts'
import { lookUpRecords, type RecordLookups } from './look-up-records.ts'

export interface CheckDeps extends ProviderDeps {
  readonly dns: RecordLookups
}

const LOST =
  'The relay provider does not have the domain any more: delete it here, and add it again'

export async function checkDomain(deps: CheckDeps, domain: SendingDomain): Promise<Findings> {
  const matches = await lookUpRecords(deps.dns, listRecords(domain))
  // Asked while name servers do not answer, a provider may hold that against the domain.
  if (domain.state === 'taken' || !areRecordsSeen(domain, matches)) return { matches }
  const next = seenNextKey(domain, matches)
  const deadlineAt = callsDeadline()
  const changed =
    next === undefined
      ? undefined
      : await callProvider(deps, domain, 'changeKey', { key: next, deadlineAt })
  if (changed !== undefined && changed.kind !== 'done')
    return { matches, verdict: { ...verdictOf(changed), agrees: undefined } }
  const said = await callProvider(deps, domain, 'verify', { key: next, deadlineAt })
  return {
    matches,
    verdict: verdictOf(said),
    ...(next === undefined ? {} : { signsWith: next.selector }),
    ...(said.kind === 'done' && said.providerId !== undefined
      ? { providerId: said.providerId }
      : {}),
    ...(said.kind === 'done' && said.records.length > 0
      ? { providerRecords: said.records.slice(0, RECORDS_MAX) }
      : {}),
  }
}

function verdictOf(said: Said): Verdict {
  if (said.kind === 'done') return { agrees: said.agrees, detail: said.detail }
  if (said.kind === 'absent') return { agrees: false, detail: LOST }
  return { agrees: undefined, detail: said.kind === 'taken' ? said.detail : said.message }
}
