/**
 * What is to be published for a domain (docs/reference/domains.md#records): the provider's part, and ours:
 * the proof of ownership, our DKIM keys, and advice. Nothing needs an MX.
 */
import type { KeyTurn } from '@postrider/contract'
import type { RelayRecord } from '../relays/index.ts'
import type { DkimKey, SendingDomain } from './domain.ts'

export interface DomainRecord extends RelayRecord {
  /** Of the record of a DKIM key that is not the one in use. */
  readonly rotation?: KeyTurn
  /** When the record of a previous key may go. */
  readonly removableAt?: Date
}

export const OWNERSHIP_LABEL = '_postrider'
/** Mail that was signed with the old key is delivered, and checked, within five days. */
const IN_TRANSIT_MS = 7 * 86_400_000
/** For how long the record of a previous key is shown. */
export const PREVIOUS_SHOWN_MS = 30 * 86_400_000

export function listRecords(
  domain: Pick<SendingDomain, 'domain' | 'relay' | 'ownershipToken' | 'keys' | 'providerRecords'>,
): readonly DomainRecord[] {
  if (domain.relay === 'simulator') return []
  const own = [ownershipRecord(domain), ...domain.keys.map((key) => dkimRecord(domain, key))]
  const taken = new Set(own.map(({ name }) => name))
  // A provider that takes our key repeats its record.
  const given = domain.providerRecords.filter(
    ({ name, purpose }) => !taken.has(name) && !(purpose === 'dkim' && domain.keys.length > 0),
  )
  const isAdvised = given.some(({ purpose }) => purpose === 'dmarc')
  return [...own, ...given, ...(isAdvised ? [] : [dmarcRecord(domain)])]
}

/** By which its state is kept: a record with another value is another one. */
export function recordKeyOf({ type, name, value }: RelayRecord): string {
  return `${type} ${name} ${value}`
}

export function dkimNameOf(domain: string, selector: string): string {
  return `${selector}._domainkey.${domain}`
}

/** For us alone, whatever the domain is for. */
export function ownershipRecord({
  domain,
  ownershipToken,
}: Pick<SendingDomain, 'domain' | 'ownershipToken'>): DomainRecord {
  return {
    type: 'TXT',
    name: `${OWNERSHIP_LABEL}.${domain}`,
    value: `postrider-verification=${ownershipToken}`,
    purpose: 'ownership',
    required: true,
  }
}

function dkimRecord(
  { domain }: Pick<SendingDomain, 'domain'>,
  { selector, publicKey, turn, replacedAt }: DkimKey,
): DomainRecord {
  return {
    type: 'TXT',
    name: dkimNameOf(domain, selector),
    value: `v=DKIM1; k=rsa; h=sha256; p=${publicKey}`,
    purpose: 'dkim',
    required: turn === 'current',
    ...(turn === 'current' ? {} : { rotation: turn }),
    ...(replacedAt === undefined
      ? {}
      : { removableAt: new Date(Date.parse(replacedAt) + IN_TRANSIT_MS) }),
  }
}

/** RFC 7489: large receivers want one, and any policy will do. */
function dmarcRecord({ domain }: Pick<SendingDomain, 'domain'>): DomainRecord {
  return {
    type: 'TXT',
    name: `_dmarc.${domain}`,
    value: 'v=DMARC1; p=none',
    purpose: 'dmarc',
    required: false,
  }
}
