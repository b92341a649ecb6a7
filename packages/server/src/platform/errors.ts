/**
 * A refusal: what a use case throws when the answer is one of the catalogue's errors
 * (docs/reference/errors.md#shape).
 *
 * The public text is the catalogue's unless a more exact one is given; `cause` stays inside and is
 * logged only. Only the HTTP error handler turns one into an answer.
 */
import { type ErrorCode, errorCatalogue, type FieldError } from '@postrider/contract'
import { RefusedError } from '@postrider/runtime/refused-error'

export interface ApiErrorOptions {
  readonly message?: string
  readonly errors?: readonly FieldError[]
  readonly retryAfterS?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The limit that refused it, as the log and the metrics name it. */
  readonly bound?: string
  /** It, or a part of it, may have been done. */
  readonly isOutcomeUnknown?: boolean
  readonly cause?: unknown
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly errors?: readonly FieldError[]
  readonly retryAfterS?: number
  /** Further response headers, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly bound?: string
  readonly isOutcomeUnknown: boolean

  constructor(code: ErrorCode, o: ApiErrorOptions = {}) {
    const { status, message } = errorCatalogue[code]
    super(o.message ?? message, o.cause === undefined ? undefined : { cause: o.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = status
    this.isOutcomeUnknown = o.isOutcomeUnknown ?? false
    if (o.errors !== undefined) this.errors = o.errors
    if (o.retryAfterS !== undefined) this.retryAfterS = o.retryAfterS
    if (o.headers !== undefined) this.headers = o.headers
    if (o.bound !== undefined) this.bound = o.bound
  }
}

/** 429 with the fields of draft-ietf-httpapi-ratelimit-headers (docs/reference/errors.md#shape). */
export function rateLimited(o: {
  /** Names the limit: letters, digits and hyphens. */
  readonly policy: string
  readonly quota: number
  /** Of a limit that is no count at once. */
  readonly windowS?: number
  /** What is left of the quota; none when left out. */
  readonly left?: number
  readonly retryAfterS: number
  readonly message?: string
}): ApiError {
  const { policy, quota, windowS, left = 0, retryAfterS, message } = o
  const window = windowS === undefined ? '' : `;w=${windowS}`
  return new ApiError('rate_limited', {
    ...(message === undefined ? {} : { message }),
    retryAfterS,
    bound: policy,
    headers: {
      'ratelimit-policy': `"${policy}";q=${quota}${window}`,
      ratelimit: `"${policy}";r=${Math.max(0, left)};t=${retryAfterS}`,
    },
  })
}

/** The refusal of a body or query with the fields at fault. */
export function validationError(...errors: readonly FieldError[]): ApiError {
  return new ApiError('validation_failed', { errors })
}

/** What each of them reads. Throws one refusal with the fields at fault of all. */
export function readFields<T extends Record<string, () => unknown>>(
  readers: T,
): { [K in keyof T]: ReturnType<T[K]> } {
  const read: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const [name, reader] of Object.entries(readers))
    try {
      read[name] = reader()
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'validation_failed') throw error
      errors.push(...(error.errors ?? []))
    }
  if (errors.length > 0) throw validationError(...errors)
  return read as { [K in keyof T]: ReturnType<T[K]> }
}

/** The refusal that an error is, or that it means: 429 where a limiter is full, 503 where it has stopped. */
export function refusalOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (!(error instanceof RefusedError)) return undefined
  const { by, full, message } = error
  if (full === undefined) return new ApiError('unavailable', { cause: error })
  return rateLimited({ policy: by, ...full, message })
}

/** With the reasons behind it: "cannot be reached" alone helps nobody. */
export function reasonOf(error: unknown): string {
  const reasons: string[] = []
  for (let at = error; at instanceof Error && reasons.length < 4; at = at.cause)
    if (at.message !== '') reasons.push(at.message)
  return reasons.length > 0 ? reasons.join(': ') : String(error)
}
