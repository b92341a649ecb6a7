/**
 * What name servers say of whose an inbound domain is (contract §3.5, §5). Asked outside of any
 * transaction; settleOwnership decides by it.
 *
 * A domain that somebody else has proven is theirs for as long as anything proves it. One that changed
 * hands has records of theirs no more: the next may configure it, and has it with a proof of its own.
 */
import { findOwnershipProof, lookUpRecords, type Matches, recordKeyOf } from '../domains/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { CheckBounds } from '../platform/counted-check.ts'
import type { Db } from '../platform/db/index.ts'
import type { DnsResolver } from '../platform/dns/index.ts'
import type { Logger } from '../platform/log.ts'
import type { InboundDomain, NewInboundDomain } from './domain.ts'
import { findHolder } from './domain-store.ts'
import { domainTaken } from './domain-taken.ts'
import { listRecords } from './list-records.ts'

export interface OwnershipDeps {
  readonly db: Db
  readonly dns: DnsResolver
  readonly clock: Clock
  readonly log: Logger
  /** The name that an MX leads to, in lower case. */
  readonly inboundHost: string
  /** Every one counts, also those that find nothing wrong. */
  readonly verifications: CheckBounds
}

export interface Findings {
  readonly matches: Matches
  /** Who has it, and for whom nothing is published any more. */
  readonly abandonedBy?: InboundDomain
}

/** Of a verified domain, whose records are only shown. */
const LOOKED_UP_AGAIN_MS = 60_000

/** While it is not verified; and now and then while a record of it is missing. */
export function isCheckDue(deps: OwnershipDeps, domain: InboundDomain): boolean {
  if (domain.verifiedAt === undefined) return true
  const records = listRecords(domain, deps.inboundHost)
  const areValid = records.every(
    (record) => domain.recordStates[recordKeyOf(record)]?.status === 'valid',
  )
  const ageMs = deps.clock.now().getTime() - (domain.checkedAt?.getTime() ?? 0)
  return !areValid && ageMs >= LOOKED_UP_AGAIN_MS
}

/** Throws when somebody else has it. */
export async function lookUpOwnership(
  deps: OwnershipDeps,
  domain: NewInboundDomain,
): Promise<Findings> {
  const holder = await findHolder(deps.db, domain)
  if (holder !== undefined && !(await isAbandoned(deps, holder, domain.tenantId)))
    throw domainTaken(domain.domain)
  const matches = await lookUp(deps, domain, domain.tenantId)
  return { matches, ...(holder === undefined ? {} : { abandonedBy: holder }) }
}

/** Name servers that do not answer leave it whose it is. */
async function isAbandoned(
  deps: OwnershipDeps,
  holder: InboundDomain,
  caller: string,
): Promise<boolean> {
  if ((await findOwnershipProof(deps.db, holder))?.isProven === true) return false
  const matches = await lookUp(deps, holder, caller)
  return [...matches.values()].every(({ dns, isMatch }) => dns !== 'unknown' && !isMatch)
}

function lookUp(
  { verifications: { gate, limit }, dns, inboundHost }: OwnershipDeps,
  domain: NewInboundDomain,
  caller: string,
): Promise<Matches> {
  return gate.run(caller, async () => {
    await limit.use(caller)
    return lookUpRecords(dns, listRecords(domain, inboundHost))
  })
}
