/**
 * Settles whose an inbound domain is, with its row locked (contract §3.5): its own TXT record or the MX
 * that leads here has been seen, or the tenant has verified a sending domain of that very name.
 *
 * Of two tenants that prove a domain at once, the first to commit has it. From one for whom nothing is
 * published any more it is taken over by the TXT record alone, which only who has the zone can
 * publish: an MX may have been left there, or be back in a minute.
 */
import { decideRecord, findOwnershipProof, type Matches, recordKeyOf } from '../domains/index.ts'
import type { Tx } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { InboundDomain } from './domain.ts'
import { claimDomain, releaseDomain, saveCheck } from './domain-store.ts'
import { listRecords } from './list-records.ts'
import type { Findings, OwnershipDeps } from './look-up-ownership.ts'

/** Throws when somebody else has it: then nothing of the transaction is kept. */
export async function settleOwnership(
  tx: Tx,
  { clock, inboundHost }: Pick<OwnershipDeps, 'clock' | 'inboundHost'>,
  domain: InboundDomain,
  { matches, abandonedBy }: Findings,
): Promise<void> {
  if (domain.isTaken && abandonedBy === undefined) throw new ApiError('domain_taken')
  const now = clock.now()
  const records = listRecords(domain, inboundHost)
  const isSeen = (type: 'TXT' | 'MX') =>
    records.some((r) => r.type === type && matches.get(recordKeyOf(r))?.isMatch === true)
  const isTaking = abandonedBy !== undefined && isSeen('TXT')
  if (isTaking) await releaseDomain(tx, abandonedBy)
  const isProven =
    domain.verifiedAt !== undefined ||
    isTaking ||
    (!domain.isTaken && (isSeen('TXT') || isSeen('MX') || (await isProvenForSending(tx, domain))))
  if (isProven && !(await claimDomain(tx, domain))) throw new ApiError('domain_taken')
  const recordStates = statesOf(domain, records, matches, now)
  await saveCheck(tx, { ...domain, recordStates }, { now, isVerified: isProven })
}

async function isProvenForSending(tx: Tx, domain: InboundDomain): Promise<boolean> {
  return (await findOwnershipProof(tx, domain))?.isProven === true
}

function statesOf(
  { recordStates: before }: InboundDomain,
  records: ReturnType<typeof listRecords>,
  matches: Matches,
  now: Date,
): InboundDomain['recordStates'] {
  const states = records.flatMap((record) => {
    const key = recordKeyOf(record)
    const match = matches.get(key)
    if (match === undefined) return []
    return [[key, decideRecord(before[key], match, { now, isGraced: false })] as const]
  })
  return Object.fromEntries(states)
}
