/**
 * Tries several ways in turn and takes the first that succeeds. The next one begins when one fails, or
 * after a while, so that a way without any answer delays the others by that while only. `signal`
 * tells those that are under way that one has succeeded.
 */
export async function firstOf<I, R>(
  items: readonly I[],
  o: {
    readonly nextAfterMs: number
    readonly attempt: (item: I, signal: AbortSignal) => Promise<R>
  },
): Promise<R> {
  const over = new AbortController()
  const failures: unknown[] = items.map(() => undefined)
  const { promise, resolve, reject } = Promise.withResolvers<R>()
  let begun = 0
  let failed = 0
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    clearTimeout(timer)
    const index = begun
    const item = items[index]
    if (item === undefined || over.signal.aborted) return
    begun += 1
    timer = setTimeout(begin, o.nextAfterMs)
    o.attempt(item, over.signal).then(resolve, (error: unknown) => {
      failures[index] = error
      failed += 1
      if (failed === items.length) reject(new AggregateError(failures, 'all of them failed'))
      else begin()
    })
  }
  begin()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}
