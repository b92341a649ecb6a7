/**
 * Turns an HTTP answer into the operation's data or a `PostriderError` (docs/reference/client.md#failures).
 *
 * Nothing about an answer is taken on trust: a proxy may answer HTML with any status, and a
 * success is only what says so itself.
 */
import type { FieldError } from '@postrider/contract'
import { PostriderError } from './errors.ts'
import { parseRetryAfter } from './retry.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Of a body that is not the service's: enough for the page of any proxy. */
const shownCharsMax = 4_096

export function readAnswer(answer: RawAnswer, nowMs: number): unknown {
  const body = parseObject(answer.text)
  const isSuccessStatus = answer.status >= 200 && answer.status < 300
  if (isSuccessStatus && body?.success === true) return body
  throw errorFrom(answer, body, isSuccessStatus, nowMs)
}

function errorFrom(
  answer: RawAnswer,
  body: Record<string, unknown> | undefined,
  isSuccessStatus: boolean,
  nowMs: number,
): PostriderError {
  const { status, headers } = answer
  const retryAfter = parseRetryAfter(headers.get('retry-after'), nowMs)
  const requestId = textOf(body?.request_id) ?? headers.get('x-request-id') ?? undefined
  const code = textOf(body?.code)
  const message = textOf(body?.message)
  if (isSuccessStatus || body?.success !== false || code === undefined || message === undefined) {
    return new PostriderError(`The answer (status ${status}) is not one of the service`, {
      ...{ status, code: 'unexpected_response', requestId, retryAfter },
      body: answer.text.slice(0, shownCharsMax),
    })
  }
  const errors = Array.isArray(body.errors) ? body.errors.filter(isFieldError) : undefined
  const text = message + describeFirst(errors)
  const outcome = body.outcome === 'unknown' ? body.outcome : undefined
  return new PostriderError(text, { status, code, requestId, retryAfter, errors, outcome })
}

/** So that a log of the message alone says what is wrong. */
function describeFirst(errors: readonly FieldError[] = []): string {
  const [first] = errors
  if (first === undefined) return ''
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return `: ${first.path} ${first.message}${more}`
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isFieldError(value: unknown): value is FieldError {
  return isObject(value) && typeof value.path === 'string' && typeof value.message === 'string'
}
