/**
 * exportSuppressions (docs/reference/suppressions.md#exporting): all that are not sent to, newest first, page
 * after page. One page is held at a time, and no transaction is open between two.
 *
 * The first page is read before anything is answered, so that a database that is away is an ordinary
 * refusal. What fails later cuts the connection, so that no part is taken for the whole.
 */

import type { Db } from '../../platform/db/index.ts'
import { toCsvField } from '../../platform/values/csv-field.ts'
import { toSuppression } from '../list-suppressions.ts'
import { type ListedRow, listSuppressions } from '../store.ts'

const PAGE = 1_000
const HEADER = 'email,reason,source,note,created_at,expires_at\r\n'

export async function exportSuppressions(
  { db }: { readonly db: Db },
  tenantId: string,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void, undefined>> {
  const pageAt = (before: string | undefined) =>
    listSuppressions(db, { tenantId, reason: undefined, before, limit: PAGE })
  const first = await pageAt(undefined)
  return textOf()

  async function* textOf(): AsyncGenerator<string, void, undefined> {
    yield HEADER
    for (let page = first; page.length > 0; page = await pageAt(page.at(-1)?.id)) {
      yield page
        .filter((row) => !row.hasEnded)
        .map(toLine)
        .join('')
      if (page.length < PAGE || signal.aborted) return
    }
  }
}

function toLine(row: ListedRow): string {
  const { email, reason, source, note, created_at, expires_at } = toSuppression(row)
  const fields = [
    email,
    reason,
    source === null ? null : JSON.stringify(source),
    note,
    created_at,
    expires_at,
  ]
  return `${fields.map(toCsvField).join()}\r\n`
}
