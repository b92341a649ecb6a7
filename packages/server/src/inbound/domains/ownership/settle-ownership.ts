/**
 * Settles whose an inbound domain is (docs/reference/inbound.md#ownership), while its name is locked over all
 * tenants. Proof is the tenant's own TXT record, a verified sending domain of the same name, or an MX that
 * leads here.
 *
 * An MX names no tenant. Alone it proves the domain only while no other tenant has configured the
 * name, and none has proven a domain above it: a wildcard MX answers for every name below.
 *
 * A domain that another tenant has is taken over by a TXT record, unless that tenant's own TXT record
 * or verified sending domain is there as well. A tenant that has proven a domain keeps it otherwise,
 * also while name servers are away.
 */
import {
  decideRecord,
  findOwnershipProof,
  type Matches,
  recordKeyOf,
} from '../../../domains/index.ts'
import { forgetReturnPath } from '../../../mailers/index.ts'
import type { Tx } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import type { Logger } from '../../../platform/log.ts'
import type { InboundDomain } from '../domain.ts'
import {
  acquireDomain,
  findHolder,
  lockDomain,
  lockName,
  releaseDomain,
  saveCheck,
} from '../domain-store.ts'
import { domainTaken } from './domain-taken.ts'
import { listRecords } from './list-records.ts'
import {
  type Findings,
  isPublished,
  matchFindings,
  type OwnershipDeps,
} from './look-up-ownership.ts'

type Proof = 'txt' | 'mx' | 'sending_domain'
type SettleDeps = Pick<OwnershipDeps, 'clock' | 'inboundHost'>

export interface Settled {
  readonly isProven: boolean
  /** The proof that has just given it to the tenant. */
  readonly wonBy?: Proof
  /** The tenant that had it until now. */
  readonly lostBy?: string
  /** Mailers of that tenant whose return path it was. */
  readonly unset?: readonly string[]
  /** The MX leads here, and is no proof because of other tenants. */
  readonly isTxtNeeded: boolean
}

/** Locks the name, then the row. Undefined when the row was deleted since, or made anew. */
export async function lockForSettling(
  tx: Tx,
  domain: InboundDomain,
): Promise<InboundDomain | undefined> {
  await lockName(tx, domain.domain)
  const locked = await lockDomain(tx, domain)
  return locked?.id === domain.id ? locked : undefined
}

/** The name is locked. Throws when another tenant has the domain: then the transaction ends. */
export async function settleOwnership(
  tx: Tx,
  deps: SettleDeps,
  domain: InboundDomain,
  findings: Findings,
): Promise<Settled> {
  const matches = matchFindings(domain, findings, deps.inboundHost)
  const isSeen = (type: 'TXT' | 'MX') => isPublished(type, domain, matches, deps.inboundHost)
  const holder = domain.isTaken ? await findHolder(tx, domain) : undefined
  if (holder !== undefined && (await isBacked(tx, holder, findings, deps.inboundHost)))
    throw domainTaken(domain.domain)
  const isTaking = holder !== undefined && isSeen('TXT')
  const unset = isTaking ? await release(tx, holder) : []
  const isKept = domain.verifiedAt !== undefined
  const isFree = isTaking || holder === undefined
  const wonBy = isKept || !isFree ? undefined : await findProof(tx, domain, isSeen)
  const isProven = isKept || wonBy !== undefined
  if (isProven && !(await acquireDomain(tx, domain))) throw domainTaken(domain.domain)
  const now = deps.clock.now()
  const recordStates = statesOf(domain, deps, matches)
  await saveCheck(tx, { ...domain, recordStates }, { now, isVerified: isProven })
  return {
    isProven,
    ...(wonBy === undefined ? {} : { wonBy }),
    ...(isTaking ? { lostBy: holder.tenantId, unset } : {}),
    isTxtNeeded: !isProven && isSeen('MX'),
  }
}

/** As settleOwnership, with the locks. */
export async function settleLocked(
  tx: Tx,
  deps: SettleDeps,
  domain: InboundDomain,
  findings: Findings,
): Promise<Settled> {
  const locked = await lockForSettling(tx, domain)
  // Another of the same name has another proof.
  if (locked === undefined) throw new ApiError('not_found')
  return settleOwnership(tx, deps, locked, findings)
}

/** Once the transaction has committed. */
export function logSettled(log: Logger, { tenantId, domain }: InboundDomain, o: Settled): void {
  if (o.lostBy !== undefined)
    log.info(
      { tenant_id: o.lostBy, domain, to: tenantId, without_return_path: o.unset },
      'inbound_domain.lost',
    )
  if (o.wonBy !== undefined)
    log.info({ tenant_id: tenantId, domain, by: o.wonBy }, 'inbound_domain.won')
  if (o.isTxtNeeded) log.info({ tenant_id: tenantId, domain }, 'inbound_domain.mx_not_enough')
}

/** Whether something other than an MX proves it for the tenant that has it. Name servers that do not
 *  answer leave it whose it is. */
async function isBacked(
  tx: Tx,
  holder: InboundDomain,
  findings: Findings,
  inboundHost: string,
): Promise<boolean> {
  if (findings.txt.kind === 'unknown') return true
  if ((await findOwnershipProof(tx, holder))?.isProven === true) return true
  const matches = matchFindings(holder, findings, inboundHost)
  return isPublished('TXT', holder, matches, inboundHost)
}

async function release(tx: Tx, holder: InboundDomain): Promise<readonly string[]> {
  await releaseDomain(tx, holder)
  return forgetReturnPath(tx, holder)
}

async function findProof(
  tx: Tx,
  domain: InboundDomain,
  isSeen: (type: 'TXT' | 'MX') => boolean,
): Promise<Proof | undefined> {
  if (isSeen('TXT')) return 'txt'
  if ((await findOwnershipProof(tx, domain))?.isProven === true) return 'sending_domain'
  return isSeen('MX') && !domain.isContested ? 'mx' : undefined
}

function statesOf(
  domain: InboundDomain,
  { clock, inboundHost }: SettleDeps,
  matches: Matches,
): InboundDomain['recordStates'] {
  const occasion = { now: clock.now(), isGraced: false }
  const states = listRecords(domain, inboundHost).flatMap((record) => {
    const key = recordKeyOf(record)
    const match = matches.get(key)
    return match === undefined
      ? []
      : [[key, decideRecord(domain.recordStates[key], match, occasion)] as const]
  })
  return Object.fromEntries(states)
}
