/** Refusals of SendGrid's API in its own form. */
import type { PeerReply } from './http-peer.ts'
import type { ShapeProblem } from './shapes.ts'

export interface SendGridError {
  readonly message: string
  readonly field: string | null
}

export function sendGridError(status: number, ...errors: readonly SendGridError[]): PeerReply {
  return { status, json: { errors: errors.map((one) => ({ ...one, help: null })) } }
}

/** Names of errors as tests set them, with what they say. */
export const SENDGRID = {
  unauthorized: sendGridError(401, {
    message: 'The provided authorization grant is invalid, expired, or revoked',
    field: null,
  }),
  /** The account's, not the key's: nothing is wrong with the key. */
  creditsExceeded: sendGridError(401, { message: 'Maximum credits exceeded', field: null }),
  forbidden: sendGridError(403, { message: 'access forbidden', field: null }),
  unverifiedSender: sendGridError(403, {
    message: 'The from address does not match a verified Sender Identity.',
    field: 'from',
  }),
  notFound: sendGridError(404, { message: 'not found', field: null }),
  methodNotAllowed: sendGridError(405, { message: 'method not allowed', field: null }),
  tooLarge: sendGridError(413, { message: 'The payload is too large', field: null }),
  unsupportedType: sendGridError(415, {
    message: 'Content-Type should be application/json.',
    field: null,
  }),
  notUtf8: sendGridError(415, { message: 'Invalid UTF8 in request', field: null }),
  tooManyRequests: {
    ...sendGridError(429, { message: 'too many requests', field: null }),
    headers: { 'X-RateLimit-Limit': '600', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1' },
  },
  serverError: sendGridError(500, { message: 'internal server error', field: null }),
  unavailable: sendGridError(503, { message: 'service unavailable', field: null }),
} as const satisfies Readonly<Record<string, PeerReply>>

/** In the words of its schema checker. */
export function toSendGridError({ kind, path, expected, given }: ShapeProblem): SendGridError {
  const name = path.slice(path.lastIndexOf('.') + 1)
  if (kind === 'unknown')
    return { message: `Additional property ${name} is not allowed.`, field: path }
  if (kind === 'missing') return { message: `The ${name} parameter is required.`, field: path }
  return { message: `Invalid type. Expected: ${expected}, given: ${given}.`, field: path }
}
