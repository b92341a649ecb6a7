/**
 * Header fields of requests and answers, as the OpenAPI description shows them
 * (docs/reference/http.md#answers).
 */
import { idempotencyKeyLengthMax } from '@postrider/contract'
import { tenantHeader } from '../act-for-tenant.ts'

interface Header {
  readonly description: string
  readonly schema: object
}

const text = { type: 'string' }
const seconds = { type: 'integer', minimum: 0 }

/** What an operation may take beside its body, its query and its key. */
export const requestHeaders = {
  'Idempotency-Key': {
    description:
      'A key of your choice, unique for this email. Within 24 hours, the same key with the same body gets the first answer again, with `Idempotent-Replayed: true`, and sends nothing. With another body the answer is 409 `idempotency_mismatch`. Give a key wherever you repeat requests.',
    schema: { ...text, minLength: 1, maxLength: idempotencyKeyLengthMax, examples: ['order-1234'] },
  },
  'Last-Event-ID': {
    description:
      'The `id` of the last event that the caller has got: the stream goes on behind it. Browsers send it by themselves.',
    schema: { ...text, examples: ['evt_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'] },
  },
  [tenantHeader]: {
    description:
      "Only with the operator's token, and required then: the id of the tenant that it acts for. With an API key it is not read.",
    schema: { ...text, examples: ['tn_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'] },
  },
} as const satisfies Record<string, Header>
export type RequestHeader = Exclude<keyof typeof requestHeaders, typeof tenantHeader>

export const answerHeaders = {
  'X-Request-Id': {
    description:
      "The request's own `X-Request-Id` where it has one of at most 64 letters, digits and `_.:-`, else a new one. The log has it with everything about the request.",
    schema: text,
  },
  'WWW-Authenticate': { description: 'Always `Bearer`', schema: text },
  'Retry-After': { description: 'Seconds to wait before the request is repeated', schema: seconds },
  RateLimit: { description: 'What is left (`r`), and for how long (`t`)', schema: text },
  'RateLimit-Policy': {
    description: 'The limit (`q`), and its window in seconds (`w`) if it has one',
    schema: text,
  },
  'Idempotent-Replayed': {
    description: '`true`: this is the answer to an earlier request with the same `Idempotency-Key`',
    schema: { ...text, enum: ['true'] },
  },
  'Set-Cookie': { description: 'The cookie of the session', schema: text },
  'X-Accel-Buffering': {
    description: '`no`: proxies pass on at once what they get',
    schema: { ...text, enum: ['no'] },
  },
  'Content-Disposition': { description: 'The name of the file', schema: text },
} as const satisfies Record<string, Header>
export type AnswerHeader = keyof typeof answerHeaders

/** As references to components: each is written once. */
export function refToHeaders(names: readonly AnswerHeader[]): object {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
  )
}

export function refToParameter(name: string): object {
  return { $ref: `#/components/parameters/${name}` }
}

/** `components.parameters` */
export const headerParameters = Object.fromEntries(
  Object.entries(requestHeaders).map(([name, header]) => [
    name,
    { name, in: 'header', required: false, ...header },
  ]),
)
