/**
 * Lists (docs/reference/http.md#lists): awaited they are one page, in `for await` all entries, page after
 * page.
 *
 * A page without a token is the last, also where the token is null or empty. A page may be empty and
 * not the last. The service gives a new token with every page, so one that comes again would go round
 * for ever, and so would empty pages without an end: both are refused as no answers of the service.
 */
import type { AnswerPromise } from './answer-promise.ts'
import { abortedBy, PostriderError } from './errors.ts'

export interface Page<Entry> {
  readonly entries: readonly Entry[]
  /** As it came. */
  readonly nextPageToken?: unknown
}

/** One after the other: a filter that fits little may have many. */
export const emptyPagesMax = 100_000

/** `pageToken` is where to begin; undefined: at the first page. Ends with the signal also within a page. */
export async function* eachEntry<Entry>(
  pageToken: string | undefined,
  fetchPage: (pageToken: string | undefined) => Promise<Page<Entry>>,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): AsyncGenerator<Entry, void, undefined> {
  const isRepeated = createRepetitionCheck(pageToken)
  for (let token = pageToken, emptyPages = 0; ; ) {
    const { entries, nextPageToken } = await fetchPage(token)
    for (const entry of entries) {
      if (signal?.aborted) throw abortedBy(signal)
      yield entry
    }
    token = tokenOf(nextPageToken)
    if (token === undefined) return
    if (isRepeated(token)) throw notOurs('The answer names a page that was there before')
    emptyPages = entries.length === 0 ? emptyPages + 1 : 0
    if (emptyPages === emptyPagesMax) throw notOurs(`${emptyPages} pages in a row were empty`)
  }
}

/** Undefined: it was the last page. */
function tokenOf(given: unknown): string | undefined {
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given === 'string') return given
  throw notOurs('The answer has a nextPageToken that is no text')
}

/** Sees every circle in the end, and remembers one token: the one after 1, 2, 4, 8, ... pages. */
function createRepetitionCheck(first: string | undefined): (token: string) => boolean {
  let remembered = first
  let pages = 0
  let renewAt = 1
  return (token) => {
    if (token === remembered) return true
    pages += 1
    if (pages === renewAt) {
      remembered = token
      renewAt *= 2
    }
    return false
  }
}

/**
 * A list that is asked for once it is wanted, and not before: awaited its first page, in `for await`
 * all its entries, each page when it is reached.
 */
export type PagedList<Answer, Entry> = AnswerPromise<Answer> & AsyncIterable<Entry>

type EntryOf<Entries> = Entries extends readonly (infer Entry)[] ? Entry : never

/** `name` is that of the entries in the answer. */
export function pagedList<Answer extends object, Name extends keyof Answer>(o: {
  readonly name: Name
  readonly pageToken: string | undefined
  readonly pageAt: (pageToken: string | undefined) => AnswerPromise<Answer>
  readonly signal: AbortSignal | undefined
}): PagedList<Answer, EntryOf<Answer[Name]>> {
  type Entry = EntryOf<Answer[Name]>
  let asked: AnswerPromise<Answer> | undefined
  const ask = () => {
    asked ??= o.pageAt(o.pageToken)
    return asked
  }
  const entriesAt = async (pageToken: string | undefined): Promise<Page<Entry>> => {
    const answer = await o.pageAt(pageToken)
    const entries: unknown = answer[o.name]
    if (!Array.isArray(entries)) throw notOurs(`The answer has no ${String(o.name)}`)
    const { nextPageToken }: { nextPageToken?: unknown } = answer
    return { entries, nextPageToken }
  }
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting it is what makes the request
    then: (onFulfilled, onRejected) => ask().then(onFulfilled, onRejected),
    catch: (onRejected) => ask().catch(onRejected),
    finally: (onFinally) => ask().finally(onFinally),
    withResponse: () => ask().withResponse(),
    [Symbol.toStringTag]: 'Promise',
    [Symbol.asyncIterator]: () => eachEntry(o.pageToken, entriesAt, o),
  }
}

function notOurs(message: string): PostriderError {
  return new PostriderError(message, { status: 200, code: 'unexpected_response' })
}
