/**
 * An answer that is taken as it comes: a text of any length (contract §3.6, exports).
 *
 * The time-out is that of its beginning; its reader decides how long the rest may take. It is
 * asked for once: what was read already cannot be taken back.
 */
import { readAnswer } from './answer.ts'
import { abortedBy, connectionFailed, PostriderError, timedOut } from './errors.ts'

export async function openStream(o: {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly headers: Headers
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}): Promise<ReadableStream<Uint8Array>> {
  const { signal, timeoutMs, url, headers } = o
  if (signal?.aborted) throw abortedBy(signal)
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(timedOut(timeoutMs)), timeoutMs)
  // For as long as the stream lives: aborting ends that too.
  if (signal)
    signal.addEventListener('abort', () => controller.abort(abortedBy(signal)), { once: true })
  try {
    const init = { method: 'GET', headers, redirect: 'manual' as const }
    const response = await o.fetch(url, { ...init, signal: controller.signal })
    if (response.status === 200 && response.body !== null) return response.body
    // No success: this throws what the service says.
    readAnswer(
      { status: response.status, headers: response.headers, text: await response.text() },
      Date.now(),
    )
    const message = 'The answer is no text'
    throw new PostriderError(message, { status: response.status, code: 'unexpected_response' })
  } catch (error) {
    if (error instanceof PostriderError) throw error
    if (controller.signal.aborted) throw controller.signal.reason
    throw connectionFailed(error)
  } finally {
    clearTimeout(timer)
  }
}
