/** The wire form of a sending domain (docs/reference/domains.md#records): never a private key. */
import type { Domain, DomainRecord as WireRecord } from '@postrider/contract'
import {
  type DomainSettings,
  defaultUncertain,
  type MailerKey,
  readDomainSettings,
} from '../mailers/index.ts'
import type { Queryable } from '../platform/db/index.ts'
import { keyOfTurn, type RecordState, type SendingDomain } from './domain.ts'
import { type DomainRecord, listRecords, recordKeyOf } from './list-records.ts'

/** Of one whose mailer was deleted a moment ago. */
const NO_SETTINGS: DomainSettings = { limits: {}, uncertain: defaultUncertain }

/** With what their mailers say. */
export async function showDomains(
  { db }: { readonly db: Queryable },
  tenantId: string,
  domains: readonly SendingDomain[],
): Promise<Domain[]> {
  const ids = domains.map(({ mailerId }) => mailerId)
  const settings = await readDomainSettings(db, tenantId, ids)
  return domains.map((domain) => toWire(domain, settings.get(domain.mailerId) ?? NO_SETTINGS))
}

export async function settingsOf(
  { db }: { readonly db: Queryable },
  { tenantId, mailerId }: MailerKey,
): Promise<DomainSettings> {
  return (await readDomainSettings(db, tenantId, [mailerId])).get(mailerId) ?? NO_SETTINGS
}

export function toWire(domain: SendingDomain, { limits, uncertain }: DomainSettings): Domain {
  const { options, provider } = domain
  return {
    domain: domain.domain,
    mailer_id: domain.mailerId,
    relay: domain.relay,
    state: domain.state,
    verified: domain.verifiedAt !== undefined,
    verified_at: timeOf(domain.verifiedAt),
    custom_args: domain.customArgs,
    ...(options.isTenantDomain === undefined ? {} : { is_tenant_domain: options.isTenantDomain }),
    ...(options.isTenantSubdomain === undefined
      ? {}
      : { is_tenant_subdomain: options.isTenantSubdomain }),
    ...(options.sharedWithSubaccounts === undefined
      ? {}
      : { shared_with_subaccounts: options.sharedWithSubaccounts }),
    ...(options.ips === undefined ? {} : { ips: [...options.ips] }),
    selector: keyOfTurn(domain, 'current')?.selector ?? null,
    limits,
    uncertain,
    records: listRecords(domain).map((record) =>
      toWireRecord(record, domain.recordStates[recordKeyOf(record)]),
    ),
    provider: { agrees: provider.agrees, detail: provider.detail ?? null },
    last_check_at: timeOf(domain.checkedAt),
    next_check_at: timeOf(domain.dueAt),
    created_at: domain.createdAt.toISOString(),
    updated_at: domain.updatedAt.toISOString(),
  }
}

function toWireRecord(record: DomainRecord, state: RecordState | undefined): WireRecord {
  const { type, name, value, priority, purpose, required, rotation, removableAt } = record
  return {
    type,
    name,
    value,
    ...(priority === undefined ? {} : { priority }),
    purpose,
    required,
    status: state?.status ?? 'pending',
    dns: state?.dns ?? null,
    found: [...(state?.found ?? [])],
    ...(rotation === undefined ? {} : { rotation }),
    ...(removableAt === undefined ? {} : { removable_at: removableAt.toISOString() }),
  }
}

function timeOf(time: Date | undefined): string | null {
  return time?.toISOString() ?? null
}
