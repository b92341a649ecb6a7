/** Reads the body of a request and never holds more of it than the handler takes. */
import { WebhookError } from './webhook-error.ts'

export async function readBody(
  request: Request,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (request.bodyUsed) throw new WebhookError('interrupted', 'The body has been read before')
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  if (!request.body) return new Uint8Array(0)
  const reader = request.body.getReader()
  const stop = () => cancel(reader)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await readAll(reader, bytesMax, signal)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function readAll(reader: Reader, bytesMax: number, signal: AbortSignal) {
  const chunks: Uint8Array[] = []
  for (let bytes = 0; ; ) {
    const chunk = await next(reader)
    // A reader that was cancelled ends like one that has come to the end.
    signal.throwIfAborted()
    if (chunk === undefined) return join(chunks, bytes)
    bytes += chunk.byteLength
    if (bytes > bytesMax) {
      cancel(reader)
      throw tooLarge(bytesMax)
    }
    chunks.push(chunk)
  }
}

async function next(reader: Reader): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read()
    return done ? undefined : value
  } catch (error) {
    if (error instanceof WebhookError) throw error
    throw new WebhookError('interrupted', 'The body ended early', { cause: error })
  }
}

/** Not awaited: it need not end before the answer, and how it ends changes nothing. */
function cancel(reader: Reader): void {
  reader.cancel().catch(() => undefined)
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1) return first
  const whole = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

function tooLarge(bytesMax: number): WebhookError {
  return new WebhookError('too_large', `The body is larger than ${bytesMax} bytes`)
}
