/**
 * Pages of a list (docs/reference/http.md#lists): keyset, newest first, with an opaque token.
 *
 * A token is the last id of its page with a digest of it and of the list and the filters that it
 * belongs to: with other filters it would go on in the middle of another list, and one that was cut or
 * changed on the way somewhere else. It carries no right: every query stays within its tenant whatever
 * the token says.
 */
import { createHash } from 'node:crypto'
import { type PageQuery, pageSizeDefault } from '@postrider/contract'
import { validationError } from '../errors.ts'

export interface Page {
  readonly limit: number
  /** Ids below this one; none on the first page. */
  readonly before: string | undefined
  /** Of its tokens: names the list and its filters. */
  readonly mark: string
}

const DIGEST_CHARS = 22

/** What else the query holds are the filters. */
export function readPage(
  { pageSize, pageToken, ...filters }: PageQuery,
  list: string,
  idPattern: RegExp,
): Page {
  const mark = list + filtersOf(filters)
  return {
    limit: pageSize ?? pageSizeDefault,
    before: pageToken === undefined ? undefined : decode(pageToken, mark, idPattern),
    mark,
  }
}

function filtersOf(filters: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  return `?${JSON.stringify(given.sort(([a], [b]) => (a < b ? -1 : 1)))}`
}

/** From one row more than was asked for: that row shows that there is another page. */
export function cutPage<Row>(
  rows: readonly Row[],
  page: Page,
  idOf: (row: Row) => string,
): { rows: Row[]; nextPageToken?: string } {
  const kept = rows.slice(0, page.limit)
  const last = kept.at(-1)
  if (rows.length <= page.limit || last === undefined) return { rows: kept }
  return { rows: kept, nextPageToken: pageTokenAfter(page, idOf(last)) }
}

/** Of the page that begins below this id. */
export function pageTokenAfter({ mark }: Pick<Page, 'mark'>, id: string): string {
  const digest = createHash('sha256').update(`${mark}:${id}`).digest('base64url')
  return Buffer.from(`${id}:${digest.slice(0, DIGEST_CHARS)}`).toString('base64url')
}

function decode(token: string, mark: string, idPattern: RegExp): string {
  const text = Buffer.from(token, 'base64url').toString('latin1')
  const id = text.slice(0, -DIGEST_CHARS - 1)
  if (!idPattern.test(id) || pageTokenAfter({ mark }, id) !== token)
    throw validationError({
      path: '/pageToken',
      message: 'is not a token of this list with these filters',
    })
  return id
}
