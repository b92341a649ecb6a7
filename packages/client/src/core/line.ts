/**
 * One way to break off whatever belongs to a request: by the caller's signal, by time, by what comes.
 *
 * The request is raced against its end, not only notified of it, so that a `fetch` that ignores its
 * signal delays nobody. `close` takes the listener off the caller's signal.
 */
import { abortedBy, connectionFailed, PostriderError } from './errors.ts'

export interface Line {
  /** For `fetch`. */
  readonly signal: AbortSignal
  end(error: unknown): void
  close(): void
  /** Notified of the end, unless the line was closed before. */
  onEnd(listener: (error: unknown) => void): void
  /** Rejects with a `PostriderError` whatever happens, and then the line has ended. */
  within<T>(ms: number, late: (ms: number) => Error, work: () => Promise<T>): Promise<T>
}

export function openLine(outer: AbortSignal | undefined): Line {
  const controller = new AbortController()
  let tell: (error: unknown) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const ended = new Promise<never>((_, rejectEnded) => {
    reject = rejectEnded
  })
  // Nobody may be waiting when it ends.
  ended.catch(() => undefined)
  const close = () => outer?.removeEventListener('abort', onAbort)
  const end = (error: unknown) => {
    close()
    reject(error)
    controller.abort(error)
    tell(error)
  }
  const onAbort = () => outer && end(abortedBy(outer))
  if (outer?.aborted) onAbort()
  else outer?.addEventListener('abort', onAbort)
  return {
    signal: controller.signal,
    end,
    close,
    onEnd(listener) {
      tell = listener
    },
    async within(ms, late, work) {
      if (controller.signal.aborted) throw controller.signal.reason
      const timer = setTimeout(() => end(late(ms)), ms)
      try {
        return await Promise.race([ended, work()])
      } catch (error) {
        if (controller.signal.aborted) throw controller.signal.reason
        const failure = error instanceof PostriderError ? error : connectionFailed(error)
        end(failure)
        throw failure
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
