/**
 * An answer that is taken as it comes: bytes of any length (docs/reference/statuses.md#log-filters).
 *
 * An attempt lasts until the first bytes are there, or the end of an answer without any: up to then
 * nothing has been handed over, so that it may be repeated like any other reading. What was handed
 * over cannot be taken back: after that the stream fails. It fails, too, when its reader has waited
 * for `idleTimeout` in vain; while nobody reads, no time runs.
 */
import { readAnswer } from './answer.ts'
import { type WithResponse, withRequestId } from './answer-promise.ts'
import { type AttemptInput, begin, readText } from './attempt.ts'
import { PostriderError, timedOut, wentSilent } from './errors.ts'
import { type Line, openLine } from './line.ts'

export type ByteStream = ReadableStream<Uint8Array>

export interface StreamInput extends AttemptInput {
  readonly idleTimeoutMs: number
}

/** The line stays open for as long as the stream lives. */
export function openStream(input: StreamInput): Promise<WithResponse<ByteStream>> {
  const line = openLine(input.signal)
  return line.within(input.timeoutMs, timedOut, async () => {
    const response = await begin(input, line)
    if (response.status !== 200) throw await refusalIn(response, line)
    const body = response.body ?? new Blob([await response.arrayBuffer()]).stream()
    const reader = body.getReader()
    const first = await reader.read()
    return withRequestId(response, streamOf(reader, first, line, input.idleTimeoutMs))
  })
}

async function refusalIn(response: Response, line: Line): Promise<PostriderError> {
  const { status, headers } = response
  const body = await readText(response, line)
  readAnswer({ status, headers, text: body }, Date.now())
  return new PostriderError('The answer is no stream', {
    status,
    code: 'unexpected_response',
    body,
  })
}

type Reader = ReadableStreamDefaultReader<Uint8Array>
type Chunk = Awaited<ReturnType<Reader['read']>>

/** Asks for nothing before it is read itself, so that only a reader that waits is waited for. */
function streamOf(reader: Reader, first: Chunk, line: Line, idleTimeoutMs: number): ByteStream {
  let next: Chunk | undefined = first
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => line.onEnd((error) => controller.error(error)),
      async pull(controller) {
        const { done, value } =
          next ?? (await line.within(idleTimeoutMs, wentSilent, () => reader.read()))
        next = undefined
        if (!done) return controller.enqueue(value)
        controller.close()
        line.close()
      },
      cancel(reason) {
        line.close()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
