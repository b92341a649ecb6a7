/**
 * Pages of the audit log, newest first: a tenant's, or the operator's over all tenants.
 *
 * A page is one bounded piece of work: it looks at a bounded number of entries. Where few of them fit it is
 * shorter, or even empty, and its token goes on from there.
 */
import type {
  AuditEntry,
  ListAuditOfAllTenantsQuery,
  ListAuditQuery,
  TenantAuditEntry,
} from '@postrider/contract'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { pageTokenAfter, readPage } from '../platform/http/paging.ts'
import { readStartAndEnd } from '../platform/http/read-span.ts'
import { type ListedAuditEntry, listAuditEntries, noTenant } from './audit-store.ts'

interface Deps {
  readonly db: Db
  /** Smaller, for tests. */
  readonly looksMax?: number
}

interface Entries<Entry> {
  readonly entries: Entry[]
  readonly nextPageToken?: string
}

/** Some ten milliseconds of work. */
const LOOKS_MAX = 10_000

export async function pageOfAudit(
  deps: Deps,
  tenantId: string,
  query: ListAuditQuery,
): Promise<Entries<AuditEntry>> {
  const { rows, ...token } = await readEntries(deps, tenantId, query)
  return { entries: rows.map(toEntry), ...token }
}

export async function pageOfAllAudit(
  deps: Deps,
  query: ListAuditOfAllTenantsQuery,
): Promise<Entries<TenantAuditEntry>> {
  const { rows, ...token } = await readEntries(deps, undefined, query)
  const tenantOf = ({ tenantId }: ListedAuditEntry) => (tenantId === noTenant ? null : tenantId)
  return { entries: rows.map((row) => ({ ...toEntry(row), tenant_id: tenantOf(row) })), ...token }
}

async function readEntries(
  { db, looksMax = LOOKS_MAX }: Deps,
  tenantId: string | undefined,
  query: ListAuditQuery,
) {
  const page = readPage(query, tenantId === undefined ? 'all audit' : 'audit', /^[0-9A-Z]{26}$/)
  const { operation, actor, target, start, end } = query
  const span = start === undefined && end === undefined ? undefined : readStartAndEnd(query)
  const filters = { operation, actor, target, span }
  const isFiltered = Object.values(filters).some((one) => one !== undefined)
  const limit = page.limit + 1
  const { entries, reached } = await readInOrder(db, (tx) =>
    listAuditEntries(tx, {
      ...{ tenantId, filters, limit, before: page.before },
      looksMax: isFiltered ? Math.max(looksMax, limit) : limit,
    }),
  )
  const rows = entries.slice(0, page.limit)
  const last = entries.length > page.limit ? rows.at(-1)?.entryId : reached
  return { rows, ...(last === undefined ? {} : { nextPageToken: pageTokenAfter(page, last) }) }
}

function toEntry(entry: ListedAuditEntry): AuditEntry {
  const { actor, operation, target, from, status, requestId, changes } = entry
  const at = entry.at.toISOString()
  return {
    ...{ at, actor, operation, target, from, status, request_id: requestId },
    changes: changes === null ? null : [...changes],
  }
}
