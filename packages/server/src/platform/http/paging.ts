/**
 * Pages of a list (contract §2): keyset, newest first, with an opaque token.
 *
 * A token is the last id of its page, marked with the list that it belongs to. It is checked for
 * that shape and carries no right: every query stays within its tenant whatever the token says.
 */
import { type PageQuery, pageSizeDefault } from '@postrider/contract'
import { validationError } from '../errors.ts'

export interface Page {
  readonly limit: number
  /** Ids below this one; none on the first page. */
  readonly before: string | undefined
}

export function readPage(query: PageQuery, list: string, idPattern: RegExp): Page {
  return {
    limit: query.pageSize ?? pageSizeDefault,
    before: query.pageToken === undefined ? undefined : decode(query.pageToken, list, idPattern),
  }
}

/** From one row more than was asked for: that row shows that there is another page. */
export function cutPage<Row>(
  rows: readonly Row[],
  page: Page,
  list: string,
  idOf: (row: Row) => string,
): { rows: Row[]; nextPageToken?: string } {
  const kept = rows.slice(0, page.limit)
  const last = kept.at(-1)
  if (rows.length <= page.limit || last === undefined) return { rows: kept }
  return { rows: kept, nextPageToken: pageTokenAfter(list, idOf(last)) }
}

/** Of the page that begins below this id. */
export function pageTokenAfter(list: string, id: string): string {
  return Buffer.from(`${list}:${id}`).toString('base64url')
}

function decode(token: string, list: string, idPattern: RegExp): string {
  const text = Buffer.from(token, 'base64url').toString('latin1')
  const id = text.slice(list.length + 1)
  if (pageTokenAfter(list, id) !== token || !text.startsWith(`${list}:`) || !idPattern.test(id))
    throw validationError({ path: '/pageToken', message: 'is not a token of this list' })
  return id
}
