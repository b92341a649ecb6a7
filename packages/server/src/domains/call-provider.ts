/**
 * One step at the provider, and what it means for who asked for it. No transaction is open meanwhile.
 */
import { type ErrorCode, errorCatalogue } from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import { type KeyRing, withoutSecrets } from '../platform/secrets/index.ts'
import {
  adapterOf,
  loadAccount,
  type RelayAccount,
  type RelayDomain,
  type RelayDomainCall,
  type RelayDomainOutcome,
  type RelayDomains,
  type Relays,
} from '../relays/index.ts'
import { type DkimKey, keyOfTurn, type SendingDomain, toRelayDomain } from './domain.ts'

export interface ProviderDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  readonly relays: Pick<Relays, 'domain'>
}

/** Why there is nothing to go on with. */
export interface Refusal {
  readonly kind: 'refused'
  readonly code: Extract<ErrorCode, `relay_${string}` | 'domain_taken' | 'no_relay'>
  readonly message: string
}

export type Said =
  | Exclude<RelayDomainOutcome, { kind: 'failed' }>
  /** It will not do it; or it surely has not been asked. */
  | Refusal
  /** It may have done it, or may do it later. */
  | { readonly kind: 'unsettled'; readonly message: string }

/** Together with looking records up it stays within the time that a client waits for. */
const CALLS_MS = 12_000

export function callsDeadline(): number {
  return performance.now() + CALLS_MS
}

type StepOf = (
  domains: RelayDomains,
  account: RelayAccount,
  relayDomain: RelayDomain,
) => RelayDomainCall | undefined

export async function callProvider(
  deps: ProviderDeps,
  domain: SendingDomain,
  stepOf: StepOf,
  o: { readonly key?: DkimKey | undefined; readonly deadlineAt?: number } = {},
): Promise<Said> {
  const { key = keyOfTurn(domain, 'current'), deadlineAt = callsDeadline() } = o
  const adapter = adapterOf(domain.relay)
  if (adapter.kind === 'simulator') return { kind: 'done', records: [], agrees: true }
  const { tenantId, relay: kind } = domain
  const account = await loadAccount(deps.db, deps.keyRing, { tenantId, kind })
  if (account === undefined) return refuse('no_relay', `There is no account at ${kind} any more`)
  const relayDomain = toRelayDomain(deps.keyRing, domain, key)
  const call = stepOf(adapter.domains, account, relayDomain)
  if (call === undefined) return refuse('relay_refused', `${kind} has keys of its own`)
  const result = await deps.relays.domain(account, call, { deadlineAt })
  switch (result.kind) {
    case 'answered':
      return meaningOf(result.outcome, piecesOf(relayDomain.dkim.privateKey))
    // Why not is nobody's business: the tenant chose the address.
    case 'stopped':
    case 'not-sent':
      return refuse('relay_unreachable', errorCatalogue.relay_unreachable.message)
    case 'uncertain':
      return { kind: 'unsettled', message: 'The relay provider did not answer in time' }
  }
}

function meaningOf(outcome: RelayDomainOutcome, secrets: readonly string[]): Said {
  if (outcome.kind === 'taken')
    return { ...outcome, detail: withoutSecrets(outcome.detail, secrets) }
  if (outcome.kind !== 'failed') return outcome
  const { authRejected, failedReason, providerError, retryable } = outcome.failure
  const words = withoutSecrets(providerError === '' ? failedReason : providerError, secrets)
  if (authRejected)
    return refuse('relay_auth_failed', `The relay provider rejected the API key: ${words}`)
  if (retryable)
    return { kind: 'unsettled', message: `The relay provider cannot do it now: ${words}` }
  return refuse('relay_refused', `The relay provider refused the request: ${words}`)
}

/** Who refuses a request may quote it, and be cut off within the key. */
function piecesOf(pem: string): string[] {
  return pem.replace(/-----[A-Z ]+-----|\s/g, '').match(/.{16}/g) ?? []
}

function refuse(code: Refusal['code'], message: string): Refusal {
  return { kind: 'refused', code, message }
}
