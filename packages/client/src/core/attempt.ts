/**
 * One HTTP request with an absolute deadline over connecting, headers and body.
 *
 * The caller's signal and the deadline are raced against the request, not only handed to it, so
 * that a `fetch` that ignores its signal delays nobody. Timer and listener are gone when it ends.
 */
import type { RawAnswer } from './answer.ts'
import { abortedBy, answerTooLarge, connectionFailed, timedOut } from './errors.ts'

export interface AttemptInput {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export async function runAttempt(input: AttemptInput): Promise<RawAnswer> {
  const { signal, timeoutMs } = input
  if (signal?.aborted) throw abortedBy(signal)
  const controller = new AbortController()
  const stopped = deferred()
  const stop = (error: Error) => {
    stopped.reject(error)
    controller.abort(error)
  }
  const onAbort = signal && (() => stop(abortedBy(signal)))
  const timer = setTimeout(() => stop(timedOut(timeoutMs)), timeoutMs)
  if (onAbort) signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([
      stopped.promise,
      exchange({ ...input, abort: stop }, controller.signal),
    ])
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    throw connectionFailed(error)
  } finally {
    clearTimeout(timer)
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

interface Exchange extends AttemptInput {
  readonly abort: (error: Error) => void
}

async function exchange(input: Exchange, signal: AbortSignal): Promise<RawAnswer> {
  const response = await input.fetch(input.url, {
    method: input.method,
    headers: input.headers,
    ...(input.body !== undefined && { body: input.body }),
    // A followed redirect could turn a POST into a GET; the service never redirects.
    redirect: 'manual',
    signal,
  })
  const text = await readText(response, () => input.abort(answerTooLarge(response.status)))
  return { status: response.status, headers: response.headers, text }
}

/** The service's largest answer is far smaller; a peer that never ends must not fill the memory. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

async function readText(response: Response, refuse: () => void): Promise<string> {
  // A `fetch` of the caller's own may have no stream.
  if (response.body == null) return response.text()
  const decoder = new TextDecoder()
  const reader = response.body.getReader()
  let text = ''
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > ANSWER_BYTES_MAX) {
      refuse()
      return text
    }
    text += decoder.decode(value, { stream: true })
  }
}

function deferred(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise
  })
  return { promise, reject }
}
