/**
 * Makes the requests that adapters build (contract §3.4, §5): with the account's key, over the guarded
 * egress, below one absolute deadline, with a bounded answer.
 *
 * How far a request came is exact. `not-sent` means that the provider surely has nothing of it;
 * `uncertain` that it may have done it, like SMTP after the dot. A simulator is asked in the same
 * words, and answers within the process; what it would call back with is stored before its answer
 * counts, so that none of it is lost.
 */
import { classifyFailure, failureOfConnect } from '../mail/index.ts'
import type { Clock } from '../platform/clock.ts'
import { type Egress, EgressError } from '../platform/egress/index.ts'
import { withoutSecrets } from '../platform/secrets/index.ts'
import type {
  DeliverCallback,
  RelayAccount,
  RelayAdapter,
  RelayAnswer,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayFailure,
  RelayMail,
  RelayRequest,
  RelaySendOutcome,
  RelaySimulator,
} from './relay.ts'

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

export interface Relays {
  send(
    account: RelayAccount,
    mail: RelayMail,
    o?: RelayCallOptions,
  ): Promise<RelayResult<RelaySendOutcome>>
  /** A call and those that it leads to, below one deadline. */
  domain(
    account: RelayAccount,
    call: RelayDomainCall,
    o?: RelayCallOptions,
  ): Promise<RelayResult<RelayDomainOutcome>>
}

export interface RelaysDeps {
  readonly egress: Pick<Egress, 'request'>
  readonly clock: Clock
  readonly adapterOf: (kind: RelayAccount['kind']) => RelayAdapter
  /** Of a simulator. */
  readonly deliverCallback: DeliverCallback
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
/** Of dozens of domains with all their records. */
const DOMAIN_ANSWER_BYTES_MAX = 512 * 1024
const CALLS_IN_A_ROW_MAX = 3
/** What is shorter is no provider's key, and would be taken out of words that happen to hold it. */
const REDACTED_LENGTH_MIN = 8

export function createRelays(deps: RelaysDeps): Relays {
  return {
    async send(account, mail, o = {}) {
      const adapter = deps.adapterOf(account.kind)
      if (adapter.kind === 'simulator') return simulate(deps, adapter, account, mail, o)
      const failure = adapter.refuse?.(mail)
      if (failure !== undefined) return { kind: 'answered', outcome: { kind: 'failed', failure } }
      const result = await request(deps, account, adapter.send(account, mail), o)
      if (result.kind !== 'answered') return result
      const outcome = adapter.readSent(result.outcome)
      // An answer that says neither is like none.
      return outcome.kind === 'failed' && outcome.failure.category === 'uncertain'
        ? { kind: 'uncertain', failure: outcome.failure }
        : { kind: 'answered', outcome }
    },
    async domain(account, first, o = {}) {
      const deadlineAt = deadlineOf(o)
      let call = first
      for (let calls = 1; ; calls += 1) {
        const result = await request(deps, account, call.request, {
          ...o,
          deadlineAt,
          answerBytesMax: DOMAIN_ANSWER_BYTES_MAX,
        })
        if (result.kind !== 'answered') return result
        const outcome = call.read(result.outcome)
        if ('kind' in outcome) return { kind: 'answered', outcome }
        if (calls === CALLS_IN_A_ROW_MAX)
          throw new Error(`More than ${CALLS_IN_A_ROW_MAX} calls in a row to ${account.kind}`)
        call = outcome
      }
    },
  }
}

type RequestOptions = RelayCallOptions & { readonly answerBytesMax?: number }

function deadlineOf({ deadlineAt = Infinity }: RelayCallOptions): number {
  return Math.min(deadlineAt, performance.now() + TIMEOUT_MS)
}

async function request(
  deps: RelaysDeps,
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
  deps: RelaysDeps,
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
    const answer = await deps.egress.request({
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

async function mayGoOn({ signal, beforeRequest }: RelayCallOptions): Promise<boolean> {
  if (signal?.aborted) return false
  return beforeRequest === undefined || (await beforeRequest())
}

function resultOf(error: EgressError): RelayResult<RelayAnswer> {
  const { code, status, wasWritten } = error
  if (!wasWritten) {
    if (code === 'aborted' || code === 'busy') return { kind: 'stopped' }
    return { kind: 'not-sent', failure: classifyFailure(failureOfConnect(error)) }
  }
  // A refusal counts as far as it has come: its status alone says that nothing was done.
  if (status !== undefined && status >= 300)
    return { kind: 'answered', outcome: { status, headers: {}, body: '' } }
  const failure = classifyFailure({ ...failureOfConnect(error), stage: 'dot' })
  return { kind: 'uncertain', failure }
}

async function simulate(
  deps: RelaysDeps,
  simulator: RelaySimulator,
  { tenantId, kind }: RelayAccount,
  mail: RelayMail,
  o: RelayCallOptions,
): Promise<RelayResult<RelaySendOutcome>> {
  if (!(await mayGoOn(o))) return { kind: 'stopped' }
  const { outcome, callback: body } = simulator.simulate(mail, deps.clock.now().getTime())
  if (body !== undefined) await deps.deliverCallback({ tenantId, kind, body })
  return { kind: 'answered', outcome }
}
