/** One HTTP request with a deadline over connecting, headers and body. */
import { answerTooLarge, timedOut } from './errors.ts'
import { type Line, openLine } from './line.ts'

export interface AttemptInput {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: string | Uint8Array<ArrayBuffer> | Blob | undefined
  /** Whether cookies go along. */
  readonly credentials?: 'include'
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export interface WholeAnswer {
  readonly response: Response
  readonly text: string
}

export async function runAttempt(input: AttemptInput): Promise<WholeAnswer> {
  const line = openLine(input.signal)
  try {
    return await line.within(input.timeoutMs, timedOut, async () => {
      const response = await begin(input, line)
      return { response, text: await readText(response, line) }
    })
  } finally {
    line.close()
  }
}

export function begin(input: AttemptInput, { signal }: Line): Promise<Response> {
  return input.fetch(input.url, {
    method: input.method,
    headers: input.headers,
    ...(input.body !== undefined && { body: input.body }),
    // A followed redirect could turn a POST into a GET; the service never redirects.
    redirect: 'manual',
    ...(input.credentials !== undefined && { credentials: input.credentials }),
    signal,
  })
}

/** The service's largest answer is far smaller; a peer that never ends must not fill the memory. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

export async function readText(response: Response, line: Line): Promise<string> {
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
      line.end(answerTooLarge(response.status))
      return text
    }
    text += decoder.decode(value, { stream: true })
  }
}
