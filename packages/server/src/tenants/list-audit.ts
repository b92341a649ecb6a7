/** Pages of the audit log, newest first: a tenant's, or the operator's over all tenants. */
import type { AuditEntry, PageQuery, TenantAuditEntry } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { type ListedAuditEntry, listAuditEntries, noTenant } from './audit-store.ts'

interface Entries<Entry> {
  readonly entries: Entry[]
  readonly nextPageToken?: string
}

export async function pageOfAudit(
  deps: { readonly db: Db },
  tenantId: string,
  query: PageQuery,
): Promise<Entries<AuditEntry>> {
  const { rows, ...token } = await readEntries(deps, tenantId, query)
  return { entries: rows.map(toEntry), ...token }
}

export async function pageOfAllAudit(
  deps: { readonly db: Db },
  query: PageQuery,
): Promise<Entries<TenantAuditEntry>> {
  const { rows, ...token } = await readEntries(deps, undefined, query)
  const tenantOf = ({ tenantId }: ListedAuditEntry) => (tenantId === noTenant ? null : tenantId)
  return { entries: rows.map((row) => ({ ...toEntry(row), tenant_id: tenantOf(row) })), ...token }
}

async function readEntries(
  { db }: { readonly db: Db },
  tenantId: string | undefined,
  query: PageQuery,
) {
  const page = readPage(query, tenantId === undefined ? 'all audit' : 'audit', /^[0-9A-Z]{26}$/)
  const { before, limit } = page
  const found = await listAuditEntries(db, { tenantId, before, limit: limit + 1 })
  return cutPage(found, page, (row) => row.entryId)
}

function toEntry(entry: ListedAuditEntry): AuditEntry {
  const { actor, operation, target, from, status, requestId } = entry
  const at = entry.at.toISOString()
  return { at, actor, operation, target, from, status, request_id: requestId }
}
