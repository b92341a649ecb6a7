/**
 * One absolute deadline over several steps of network work.
 *
 * Idle time-outs are no deadline: a peer that sends a byte now and then holds them off for ever.
 * The signal aborts with the EgressError that the whole work then fails with.
 */
import { EgressError } from './egress-error.ts'

export async function withDeadline<T>(
  o: {
    readonly timeoutMs: number
    readonly signal?: AbortSignal | undefined
    readonly what: string
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = () =>
    controller.abort(
      new EgressError('aborted', `${o.what} was stopped`, { cause: o.signal?.reason }),
    )
  const timer = setTimeout(
    () =>
      controller.abort(
        new EgressError('timeout', `${o.what} took too long`, { systemCode: 'ETIMEDOUT' }),
      ),
    Math.max(0, o.timeoutMs),
  )
  o.signal?.addEventListener('abort', abort, { once: true })
  try {
    if (o.signal?.aborted) abort()
    controller.signal.throwIfAborted()
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    o.signal?.removeEventListener('abort', abort)
  }
}

/** For work that cannot be stopped, only abandoned (a name lookup that others may share). */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
