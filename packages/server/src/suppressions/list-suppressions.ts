/** listSuppressions (docs/reference/http.md#lists): newest first, all, of one reason or of one address. */
import type { ListSuppressionsQuery, Suppression } from '@postrider/contract'
import { addressKeyOf } from '@postrider/mail'
import type { Db } from '../platform/db/index.ts'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { timeOfUlid } from '../platform/ids.ts'
import { readAddress } from './read-address.ts'
import * as store from './store.ts'

const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export async function listSuppressions(
  { db }: { readonly db: Db },
  tenantId: string,
  query: ListSuppressionsQuery,
): Promise<{ suppressions: Suppression[]; nextPageToken?: string }> {
  const { email, reason } = query
  const page = readPage(query, 'suppressions', ID)
  if (email !== undefined) {
    const emailKey = addressKeyOf(readAddress(email).address)
    const found = await store.getSuppression(db, { tenantId, emailKey })
    const isWanted = found !== undefined && (reason === undefined || found.reason === reason)
    return { suppressions: isWanted ? [toSuppression(found)] : [] }
  }
  const found = await store.listSuppressions(db, {
    tenantId,
    reason,
    before: page.before,
    limit: page.limit + 1,
  })
  const { rows, ...token } = cutPage(found, page, (row) => row.id)
  return { suppressions: rows.filter((row) => !row.hasEnded).map(toSuppression), ...token }
}

export function toSuppression(row: store.SuppressionRow): Suppression {
  const { email, reason, source, note, id, expiresAt } = row
  return {
    ...{ email, reason, source, note },
    created_at: timeOfUlid(id).toISOString(),
    expires_at: expiresAt === null ? null : expiresAt.toISOString(),
  }
}
