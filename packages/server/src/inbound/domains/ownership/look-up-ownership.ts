/**
 * What name servers say of whose an inbound domain is (docs/reference/inbound.md#ownership). Asked outside of
 * any transaction; settleOwnership decides by it.
 *
 * The records of all tenants that have configured a domain have the same two names. So two questions
 * are enough to know for each of them whether its record is published.
 */

import type { DnsAnswer, DnsResolver, MailExchange } from '@postrider/runtime/dns'
import { type Matches, matchRecord, ownershipRecord, recordKeyOf } from '../../../domains/index.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/index.ts'
import type { CheckBounds } from '../../../platform/limits/counted-check.ts'
import type { Logger } from '../../../platform/log.ts'
import type { InboundDomain } from '../domain.ts'
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
  readonly txt: DnsAnswer<string>
  readonly mx: DnsAnswer<MailExchange>
}

type OwnRecords = Pick<InboundDomain, 'domain' | 'ownershipToken'>

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

/** Counted for the tenant that asks. */
export function lookUpOwnership(
  { verifications: { limiter, limit }, dns }: OwnershipDeps,
  { tenantId, domain }: Pick<InboundDomain, 'tenantId' | 'domain'>,
): Promise<Findings> {
  return limiter.run(tenantId, async () => {
    await limit.use(tenantId)
    return askNameServers(dns, domain)
  })
}

export async function askNameServers(
  dns: Pick<DnsResolver, 'txt' | 'mx'>,
  domain: string,
): Promise<Findings> {
  const { name } = ownershipRecord({ domain, ownershipToken: '' })
  const [txt, mx] = await Promise.all([dns.txt(name), dns.mx(domain)])
  return { txt, mx }
}

/** What was found of each record of one tenant, by `recordKeyOf`. */
export function matchFindings(
  domain: OwnRecords,
  { txt, mx }: Findings,
  inboundHost: string,
): Matches {
  return new Map(
    listRecords(domain, inboundHost).map((record) => {
      const given =
        record.type === 'TXT'
          ? ({ type: 'TXT', answer: txt } as const)
          : ({ type: 'MX', answer: mx } as const)
      return [recordKeyOf(record), matchRecord(record, given)]
    }),
  )
}

/** Whether the record of that type that was published is this tenant's. */
export function isPublished(
  type: 'TXT' | 'MX',
  domain: OwnRecords,
  matches: Matches,
  inboundHost: string,
): boolean {
  return listRecords(domain, inboundHost).some(
    (record) => record.type === type && matches.get(recordKeyOf(record))?.isMatch === true,
  )
}

/** The tokens of all tenants whose records may be among those found. */
export function tokensOf({ txt }: Findings): string[] {
  if (txt.kind !== 'found') return []
  return txt.records.flatMap(
    (text) => /postrider-verification=([0-9A-Za-z]+)/.exec(text)?.[1] ?? [],
  )
}
