/**
 * A refusal: what a use case throws when the answer is one of the catalogue's errors (contract §2).
 *
 * The public text is the catalogue's unless a more exact one is given; `cause` stays inside and is
 * logged only. Only the HTTP error handler turns one into an answer.
 */
import { type ErrorCode, errorCatalogue, type FieldError } from '@postrider/contract'

export interface ApiErrorOptions {
  readonly message?: string
  readonly errors?: readonly FieldError[]
  readonly retryAfterS?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly errors?: readonly FieldError[]
  readonly retryAfterS?: number
  /** Further response headers, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>

  constructor(code: ErrorCode, o: ApiErrorOptions = {}) {
    const { status, message } = errorCatalogue[code]
    super(o.message ?? message, o.cause === undefined ? undefined : { cause: o.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = status
    if (o.errors !== undefined) this.errors = o.errors
    if (o.retryAfterS !== undefined) this.retryAfterS = o.retryAfterS
    if (o.headers !== undefined) this.headers = o.headers
  }
}

/** The refusal of a body or query with the fields at fault. */
export function validationError(...errors: readonly FieldError[]): ApiError {
  return new ApiError('validation_failed', { errors })
}
