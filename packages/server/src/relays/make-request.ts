/**
 * One request to a relay provider: with the account's key, over the guarded egress, below one absolute
 * deadline, with a bounded answer. What is answered never holds the key.
 *
 * How far it came is exact: `not-sent` means that the provider surely does not have it, `uncertain`
 * that it may have done what it was asked for.
 */
import { classifyFailure, failureOfConnect } from '@postrider/mail'
import { type Egress, EgressError } from '../platform/egress/index.ts'
import { withoutSecrets } from '../platform/secrets/index.ts'
import type { RelayAccount, RelayAnswer, RelayFailure, RelayRequest } from './relay.ts'

export type RelayResult<Outcome> =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  /** The provider surely does not have it, or not all of it. */
  | { readonly kind: 'not-sent'; readonly failure: RelayFailure }
  /** The request went out, and no answer came that says what was done. */
  | { readonly kind: 'uncertain'; readonly failure: RelayFailure }
  /** Not sent, and for no reason that lies with provider, account or mail: by `signal` or `beforeRequest`. */
  | { readonly kind: 'stopped' }

export interface RelayCallOptions {
  /** In the time of `performance.now()`; the request has its own 30 seconds besides. */
  readonly deadlineAt?: number
  readonly signal?: AbortSignal
  /**
   * Right before the request: false, and it is not made. It resolves before a byte of it is written,
   * though the connection is made only afterwards.
   */
  readonly beforeRequest?: () => Promise<boolean>
}

export interface MakeRequestDeps {
  readonly egress: Pick<Egress, 'request'>
  readonly observe?: (request: ObservedRequest) => void
}

/** What came of a request: the class of its answer's status, or how far it came without one. */
export const requestResults = ['2xx', '3xx', '4xx', '5xx', 'not_sent', 'uncertain'] as const

export interface ObservedRequest {
  readonly kind: RelayAccount['kind']
  readonly result: (typeof requestResults)[number]
  readonly durationMs: number
}

const TIMEOUT_MS = 30_000
const ANSWER_BYTES_MAX = 64 * 1024
/** What is shorter is no provider's key, and would be taken out of words that happen to hold it. */
const REDACTED_LENGTH_MIN = 8

type RequestOptions = RelayCallOptions & { readonly answerBytesMax?: number }

export async function makeRequest(
  deps: MakeRequestDeps,
  account: RelayAccount,
  asked: RelayRequest,
  o: RequestOptions,
): Promise<RelayResult<RelayAnswer>> {
  const json = asked.body === undefined ? undefined : Buffer.from(JSON.stringify(asked.body))
  if (!(await mayGoOn(o))) return { kind: 'stopped' }
  const startedAt = performance.now()
  const result = await exchange(deps, account, { ...asked, json }, o)
  if (result.kind !== 'stopped')
    deps.observe?.({
      kind: account.kind,
      result: labelOf(result),
      durationMs: performance.now() - startedAt,
    })
  return result
}

function labelOf(
  result: Exclude<RelayResult<RelayAnswer>, { kind: 'stopped' }>,
): ObservedRequest['result'] {
  if (result.kind !== 'answered') return result.kind === 'uncertain' ? 'uncertain' : 'not_sent'
  const { status } = result.outcome
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}

async function exchange(
  { egress }: MakeRequestDeps,
  account: RelayAccount,
  asked: Omit<RelayRequest, 'body'> & { readonly json: Buffer | undefined },
  o: RequestOptions,
): Promise<RelayResult<RelayAnswer>> {
  const { method, path, headers, json } = asked
  const { answerBytesMax = ANSWER_BYTES_MAX } = o
  const timeoutMs = deadlineOf(o) - performance.now()
  if (timeoutMs <= 0) return resultOf(new EgressError('timeout', 'no time was left'))
  const secrets = account.apiKey.length < REDACTED_LENGTH_MIN ? [] : [account.apiKey]
  try {
    const answer = await egress.request({
      poolKey: `relay ${account.tenantId} ${account.kind}`,
      url: account.apiBase + path,
      method,
      headers: {
        'user-agent': 'Postrider',
        accept: 'application/json',
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: json,
      timeoutMs,
      bodyBytesMax: answerBytesMax,
      bodyKeptBytesMax: answerBytesMax,
      signal: o.signal,
    })
    const { status } = answer
    const body = withoutSecrets(answer.body, secrets)
    return {
      kind: 'answered',
      outcome: { status, headers: cleaned(answer.headers, secrets), body },
    }
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return resultOf(error)
  }
}

/** Some of them become ids that are stored. */
function cleaned(headers: RelayAnswer['headers'], secrets: readonly string[]) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value)
        ? value.map((one) => withoutSecrets(one, secrets))
        : value && withoutSecrets(value, secrets),
    ]),
  )
}

export async function mayGoOn({ signal, beforeRequest }: RelayCallOptions): Promise<boolean> {
  if (signal?.aborted) return false
  return beforeRequest === undefined || (await beforeRequest())
}

function resultOf(error: EgressError): RelayResult<RelayAnswer> {
  const { code, status, wasWritten } = error
  // A refusal counts as far as it has come, and however early: its status says that nothing was done.
  if (status !== undefined && status >= 300)
    return { kind: 'answered', outcome: { status, headers: {}, body: '' } }
  if (!wasWritten && status === undefined) {
    if (code === 'aborted' || code === 'busy') return { kind: 'stopped' }
    return { kind: 'not-sent', failure: classifyFailure(failureOfConnect(error)) }
  }
  const failure = classifyFailure({ ...failureOfConnect(error), stage: 'dot' })
  return { kind: 'uncertain', failure }
}

/** In the time of `performance.now()`. */
export function deadlineOf({ deadlineAt = Infinity }: RelayCallOptions): number {
  return Math.min(deadlineAt, performance.now() + TIMEOUT_MS)
}
