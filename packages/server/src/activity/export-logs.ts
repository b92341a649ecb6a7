/**
 * All logs that fit, as text, page after page (docs/reference/statuses.md#log-filters): one page is held at a
 * time, and no transaction is open between two.
 *
 * The first page is read before anything is answered, so that what is wrong with the request is an
 * ordinary refusal. What fails later ends the text without its end: NDJSON says so in a last line,
 * and in either format the connection is cut, so that no part is taken for the whole.
 */
import { type EmailLog, type ExportEmailLogsQuery, emailLog } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { toCsvField } from '../platform/values/csv-field.ts'
import { listLogs } from './list-logs.ts'

const PAGE = 500

export interface ExportDeps {
  readonly db: Db
  /** A smaller one, for tests. */
  readonly exportPageSize?: number
}

export async function exportLogs(
  { db, exportPageSize: pageSize = PAGE }: ExportDeps,
  tenantId: string,
  { format, ...filters }: ExportEmailLogsQuery,
  signal: AbortSignal,
): Promise<AsyncGenerator<string, void, undefined>> {
  const pageAt = (token: string | undefined) =>
    listLogs({ db }, tenantId, {
      ...filters,
      pageSize,
      ...(token === undefined ? {} : { pageToken: token }),
    })
  const first = await pageAt(undefined)
  return textOf()

  async function* textOf(): AsyncGenerator<string, void, undefined> {
    if (format === 'csv') yield csvHeader
    try {
      for (let page = first; ; ) {
        if (page.logs.length > 0) yield page.logs.map(lineOf).join('')
        // A page may be empty: nobody but the signal tells that nobody listens any more.
        if (page.nextPageToken === undefined || signal.aborted) return
        page = await pageAt(page.nextPageToken)
      }
    } catch (error) {
      if (format === 'ndjson') yield `${JSON.stringify({ error: 'The export broke off' })}\n`
      throw error
    }
  }

  function lineOf(log: EmailLog): string {
    return format === 'csv' ? toCsv(log) : `${JSON.stringify(log)}\n`
  }
}

const COLUMNS = Object.keys(emailLog.properties) as (keyof EmailLog)[]

const csvHeader = `${COLUMNS.join()}\r\n`

function toCsv(log: EmailLog): string {
  return `${COLUMNS.map((name) => toCsvField(log[name])).join()}\r\n`
}
