/** Answers that refuse: the codes of one status share a response. */
import { type ErrorBody, type ErrorCode, errorBody, errorCatalogue } from '@postrider/contract'
import { type AnswerHeader, refToHeaders } from './headers.ts'
import type { Shapes } from './shapes.ts'

export interface Refusals {
  /** By their status. */
  of(codes: readonly ErrorCode[]): Record<number, object>
  /** Those of a code that is the only one of its status, by the name of the code. */
  components(): Record<string, object>
}

export function createRefusals(shapes: Shapes): Refusals {
  const components = new Map<string, object>()
  const schema = shapes.answer(errorBody)

  function describe(codes: readonly ErrorCode[]): object {
    const lines = codes.map((code) => {
      const { message, cause } = errorCatalogue[code]
      return `- \`${code}\`: ${message}. ${cause}`
    })
    return {
      description: lines.join('\n'),
      headers: refToHeaders(['X-Request-Id', ...new Set(codes.flatMap(headersOf))]),
      content: { 'application/json': { schema, ...examplesOf(codes) } },
    }
  }

  return {
    of(codes) {
      const byStatus = Map.groupBy(codes, (code) => errorCatalogue[code].status)
      const described = [...byStatus].map(([status, ofStatus]) => {
        const [code, another] = ofStatus
        if (code === undefined || another !== undefined) return [status, describe(ofStatus)]
        const name = nameOf(code)
        components.set(name, describe([code]))
        return [status, { $ref: `#/components/responses/${name}` }]
      })
      return Object.fromEntries(described)
    },
    components: () => Object.fromEntries(components),
  }
}

function examplesOf(codes: readonly ErrorCode[]): object {
  const [only, another] = codes.map(exampleOf)
  if (another === undefined) return { example: only }
  const named = codes.map((code) => [code, { value: exampleOf(code) }] as const)
  return { examples: Object.fromEntries(named) }
}

function exampleOf(code: ErrorCode): ErrorBody {
  return {
    success: false,
    message: errorCatalogue[code].message,
    code,
    request_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
    ...(code === 'validation_failed'
      ? { errors: [{ path: '/to/0/email', message: 'is required' }] }
      : {}),
  }
}

function nameOf(code: ErrorCode): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function headersOf(code: ErrorCode): readonly AnswerHeader[] {
  if (code === 'idempotency_in_progress') return ['Retry-After']
  return HEADERS_OF_STATUS[errorCatalogue[code].status] ?? []
}

const HEADERS_OF_STATUS: Readonly<Record<number, readonly AnswerHeader[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  503: ['Retry-After'],
}
