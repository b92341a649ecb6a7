/** A list of the service, page after page. */
import type { PagedList } from '@postrider/client'
import { useInfiniteQuery } from '@tanstack/react-query'

export interface Pages<Entry> {
  /** Undefined: the first page has not come yet. */
  readonly entries: readonly Entry[] | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly isLoadingMore: boolean
  readonly hasMore: boolean
  /** So many pages had nothing that whether to go on is for the reader to say. */
  readonly isFruitless: boolean
  loadMore(): void
  retry(): void
}

const emptyPagesMax = 20

/** Of the numbers of entries, page by page. Who goes on then looks through another so many pages. */
export function isFruitless(counts: readonly number[]): boolean {
  const empty = counts.length - 1 - counts.findLastIndex((count) => count > 0)
  return empty > 0 && empty % emptyPagesMax === 0
}

/** All pages are asked for again, one after the other: of a long list only when the reader wants it. */
const refreshedPagesMax = 4

function isFew(query: {
  readonly state: { readonly data: { readonly pages: readonly unknown[] } | undefined }
}) {
  return (query.state.data?.pages.length ?? 0) <= refreshedPagesMax
}

/**
 * `list` calls an operation such as `listMailers`, `name` is the field of its entries. `refreshMs`: how often
 * the pages that are shown are asked for again.
 */
export function usePages<
  Entry,
  Name extends string,
  Answer extends { readonly nextPageToken?: string | null | undefined } & Readonly<
    Record<Name, readonly Entry[]>
  >,
>(o: {
  readonly key: readonly unknown[]
  readonly name: Name
  readonly list: (
    page: { readonly pageToken?: string },
    options: { readonly signal: AbortSignal },
  ) => PagedList<Answer, Entry>
  readonly enabled?: boolean
  readonly refreshMs?: number
}): Pages<Entry> {
  const query = useInfiniteQuery({
    queryKey: o.key,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await o.list(pageParam === undefined ? {} : { pageToken: pageParam }, { signal }),
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    enabled: o.enabled ?? true,
    refetchInterval: (asked) => isFew(asked) && (o.refreshMs ?? false),
    refetchOnWindowFocus: isFew,
    refetchOnMount: isFew,
    refetchOnReconnect: isFew,
    placeholderData: (before) => before,
  })
  const found = query.data?.pages.map((page): readonly Entry[] => page[o.name])
  return {
    entries: found?.flat(),
    error: query.error,
    isLoading: query.isPending,
    isLoadingMore: query.isFetchingNextPage,
    hasMore: query.hasNextPage,
    isFruitless: isFruitless(found?.map(({ length }) => length) ?? []),
    loadMore: () => void query.fetchNextPage({ cancelRefetch: false }),
    retry: () => void query.refetch(),
  }
}
