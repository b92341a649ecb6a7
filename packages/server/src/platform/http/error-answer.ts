/**
 * Turns whatever was thrown into the one error shape (docs/reference/errors.md#shape).
 *
 * Refusals come as `ApiError`. The framework's own refusals are translated by their code; a
 * database that is away is 503; everything else is a fault of ours: logged, and answered without
 * a word about it.
 */
import { type ErrorBody, type ErrorCode, errorCatalogue } from '@postrider/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseUnavailableError } from '../db/errors.ts'
import { ApiError, refusalOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { nameAbsentThing } from './absent-thing.ts'

export function createErrorHandler(
  log: Logger,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    const refusal = nameAbsentThing(toApiError(error), request)
    request.bound = refusal.bound
    // What a limit refuses is no fault, and may come in floods.
    if (refusal.status >= 500 && refusal.bound === undefined)
      log.error({ request_id: request.id, code: refusal.code, err: error }, 'request.failed')
    // The framework closes the connection of a refused body, which can reset it before the answer
    // has been read. What is left of the body is skipped instead, within the request's time.
    reply.removeHeader('connection')
    reply.code(refusal.status)
    if (refusal.code === 'unauthorized') reply.header('www-authenticate', 'Bearer')
    if (refusal.retryAfterS !== undefined) reply.header('retry-after', String(refusal.retryAfterS))
    if (refusal.headers !== undefined) reply.headers(refusal.headers)
    reply.send(errorBodyOf(refusal, request.id))
  }
}

export function errorBodyOf(refusal: ApiError, requestId: string): ErrorBody {
  return {
    success: false,
    message: refusal.message,
    code: refusal.code,
    request_id: requestId,
    ...(refusal.errors === undefined ? {} : { errors: [...refusal.errors] }),
    ...(refusal.isOutcomeUnknown ? { outcome: 'unknown' } : {}),
  }
}

export function toApiError(error: unknown): ApiError {
  const refusal = refusalOf(error)
  if (refusal !== undefined) return refusal
  if (error instanceof DatabaseUnavailableError)
    return new ApiError('unavailable', {
      cause: error,
      retryAfterS: retryAfterS(),
      ...(error.isCommitUnknown ? unknownOutcome : {}),
    })
  const code = frameworkRefusal(error)
  return new ApiError(code ?? 'internal_error', { cause: error })
}

/** What failed after a part of the work was committed: not "nothing was done", which 503 says. */
export function afterCommit(error: unknown): unknown {
  const refusal = toApiError(error)
  if (refusal.code !== 'unavailable' || refusal.isOutcomeUnknown) return error
  const seconds = refusal.retryAfterS ?? retryAfterS()
  return new ApiError('unavailable', { cause: error, retryAfterS: seconds, ...unknownOutcome })
}

const unknownOutcome = {
  message: `${errorCatalogue.unavailable.message}: the request may have been carried out`,
  isOutcomeUnknown: true,
} as const

/** Spread over a few seconds, so that callers do not all come back at once. */
function retryAfterS(): number {
  return 1 + Math.floor(Math.random() * 5)
}

const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
  ECONNRESET: 'bad_request', // The caller went away within its body: nobody reads the answer.
}

function frameworkRefusal(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined
  const code: unknown = 'code' in error ? error.code : undefined
  if (typeof code === 'string' && Object.hasOwn(FRAMEWORK_CODES, code)) return FRAMEWORK_CODES[code]
  const status: unknown = 'statusCode' in error ? error.statusCode : undefined
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined
  return BY_STATUS.get(status) ?? 'bad_request'
}

const BY_STATUS = new Map<number, ErrorCode>([
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [408, 'request_timeout'],
  [413, 'payload_too_large'],
  [415, 'unsupported_media_type'],
])

/** The lines of a whole answer, for a connection that no request object belongs to. */
export function rawErrorAnswer(
  code: ErrorCode,
  requestId: string,
  headers = '',
  message?: string,
): string {
  const { status } = errorCatalogue[code]
  const refusal = new ApiError(code, message === undefined ? {} : { message })
  const body = JSON.stringify(errorBodyOf(refusal, requestId))
  return (
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n` +
    `X-Request-Id: ${requestId}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}Connection: close\r\n\r\n${body}`
  )
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  503: 'Service Unavailable',
}
