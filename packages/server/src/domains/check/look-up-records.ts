/** Asks the name servers for everything that is to be published, all at once. */

import type { DnsResolver } from '@postrider/runtime/dns'
import { parse } from 'tldts'
import { type DomainRecord, recordKeyOf } from '../list-records.ts'
import { type Match, matchRecord } from './match-record.ts'

export type RecordLookups = Pick<DnsResolver, 'txt' | 'mx' | 'aliases'>

/** What was found of each record, by `recordKeyOf`. */
export type Matches = ReadonlyMap<string, Match>

export async function lookUpRecords(
  dns: RecordLookups,
  records: readonly DomainRecord[],
): Promise<Matches> {
  const looked = records.map(
    async (record) => [recordKeyOf(record), await lookUp(dns, record)] as const,
  )
  return new Map(await Promise.all(looked))
}

async function lookUp(dns: RecordLookups, record: DomainRecord): Promise<Match> {
  const above = record.purpose === 'dmarc' ? dmarcAbove(record.name) : undefined
  const [own, inherited] = await Promise.all([
    lookAt(dns, record),
    above === undefined ? undefined : lookAt(dns, { ...record, name: above }),
  ])
  return own.dns === 'absent' ? (inherited ?? own) : own
}

async function lookAt(dns: RecordLookups, record: DomainRecord): Promise<Match> {
  switch (record.type) {
    case 'TXT':
      return matchRecord(record, { type: 'TXT', answer: await dns.txt(record.name) })
    case 'CNAME':
      return matchRecord(record, { type: 'CNAME', answer: await dns.aliases(record.name) })
    case 'MX':
      return matchRecord(record, { type: 'MX', answer: await dns.mx(record.name) })
  }
}

const DMARC_PREFIX = '_dmarc.'

/** A subdomain without a policy has that of its organisation (RFC 7489 §6.6.3). */
function dmarcAbove(name: string): string | undefined {
  const domain = name.slice(DMARC_PREFIX.length)
  const organisation = parse(domain, { allowPrivateDomains: true }).domain
  return organisation === null || organisation === domain ? undefined : DMARC_PREFIX + organisation
}
