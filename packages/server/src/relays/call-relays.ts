/**
 * The client of all relay providers (docs/reference/domains.md#relay-requests): makes the requests that
 * adapters build, and has them read the answers.
 *
 * A simulator is asked in the same words, and answers within the process; what it would call back with
 * is stored before its answer counts, so that none of it is lost.
 */
import type { Clock } from '../platform/clock.ts'
import {
  deadlineOf,
  type MakeRequestDeps,
  makeRequest,
  mayGoOn,
  type RelayCallOptions,
  type RelayResult,
} from './make-request.ts'
import type {
  DeliverCallback,
  RelayAccount,
  RelayAdapter,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayMail,
  RelaySendOutcome,
  RelaySimulator,
} from './relay.ts'

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

export interface RelaysDeps extends MakeRequestDeps {
  readonly clock: Clock
  readonly adapterOf: (kind: RelayAccount['kind']) => RelayAdapter
  /** Of a simulator. */
  readonly deliverCallback: DeliverCallback
}

/** Of dozens of domains with all their records. */
const DOMAIN_ANSWER_BYTES_MAX = 512 * 1024
const CALLS_IN_A_ROW_MAX = 3

export function createRelayCalls(deps: RelaysDeps): Relays {
  return {
    async send(account, mail, o = {}) {
      const adapter = deps.adapterOf(account.kind)
      if (adapter.kind === 'simulator') return simulate(deps, adapter, account, mail, o)
      const failure = adapter.refuse?.(mail)
      if (failure !== undefined) return { kind: 'answered', outcome: { kind: 'failed', failure } }
      const result = await makeRequest(deps, account, adapter.send(account, mail), o)
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
        const result = await makeRequest(deps, account, call.request, {
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
