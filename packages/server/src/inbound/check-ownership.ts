/**
 * Whether an inbound domain is its tenant's (contract §3.5): its own TXT record or the MX that leads here
 * has been seen, or the tenant sends by a domain of that very name, for which it was proven.
 *
 * Name servers are asked outside of any transaction. What they said is settled in one, with the row
 * locked: of two tenants that prove a domain at once, the first to commit has it.
 */
import {
  type DomainKey,
  decideRecord,
  findOwnershipProof,
  lookUpRecords,
  type Matches,
  recordKeyOf,
} from '../domains/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { CheckBounds } from '../platform/counted-check.ts'
import type { Tx } from '../platform/db/index.ts'
import type { DnsResolver } from '../platform/dns/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { InboundDomain } from './domain.ts'
import { claimDomain, saveCheck } from './domain-store.ts'
import { listRecords } from './list-records.ts'

export interface OwnershipDeps {
  readonly dns: DnsResolver
  readonly clock: Clock
  /** The name that an MX leads to, in lower case. */
  readonly inboundHost: string
  /** Every one counts, also those that find nothing wrong. */
  readonly verifications: CheckBounds
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

export async function lookUp(
  { verifications: { gate, limit }, dns, inboundHost }: OwnershipDeps,
  domain: DomainKey & Pick<InboundDomain, 'ownershipToken'>,
): Promise<Matches> {
  return gate.run(domain.tenantId, async () => {
    await limit.use(domain.tenantId)
    return lookUpRecords(dns, listRecords(domain, inboundHost))
  })
}

/** Throws when somebody else has it: then nothing of the transaction is kept. */
export async function settleCheck(
  tx: Tx,
  { clock, inboundHost }: Pick<OwnershipDeps, 'clock' | 'inboundHost'>,
  domain: InboundDomain,
  matches: Matches,
): Promise<void> {
  const now = clock.now()
  const states = listRecords(domain, inboundHost).flatMap((record) => {
    const key = recordKeyOf(record)
    const match = matches.get(key)
    if (match === undefined) return []
    const occasion = { now, isGraced: false }
    return [[key, decideRecord(domain.recordStates[key], match, occasion)] as const]
  })
  const isSeen = [...matches.values()].some(({ isMatch }) => isMatch)
  const isProven =
    domain.verifiedAt !== undefined ||
    isSeen ||
    (await findOwnershipProof(tx, domain))?.isProven === true
  if (domain.isTaken || (isProven && !(await claimDomain(tx, domain))))
    throw new ApiError('domain_taken')
  const recordStates = Object.fromEntries(states)
  await saveCheck(tx, { ...domain, recordStates }, { now, isVerified: isProven })
}
