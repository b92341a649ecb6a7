/**
 * The wire form of inbound domains and usernames (docs/reference/inbound.md#routes): never a header's value.
 */
import type {
  InboundRecord,
  InboundDomain as WireDomain,
  InboundUsername as WireUsername,
} from '@postrider/contract'
import { recordKeyOf } from '../../domains/index.ts'
import type { Subscription } from '../../webhooks/index.ts'
import type { InboundDomain, RoutedDomain, RoutedUsername } from './domain.ts'
import { listRecords } from './ownership/list-records.ts'

export function toWireDomain({ domain, webhook }: RoutedDomain, inboundHost: string): WireDomain {
  const isVerified = domain.verifiedAt !== undefined
  return {
    domain: domain.domain,
    ...webhookFields(webhook),
    state: domain.isTaken ? 'taken' : isVerified ? 'verified' : 'pending',
    verified: isVerified,
    verified_at: domain.verifiedAt?.toISOString() ?? null,
    records: recordsOf(domain, inboundHost),
    last_check_at: domain.checkedAt?.toISOString() ?? null,
    created_at: domain.createdAt.toISOString(),
    updated_at: domain.updatedAt.toISOString(),
  }
}

export function toWireUsername({ username, webhook }: RoutedUsername): WireUsername {
  return {
    domain: username.domain,
    username: username.username,
    ...webhookFields(webhook),
    url_inherited: username.url === null,
    webhook_inherited: !username.hasWebhook,
    created_at: username.createdAt.toISOString(),
    updated_at: username.updatedAt.toISOString(),
  }
}

function webhookFields({ url, headerNames, active, webhookId, signingSealed }: Subscription) {
  return {
    url,
    method: 'POST' as const,
    headers_present: [...headerNames],
    ...(signingSealed === undefined ? {} : { signing: true }),
    active,
    webhook_id: webhookId,
  }
}

function recordsOf(domain: InboundDomain, inboundHost: string): InboundRecord[] {
  return listRecords(domain, inboundHost).map((record) => {
    const state = domain.recordStates[recordKeyOf(record)]
    const { type, name, value, priority } = record
    return {
      type,
      name,
      value,
      ...(priority === undefined ? {} : { priority }),
      purpose: type === 'MX' ? 'mx' : 'ownership',
      required: isRequired(domain, record),
      status: state?.status ?? 'pending',
      dns: state?.dns ?? null,
      found: [...(state?.found ?? [])],
    }
  })
}

/** Mail needs the MX; the TXT is needed where the MX proves nothing. */
function isRequired(
  { isContested, verifiedAt }: InboundDomain,
  { type, required }: Pick<InboundRecord, 'type' | 'required'>,
): boolean {
  return required || (type === 'TXT' && isContested && verifiedAt === undefined)
}
