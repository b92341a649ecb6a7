/**
 * All entries of a list, page after page (contract §2).
 *
 * A page may be empty and not the last. The service gives a new token with every page, so one that
 * comes again would go round for ever: it is refused as no answer of the service.
 */
import { abortedBy, PostriderError } from './errors.ts'
import type { RequestOptions } from './request.ts'

export interface Page<Entry> {
  readonly entries: readonly Entry[]
  readonly nextPageToken?: string | undefined
}

/** `pageToken` is where to begin; undefined: at the first page. Ends with the signal also within a page. */
export async function* eachEntry<Entry>(
  pageToken: string | undefined,
  fetchPage: (pageToken: string | undefined) => Promise<Page<Entry>>,
  { signal }: Pick<RequestOptions, 'signal'> = {},
): AsyncGenerator<Entry, void, undefined> {
  for (let token = pageToken; ; ) {
    const { entries, nextPageToken } = await fetchPage(token)
    for (const entry of entries) {
      if (signal?.aborted) throw abortedBy(signal)
      yield entry
    }
    if (nextPageToken === undefined) return
    if (nextPageToken === token) throw repeated()
    token = nextPageToken
  }
}

/** The same of an operation that lists: its filter says where to begin, and stays for every page. */
export function eachListed<
  Filter extends { readonly pageToken?: string },
  Answer extends { readonly nextPageToken?: string },
  Entry,
>(
  filter: Filter,
  o: {
    readonly list: (page: Filter) => Promise<Answer>
    readonly entriesOf: (answer: Answer) => readonly Entry[]
    readonly options: RequestOptions | undefined
  },
): AsyncGenerator<Entry, void, undefined> {
  return eachEntry(
    filter.pageToken,
    async (pageToken) => {
      const answer = await o.list(pageToken === undefined ? filter : { ...filter, pageToken })
      return { entries: o.entriesOf(answer), nextPageToken: answer.nextPageToken }
    },
    o.options,
  )
}

/** A list that is asked for once it is wanted: awaited its first page, gone through all its entries. */
export type PagedList<Answer, Entry> = Promise<Answer> & AsyncIterable<Entry>

export function pagedList<Answer, Entry>(
  firstPage: () => Promise<Answer>,
  entries: () => AsyncIterator<Entry>,
): PagedList<Answer, Entry> {
  let asked: Promise<Answer> | undefined
  const ask = () => {
    asked ??= firstPage()
    return asked
  }
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting it is what makes the request
    then: (onFulfilled, onRejected) => ask().then(onFulfilled, onRejected),
    catch: (onRejected) => ask().catch(onRejected),
    finally: (onFinally) => ask().finally(onFinally),
    [Symbol.toStringTag]: 'Promise',
    [Symbol.asyncIterator]: entries,
  }
}

function repeated(): PostriderError {
  const message = 'The answer names itself as the next page'
  return new PostriderError(message, { status: 200, code: 'unexpected_response' })
}
