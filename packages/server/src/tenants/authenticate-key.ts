/**
 * Finds out who calls (docs/reference/http.md#authentication): from a Bearer token to a tenant.
 *
 * A key that was found is believed for two seconds and asked for again after one, so that a busy
 * key costs one query a second and no request waits for it. A revocation in this process counts at
 * once, one in another process within those two seconds; an expiry to the millisecond. What is
 * kept is the key's hash, never the key.
 *
 * Guesses cost the database little, and delay no right key. Unknown keys are asked for in batches, one
 * query at a time, with turns by address; one that was not found is remembered for a second. A right key
 * that nobody used lately waits for at most the query under way and its own.
 */

import { createBatchedLookup } from '@postrider/runtime/batched-lookup'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { createNetworks } from '../platform/egress/address-policy.ts'
import type { AuthenticateKey, TenantIdentity } from '../platform/http/bounds/admission.ts'
import { networkOf } from '../platform/limits/address-network.ts'
import { hashApiKey, isSoundApiKey } from './api-key.ts'
import { type ApiKey, findApiKeysByHash, markApiKeyUsed } from './store.ts'

export const believedMs = 2_000
const refreshAfterMs = 1_000
const KEYS_MAX = 10_000
const UNKNOWN_MS = 1_000
const UNKNOWN_MAX = 10_000
const ASKED_AT_ONCE_MAX = 500
/** The group of keys that were right a moment ago. */
const KNOWN = 'known'
const HOUR_MS = 3_600_000

export interface KeyAuthenticator {
  readonly authenticate: AuthenticateKey
  /** Call after the revocation is committed. */
  forget(keyId: string): void
  /** Call after the commit that removed all keys of a tenant. */
  forgetTenant(tenantId: string): void
}

interface Known {
  readonly identity: TenantIdentity
  readonly expiresAtMs: number
  /** When the database was asked, by a clock that never steps. */
  readonly askedAtMs: number
}

export function createKeyAuthenticator(deps: {
  readonly db: Db
  readonly clock: Clock
  readonly monotonicMs?: () => number
}): KeyAuthenticator {
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const known = new Map<string, Known>()
  const asking = new Map<string, Promise<TenantIdentity | undefined>>()
  /** When the database was asked, by hash. */
  const unknown = createBoundedMap<string, number>(UNKNOWN_MAX)
  const lookups = createBatchedLookup<Buffer, ApiKey>({
    keysMax: ASKED_AT_ONCE_MAX,
    run: (hashes) => findApiKeysByHash(deps.db, hashes),
  })
  let revocations = 0

  async function ask(group: string, hash: Buffer, id: string): Promise<TenantIdentity | undefined> {
    const [askedAtMs, revocationsBefore] = [monotonicMs(), revocations]
    const key = await lookups.find(group, hash)
    known.delete(id)
    if (key === undefined) unknown.set(id, askedAtMs)
    if (key === undefined || key.revokedAt !== null) return undefined
    const identity = identityOf(key)
    const expiresAtMs = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    if (expiresAtMs <= deps.clock.now().getTime()) return undefined
    noteUse(key)
    // An answer from before a revocation must not outlive it.
    if (revocations === revocationsBefore) remember(id, { identity, expiresAtMs, askedAtMs })
    return identity
  }

  /** Once an hour. What fails is done by the next use: nobody waits for it. */
  function noteUse({ keyId, lastUsedAt }: ApiKey): void {
    const hour = Math.floor(deps.clock.now().getTime() / HOUR_MS)
    if (lastUsedAt !== null && Math.floor(lastUsedAt.getTime() / HOUR_MS) >= hour) return
    markApiKeyUsed(deps.db, keyId).catch(() => undefined)
  }

  function remember(id: string, entry: Known): void {
    known.set(id, entry)
    if (known.size <= KEYS_MAX) return
    const [oldest] = known.keys()
    if (oldest !== undefined) known.delete(oldest)
  }

  function forgetWhere(isGone: (identity: TenantIdentity) => boolean): void {
    revocations++
    for (const [id, { identity }] of known) if (isGone(identity)) known.delete(id)
  }

  /** Callers that come while the same key is being asked for share the answer. */
  function askOnce(group: string, hash: Buffer, id: string): Promise<TenantIdentity | undefined> {
    const running = asking.get(id)
    if (running !== undefined) return running
    const answer = ask(group, hash, id).finally(() => asking.delete(id))
    asking.set(id, answer)
    return answer
  }

  return {
    authenticate(key, addressOf = () => '') {
      if (!isSoundApiKey(key)) return undefined
      const hash = hashApiKey(key)
      const id = hash.toString('base64url')
      const entry = known.get(id)
      const ageMs = entry === undefined ? believedMs : monotonicMs() - entry.askedAtMs
      if (entry === undefined) {
        if (monotonicMs() - (unknown.get(id) ?? Number.NEGATIVE_INFINITY) < UNKNOWN_MS)
          return undefined
        return askOnce(networkOf(addressOf()), hash, id)
      }
      if (ageMs >= believedMs) return askOnce(KNOWN, hash, id)
      if (entry.expiresAtMs <= deps.clock.now().getTime()) return undefined
      if (ageMs >= refreshAfterMs) askOnce(KNOWN, hash, id).catch(() => undefined)
      return entry.identity
    },
    forget: (keyId) => forgetWhere((identity) => identity.keyId === keyId),
    forgetTenant: (tenantId) => forgetWhere((identity) => identity.tenantId === tenantId),
  }
}

function identityOf({ tenantId, keyId, mode, scopes, networks }: ApiKey): TenantIdentity {
  const identity = { tenantId, keyId, scopes, ...(mode === 'test' ? { mode } : {}) }
  return networks.length === 0 ? identity : { ...identity, networks: createNetworks(networks) }
}
