/**
 * What is to be published for an inbound domain (docs/reference/inbound.md#ownership): either of them proves
 * it, where no other tenant comes into question.
 */
import { type DomainRecord, ownershipRecord } from '../../../domains/index.ts'
import type { InboundDomain } from '../domain.ts'

const MX_PRIORITY = 10

/** @param inboundHost the name that an MX leads to */
export function listRecords(
  domain: Pick<InboundDomain, 'domain' | 'ownershipToken'>,
  inboundHost: string,
): readonly (DomainRecord & { readonly type: 'TXT' | 'MX' })[] {
  return [
    {
      type: 'MX',
      name: domain.domain,
      value: inboundHost,
      priority: MX_PRIORITY,
      purpose: 'mx',
      required: true,
    },
    { ...ownershipRecord(domain), type: 'TXT', required: false },
  ]
}
