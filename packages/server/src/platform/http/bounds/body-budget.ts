/**
 * Bounds the memory and the time of request bodies, of every route and every size.
 *
 * Memory is taken as bytes arrive, not by what a request declares, and given back when the request is
 * over. A body that does not fit is refused (503); so is one whose declared length does not fit
 * when it begins, which spares its caller the upload. The groups are tenants; without one, addresses.
 *
 * A body that stops arriving, or drips, is ended (408): it would hold its memory for as long as a request
 * may last.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { networkOf } from '../../limits/address-network.ts'
import { createBodyMemory } from './body-memory.ts'

const MIB = 1024 * 1024

export interface BodyLimits {
  /** A body is held about three times while it is parsed: a fraction of what the process may use. */
  readonly sharedBytesMax: number
  /** One ordinary body, with what its chunks take. */
  readonly ownBytesMax: number
  readonly ownBytesInAllMax: number
  /** Of each time of `rateWindowMs` in which a body is not complete. */
  readonly bytesPerSecondMin: number
  readonly rateWindowMs: number
}

export const bodyLimits: BodyLimits = {
  sharedBytesMax: 256 * MIB,
  ownBytesMax: 1.5 * MIB,
  ownBytesInAllMax: 192 * MIB,
  bytesPerSecondMin: 1_024,
  rateWindowMs: 10_000,
}

export const bodyBounds = ['body-memory', 'body-rate'] as const

/** What a chunk takes beside its bytes: chunked bodies may have chunks of one byte. */
const CHUNK_BYTES = 128
const RETRY_AFTER_S = 1

/** One that is on its way. */
export interface Body {
  readonly group: string
  readonly refuse: (refusal: ApiError) => void
  readonly isComplete: () => boolean
  takenBytes: number
  isRefused: boolean
  windowFromMs: number
  windowBytes: number
}

declare module 'fastify' {
  interface FastifyRequest {
    arriving: Body | undefined
  }
}

export interface BodyBudget {
  /** Of a request that is over. */
  end(request: FastifyRequest): void
  /** Ends bodies that come too slowly. */
  sweep(): void
  takenBytes(): number
}

export function boundBodies(
  app: FastifyInstance,
  o: { readonly limits?: Partial<BodyLimits> | undefined; readonly monotonicMs: () => number },
): BodyBudget {
  const limits = { ...bodyLimits, ...o.limits }
  const memory = createBodyMemory(limits)
  const arriving = new Set<Body>()
  const windowBytesMin = (limits.bytesPerSecondMin * limits.rateWindowMs) / 1000

  function refuse(body: Body, refusal: ApiError): void {
    forget(body)
    body.isRefused = true
    body.refuse(refusal)
  }

  function forget(body: Body): void {
    arriving.delete(body)
    memory.giveBack(body.group, body.takenBytes)
    body.takenBytes = 0
  }

  app.decorateRequest('arriving', undefined)
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { headers, method } = request
    const length = headers['content-length']
    const isEmpty =
      length === undefined ? headers['transfer-encoding'] === undefined : length === '0'
    // The framework reads no body of a GET. An upload is bounded by who reads it.
    const isUpload = request.routeOptions.config.uploads !== undefined
    if (isEmpty || isUpload || method === 'GET' || method === 'HEAD') return done()
    const group = groupOf(request)
    const declared = Math.min(Number(length ?? 0), request.routeOptions.bodyLimit ?? 0)
    if (!memory.hasRoom(group, declared)) return done(noRoom())
    const body: Body = {
      group,
      refuse(refusal) {
        // Without a reader it was answered, and an error that nobody takes would end the process.
        if (payload.listenerCount('error') > 0) payload.emit('error', refusal)
      },
      isComplete: () => request.raw.complete,
      takenBytes: 0,
      isRefused: false,
      windowFromMs: o.monotonicMs(),
      windowBytes: 0,
    }
    request.arriving = body
    arriving.add(body)
    payload.on('data', (chunk: Buffer) => {
      // The rest of a refused body is passed over, and held by nobody.
      if (body.isRefused || reply.sent) return
      const bytes = chunk.length + CHUNK_BYTES
      if (!memory.take(group, bytes)) return refuse(body, noRoom())
      body.takenBytes += bytes
      body.windowBytes += chunk.length
    })
    done()
  })

  return {
    end({ arriving: body }) {
      if (body !== undefined) forget(body)
    },
    sweep() {
      const nowMs = o.monotonicMs()
      for (const body of arriving) {
        if (body.isComplete()) arriving.delete(body)
        else if (nowMs - body.windowFromMs >= limits.rateWindowMs) {
          if (body.windowBytes < windowBytesMin) refuse(body, tooSlow(limits))
          body.windowFromMs = nowMs
          body.windowBytes = 0
        }
      }
    },
    takenBytes: () => memory.bytes,
  }
}

function groupOf({ identity, routeOptions, clientAddress }: FastifyRequest): string {
  if (identity !== undefined) return identity.tenantId
  return routeOptions.config.auth === 'admin' ? 'operator' : networkOf(clientAddress)
}

function noRoom(): ApiError {
  return new ApiError('unavailable', {
    message: 'Too many request bodies at once',
    retryAfterS: RETRY_AFTER_S,
    bound: 'body-memory',
  })
}

function tooSlow({ bytesPerSecondMin }: BodyLimits): ApiError {
  return new ApiError('request_timeout', {
    message: `The body comes too slowly: send at least ${bytesPerSecondMin} bytes a second`,
    headers: { connection: 'close' },
    bound: 'body-rate',
  })
}
