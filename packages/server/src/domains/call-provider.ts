/**
 * One step at the provider, and what it means for who asked for it. No transaction is open meanwhile.
 */
import { type ErrorCode, errorCatalogue } from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import { notReachable } from '../platform/egress/index.ts'
import { type KeyRing, SealedValueError, withoutSecrets } from '../platform/secrets/index.ts'
import {
  adapterOf,
  loadAccount,
  type RelayAccount,
  type RelayDomain,
  type RelayDomainOutcome,
  type RelayFailure,
  type Relays,
} from '../relays/index.ts'
import { type DkimKey, keyOfTurn, openPrivateKey, type SendingDomain } from './domain.ts'

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

export type ProviderStep = 'create' | 'verify' | 'changeKey' | 'delete'

export interface StepOptions {
  /** In place of the one in use. */
  readonly key?: DkimKey | undefined
  readonly deadlineAt?: number
}

/** Together with looking records up it stays within the time that a client waits for. */
const CALLS_MS = 12_000
const UNREACHABLE = errorCatalogue.relay_unreachable.message

export function callsDeadline(): number {
  return performance.now() + CALLS_MS
}

export async function callProvider(
  deps: ProviderDeps,
  domain: SendingDomain,
  step: ProviderStep,
  { key = keyOfTurn(domain, 'current'), deadlineAt = callsDeadline() }: StepOptions = {},
): Promise<Said> {
  const { relay: kind } = domain
  const adapter = adapterOf(kind)
  if (adapter.kind === 'simulator') return { kind: 'done', records: [], agrees: true }
  const opened = await openSecrets(deps, domain, isGivenKey(step) ? key : undefined)
  if (opened === 'sealed')
    return refuse('relay_auth_failed', 'A stored key cannot be opened: configure the relay again')
  const { account, privateKey } = opened
  if (account === undefined) return refuse('no_relay', `There is no account at ${kind} any more`)
  const call = adapter.domains[step]?.(account, toRelayDomain(domain, key, privateKey))
  if (call === undefined) return refuse('relay_refused', `${kind} has keys of its own`)
  const result = await deps.relays.domain(account, call, { deadlineAt })
  switch (result.kind) {
    case 'answered':
      return meaningOf(result.outcome, piecesOf(privateKey))
    case 'stopped':
      return refuse('relay_unreachable', `${UNREACHABLE}: this service is busy or stopping`)
    case 'not-sent':
      return refuse('relay_unreachable', `${UNREACHABLE}: ${reasonOf(result.failure)}`)
    case 'uncertain':
      return { kind: 'unsettled', message: 'The relay provider did not answer in time' }
  }
}

/**
 * What can be fixed, or looked up anywhere. The tenant chose the address, so which of its ports are open is
 * not told: nobody scans a network by this.
 */
const REASONS: Readonly<Record<string, string>> = {
  host_not_found: 'the name of its api_base does not resolve',
  address_refused: `its api_base ${notReachable}`,
  tls_certificate: 'its certificate is not valid',
  tls_certificate_expired: 'its certificate has expired, or its chain is not complete',
  tls_wrong_port: 'it does not speak TLS on the port of its api_base',
  tls_unavailable: 'it does not speak TLS on the port of its api_base',
}

function reasonOf({ category }: RelayFailure): string {
  return (
    REASONS[category] ?? 'the connection could not be made; check its api_base, or try again later'
  )
}

function isGivenKey(step: ProviderStep): boolean {
  return step === 'create' || step === 'changeKey'
}

interface OpenedSecrets {
  readonly account: RelayAccount | undefined
  /** Empty where the step needs none, or the provider takes none. */
  readonly privateKey: string
}

async function openSecrets(
  { db, keyRing }: ProviderDeps,
  domain: SendingDomain,
  key: DkimKey | undefined,
): Promise<OpenedSecrets | 'sealed'> {
  const { tenantId, relay: kind } = domain
  try {
    const privateKey = key === undefined ? '' : openPrivateKey(keyRing, domain, key)
    return { account: await loadAccount(db, keyRing, { tenantId, kind }), privateKey }
  } catch (error) {
    if (error instanceof SealedValueError) return 'sealed'
    throw error
  }
}

/** What adapters take; with an empty key, of providers that take none. */
function toRelayDomain(
  { domain, options, providerId }: SendingDomain,
  key: DkimKey | undefined,
  privateKey: string,
): RelayDomain {
  const { selector = '', publicKey = '' } = key ?? {}
  return {
    domain,
    dkim: { selector, publicKey, privateKey },
    options,
    ...(providerId === undefined ? {} : { providerId }),
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
