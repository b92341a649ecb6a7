/** Usernames of a domain, newest first, keyset (docs/reference/http.md#lists). */
import type { ListInboundUsernamesQuery } from '@postrider/contract'
import type { Queryable } from '../../../platform/db/index.ts'
import { cutPage, readPage } from '../../../platform/http/paging.ts'
import type { RoutedUsername } from '../domain.ts'
import { ULID } from '../list-domains.ts'
import { readDomain } from '../read-domain.ts'
import { withWebhooks } from './read-username.ts'
import { listUsernames } from './username-store.ts'

export async function listInboundUsernames(
  { db }: { readonly db: Queryable },
  tenantId: string,
  name: string,
  query: ListInboundUsernamesQuery,
): Promise<{ usernames: RoutedUsername[]; nextPageToken?: string }> {
  const { domain } = await readDomain(db, tenantId, name)
  const page = readPage(query, `inbound-usernames/${domain.id}`, ULID)
  const { before, limit } = page
  const found = await listUsernames(db, domain, { before, limit: limit + 1 })
  const { rows, ...next } = cutPage(found, page, ({ id }) => id)
  return { usernames: await withWebhooks(db, domain, rows), ...next }
}
