/**
 * The one error that every operation rejects with (docs/reference/client.md#failures).
 *
 * `status` is the HTTP status of the answer, or 0 when there was none; then `code` says why:
 * `connection_error`, `timeout`, `aborted`, or `invalid_argument` for a call that was never sent.
 * An answer that is not the service's (a proxy's HTML, a redirect) is `unexpected_response` with
 * its status. No message holds the API key.
 */
import type { ErrorCode, FieldError } from '@postrider/contract'

export type ClientErrorCode =
  | 'connection_error'
  | 'timeout'
  | 'aborted'
  | 'invalid_argument'
  | 'unexpected_response'

/** The service may answer codes that are newer than this library. */
export type PostriderErrorCode = ErrorCode | ClientErrorCode | (string & {})

export interface PostriderErrorInit {
  readonly status: number
  readonly code: PostriderErrorCode
  readonly requestId?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly retryAfter?: number | undefined
  readonly outcome?: 'unknown' | undefined
  readonly body?: string | undefined
  readonly cause?: unknown
}

export class PostriderError extends Error {
  override readonly name = 'PostriderError'
  readonly status: number
  readonly code: PostriderErrorCode
  /** `X-Request-Id` of the answer, to report a problem with. */
  readonly requestId: string | undefined
  /** Each offending field, on validation. */
  readonly errors: readonly FieldError[] | undefined
  /** Seconds that the service asked to wait. */
  readonly retryAfter: number | undefined
  /** The service lost its database meanwhile: the operation, or a part of it, may have been carried out. */
  readonly outcome: 'unknown' | undefined
  /** Of `unexpected_response`: what came in place of the service's answer, at most 4,096 characters. */
  readonly body: string | undefined

  constructor(message: string, init: PostriderErrorInit) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause })
    this.status = init.status
    this.code = init.code
    this.requestId = init.requestId
    this.errors = init.errors
    this.retryAfter = init.retryAfter
    this.outcome = init.outcome
    this.body = init.body
  }
}

export function invalidArgument(message: string, cause?: unknown): PostriderError {
  return new PostriderError(message, { status: 0, code: 'invalid_argument', cause })
}

export function abortedBy(signal: AbortSignal): PostriderError {
  return new PostriderError('The operation was aborted', {
    status: 0,
    code: 'aborted',
    cause: signal.reason,
  })
}

export function timedOut(timeoutMs: number): PostriderError {
  return new PostriderError(`No complete answer within ${Math.ceil(timeoutMs)} ms`, {
    status: 0,
    code: 'timeout',
  })
}

export function wentSilent(idleTimeoutMs: number): PostriderError {
  return new PostriderError(`Nothing more came within ${Math.ceil(idleTimeoutMs)} ms`, {
    status: 0,
    code: 'timeout',
  })
}

export function answerTooLarge(status: number): PostriderError {
  return new PostriderError('The answer is larger than any of the service', {
    status,
    code: 'unexpected_response',
  })
}

export function connectionFailed(cause: unknown): PostriderError {
  return new PostriderError(`The service could not be reached: ${describe(cause)}`, {
    status: 0,
    code: 'connection_error',
    cause,
  })
}

/** Of the system that failed, such as `ECONNREFUSED`: mostly in the cause of what `fetch` throws. */
export function systemCodeOf({ cause }: PostriderError): unknown {
  const error = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** `fetch failed` says nothing. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  const { cause } = error
  if (cause instanceof Error) {
    return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
  }
  return error.message
}
