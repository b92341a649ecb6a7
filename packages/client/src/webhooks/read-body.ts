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

const bytesAtFirst = 16 * 1024

/** Copied at once: a chunk of one octet costs hundreds while it is kept. */
async function readAll(reader: Reader, bytesMax: number, signal: AbortSignal) {
  let body = new Uint8Array(Math.min(bytesAtFirst, bytesMax))
  for (let bytes = 0; ; ) {
    const chunk = await next(reader)
    // A reader that was cancelled ends like one that has come to the end.
    signal.throwIfAborted()
    if (chunk === undefined) return body.subarray(0, bytes)
    const end = bytes + chunk.byteLength
    if (end > bytesMax) {
      cancel(reader)
      throw tooLarge(bytesMax)
    }
    if (end > body.byteLength) {
      const larger = new Uint8Array(Math.min(Math.max(end, body.byteLength * 2), bytesMax))
      larger.set(body.subarray(0, bytes))
      body = larger
    }
    body.set(chunk, bytes)
    bytes = end
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

function tooLarge(bytesMax: number): WebhookError {
  return new WebhookError('too_large', `The body is larger than ${bytesMax} bytes`)
}
