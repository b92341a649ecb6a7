/**
 * Settles whose an inbound domain is, with its row locked (contract §3.5): its own TXT record or the MX
 * that leads here has been seen, or the tenant has verified a sending domain of that very name.
 *
 * An MX names no tenant. Alone it proves the domain for the oldest configuration that has yet to be
 * proven, whoever asks first: one that comes later proves it by what names it.
 *
 * Of two tenants that prove a domain at once, the first to commit has it. From one for whom nothing is
 * published any more it is taken over by the TXT record alone, which only who has the zone can
 * publish: an MX may have been left there, or be back in a minute.
 */
import { decideRecord, findOwnershipProof, type Matches, recordKeyOf } from '../domains/index.ts'
import type { Tx } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import type { InboundDomain } from './domain.ts'
import { claimDomain, isOldestUnproven, releaseDomain, saveCheck } from './domain-store.ts'
import { domainTaken } from './domain-taken.ts'
import { listRecords } from './list-records.ts'
import type { Findings, OwnershipDeps } from './look-up-ownership.ts'

type Proof = 'txt' | 'mx' | 'sending_domain'

export interface Settled {
  readonly isProven: boolean
  /** By what it has become theirs now. */
  readonly wonBy?: Proof
  /** The tenant that had it until now. */
  readonly lostBy?: string
}

/** Throws when somebody else has it: then nothing of the transaction is kept. */
export async function settleOwnership(
  tx: Tx,
  { clock, inboundHost }: Pick<OwnershipDeps, 'clock' | 'inboundHost'>,
  domain: InboundDomain,
  { matches, abandonedBy }: Findings,
): Promise<Settled> {
  if (domain.isTaken && abandonedBy === undefined) throw domainTaken(domain.domain)
  const now = clock.now()
  const records = listRecords(domain, inboundHost)
  const isSeen = (type: 'TXT' | 'MX') =>
    records.some((r) => r.type === type && matches.get(recordKeyOf(r))?.isMatch === true)
  const isTaking = abandonedBy !== undefined && isSeen('TXT')
  if (isTaking) await releaseDomain(tx, abandonedBy)
  const isKept = domain.verifiedAt !== undefined
  const isFree = isTaking || !domain.isTaken
  const proof = isKept || !isFree ? undefined : await findProof(tx, domain, isSeen)
  const isProven = isKept || proof !== undefined
  if (isProven && !(await claimDomain(tx, domain))) throw domainTaken(domain.domain)
  const recordStates = statesOf(domain, records, matches, now)
  await saveCheck(tx, { ...domain, recordStates }, { now, isVerified: isProven })
  return {
    isProven,
    ...(proof === undefined ? {} : { wonBy: proof }),
    ...(isTaking ? { lostBy: abandonedBy.tenantId } : {}),
  }
}

/** Once the transaction has committed. */
export function logSettled(log: Logger, { tenantId, domain }: InboundDomain, o: Settled): void {
  if (o.lostBy !== undefined)
    log.info({ tenant_id: o.lostBy, domain, to: tenantId }, 'inbound_domain.lost')
  if (o.wonBy !== undefined)
    log.info({ tenant_id: tenantId, domain, by: o.wonBy }, 'inbound_domain.won')
}

async function findProof(
  tx: Tx,
  domain: InboundDomain,
  isSeen: (type: 'TXT' | 'MX') => boolean,
): Promise<Proof | undefined> {
  if (isSeen('TXT')) return 'txt'
  if ((await findOwnershipProof(tx, domain))?.isProven === true) return 'sending_domain'
  return isSeen('MX') && (await isOldestUnproven(tx, domain)) ? 'mx' : undefined
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
