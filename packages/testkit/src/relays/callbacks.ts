/**
 * How providers call back: what has happened is gathered, and posted in batches that may come twice,
 * late or out of order, each again until it is accepted.
 */
import { randomUUID } from 'node:crypto'
import { createSignal } from '../signal.ts'

export interface CallbackShape {
  /** Events in one request; as many as there are, unless given. */
  readonly batchMax?: number
  /** In another order, some left out, some twice: what is returned is posted. */
  readonly arrange?: (events: readonly unknown[]) => readonly unknown[]
  /** How often each request is made again although it was accepted. */
  readonly repeats?: number
  /** Batches that are under way at once, as from so many servers. */
  readonly parallel?: number
  /** In place of the webhook's address: another process behind it. */
  readonly target?: string
  /** In place of what the request would have: a header that is undefined is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** In place of the body that its signature was made over. */
  readonly tamper?: (body: string) => string
  readonly attemptsMax?: number
  /** Before the second attempt; doubled for each that follows. */
  readonly retryDelayMs?: number
}

export interface CallbackBatch {
  /** The same for every attempt and repetition. */
  readonly id: string
  readonly events: readonly unknown[]
  readonly attempts: readonly CallbackAttempt[]
  readonly isAccepted: boolean
}

export interface CallbackAttempt {
  /** Undefined where there was no answer. */
  readonly status: number | undefined
  readonly error?: string
}

export interface CallbackManner {
  readonly url: string
  /** As the provider writes a batch. */
  write(events: readonly unknown[]): string
  /** Of one attempt: made anew for each. */
  headers(body: string, batchId: string): Readonly<Record<string, string>>
  isAccepted(status: number): boolean
  readonly timeoutMs: number
  readonly attemptsMax: number
}

export interface Caller<Shape extends CallbackShape> {
  readonly batches: readonly CallbackBatch[]
  /** What has happened: posted at once, unless it is to wait. */
  gather(events: readonly unknown[]): void
  /** How events are posted from now on; `manual`: only by `post`. */
  setShape(shape: Shape | 'manual'): void
  /** What has gathered, or these events. Resolves when each batch has been accepted or given up. */
  post(o?: Shape & { readonly events?: readonly unknown[] }): Promise<CallbackBatch[]>
  /** Beside all of that: a ping, a test. */
  postTo(
    manner: CallbackManner,
    events: readonly unknown[],
    shape?: CallbackShape,
  ): Promise<CallbackBatch[]>
  /** Once nothing is under way, nor about to be. */
  settled(timeoutMs?: number): Promise<void>
  close(): void
}

/** `mannerOf`: undefined while nobody is to be called. */
export function createCaller<Shape extends CallbackShape>(
  mannerOf: (shape: Partial<Shape>) => CallbackManner | undefined,
): Caller<Shape> {
  const batches: CallbackBatch[] = []
  const closing = new AbortController()
  const changed = createSignal()
  const gathered: unknown[] = []
  let shapeNow: Shape | 'manual' | undefined
  let underWay = 0

  const during = async <T>(work: () => Promise<T>): Promise<T> => {
    underWay += 1
    try {
      return await work()
    } finally {
      underWay -= 1
      changed.notify()
    }
  }

  const postTo: Caller<Shape>['postTo'] = async (manner, events, shape = {}) => {
    const made = divide(shape.arrange?.(events) ?? events, shape.batchMax).map(newBatch)
    batches.push(...made)
    await during(() => deliverAll(made, { manner, shape, closing: closing.signal }))
    return made
  }

  const post: Caller<Shape>['post'] = async (o) => {
    const manner = mannerOf(o ?? {})
    if (manner === undefined) throw new Error('no webhook is registered')
    return postTo(manner, o?.events ?? gathered.splice(0), o)
  }

  return {
    batches,
    gather(events) {
      gathered.push(...events)
      const shape = shapeNow
      if (shape === 'manual' || mannerOf(shape ?? {}) === undefined) return
      // After the answer, as a rule; what is gathered by then goes in one batch.
      const later = Promise.withResolvers<void>()
      setImmediate(later.resolve)
      during(async () => {
        await later.promise
        if (gathered.length > 0) await post(shape)
      }).catch((error: unknown) => {
        // The webhook was deleted meanwhile.
        if (mannerOf(shape ?? {}) !== undefined) throw error
      })
    },
    setShape(next) {
      shapeNow = next
    },
    post,
    postTo,
    settled: (timeoutMs) =>
      changed.until(() => underWay === 0, {
        timeoutMs,
        describe: () => `${underWay} callbacks are under way`,
      }),
    close() {
      changed.close('the provider was closed')
      closing.abort()
    },
  }
}

interface Batch extends CallbackBatch {
  readonly attempts: CallbackAttempt[]
  isAccepted: boolean
}

interface Way {
  readonly manner: CallbackManner
  readonly shape: CallbackShape
  /** Ends what is under way, and all waiting. */
  readonly closing: AbortSignal
}

function newBatch(events: readonly unknown[]): Batch {
  return { id: randomUUID(), events, attempts: [], isAccepted: false }
}

async function deliverAll(batches: readonly Batch[], way: Way): Promise<void> {
  const { repeats = 0, parallel = 1 } = way.shape
  const queue = [...batches]
  const server = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      for (let times = 0; times <= repeats; times += 1) await deliver(batch, way)
    }
  }
  await Promise.all(Array.from({ length: parallel }, server))
}

/** Until it is accepted or given up. */
async function deliver(batch: Batch, way: Way): Promise<void> {
  const { manner, shape, closing } = way
  const body = manner.write(batch.events)
  const attemptsMax = shape.attemptsMax ?? manner.attemptsMax
  for (let attempt = 1; attempt <= attemptsMax && !closing.aborted; attempt += 1) {
    const result = await request(batch.id, body, way)
    batch.attempts.push(result)
    if (result.status !== undefined && manner.isAccepted(result.status)) {
      batch.isAccepted = true
      return
    }
    if (attempt < attemptsMax) await pause((shape.retryDelayMs ?? 25) * 2 ** (attempt - 1), closing)
  }
}

async function request(
  id: string,
  body: string,
  { manner, shape, closing }: Way,
): Promise<CallbackAttempt> {
  try {
    const response = await fetch(shape.target ?? manner.url, {
      method: 'POST',
      headers: withChanges(manner.headers(body, id), shape.headers ?? {}),
      body: shape.tamper?.(body) ?? body,
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(manner.timeoutMs)]),
    })
    await response.arrayBuffer()
    return { status: response.status }
  } catch (error) {
    return { status: undefined, error: String(error) }
  }
}

/** Ends early when it is aborted. */
function pause(ms: number, closing: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    closing.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function divide(events: readonly unknown[], size = events.length): (readonly unknown[])[] {
  if (events.length === 0) return [events]
  const parts: (readonly unknown[])[] = []
  for (let at = 0; at < events.length; at += size) parts.push(events.slice(at, at + size))
  return parts
}

function withChanges(
  headers: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const entries = Object.entries({ ...headers, ...changes })
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
