/**
 * configureRelay (docs/reference/domains.md#relay-accounts): makes the tenant's account at a provider, or
 * changes it. What is left out stays as it is, and the callback URL always does: it is registered at the
 * provider.
 *
 * A change of the address needs the key again: anyone with an API key of ours could otherwise
 * have the provider's sent to a place of his own. The key is not tried here (ADR 16).
 */
import type { ConfigureRelayBody, RelayKind } from '@postrider/contract'
import type { Db, Tx } from '../../platform/db/index.ts'
import { type Egress, isRefusedHost, notReachable } from '../../platform/egress/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { type CheckBounds, countedCheck } from '../../platform/limits/counted-check.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { newSecret } from '../../platform/values/base62.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import type { RelayAdapter } from '../relay.ts'
import { type AccountKey, hashCallbackToken, type StoredAccount, seal } from './account.ts'
import { checkAccount, normalisedBase } from './check-account.ts'
import { type AccountChange, getAccount, insertAccount, updateAccount } from './store.ts'

export interface ConfigureRelayDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly egress: Pick<Egress, 'check' | 'isOwnNetwork'>
  readonly adapterOf: (kind: RelayKind) => RelayAdapter
  /** Of lookups of hosts. */
  readonly checks: CheckBounds
  /** In the transaction of a new key or address; what it answers is done after the commit. */
  readonly onChanged: (tx: Tx, key: AccountKey) => Promise<() => void>
}

export async function configureRelay(
  deps: ConfigureRelayDeps,
  key: AccountKey,
  fields: ConfigureRelayBody,
): Promise<StoredAccount> {
  const adapter = deps.adapterOf(key.kind)
  const errors = checkAccount(deps.egress, adapter, fields)
  if (errors.length > 0) throw validationError(...errors)
  const given = nullAs(fields.api_base, baseOf(adapter))
  const apiBase = given === undefined ? undefined : normalisedBase(given)
  if (fields.api_key === undefined && adapter.kind !== 'simulator')
    refuseWithoutKey(await getAccount(deps.db, key), apiBase)
  if (apiBase !== undefined) await refuseHost(deps, key.tenantId, new URL(apiBase).hostname)

  const change = changeOf(deps.keyRing, key, fields, apiBase)
  const { account, afterwards } = await deps.db.transaction(async (tx) => {
    const account = await save(deps, tx, adapter, key, change)
    const afterwards = change.access === undefined ? undefined : await deps.onChanged(tx, key)
    return { account, afterwards }
  })
  afterwards?.()
  return account
}

function refuseWithoutKey(stored: StoredAccount | undefined, apiBase: string | undefined): void {
  const message =
    stored === undefined
      ? 'is required for a new account'
      : apiBase !== undefined && apiBase !== stored.apiBase
        ? 'is required with another api_base'
        : undefined
  if (message !== undefined) throw validationError({ path: '/api_key', message })
}

function baseOf(adapter: RelayAdapter): string | undefined {
  return adapter.kind === 'simulator' ? undefined : adapter.apiBaseDefault
}

async function refuseHost(deps: ConfigureRelayDeps, tenantId: string, host: string): Promise<void> {
  await countedCheck(deps, tenantId, async () => {
    if (await isRefusedHost(deps.egress, host))
      throw validationError({ path: '/api_base', message: notReachable })
  })
}

function changeOf(
  keyRing: KeyRing,
  key: AccountKey,
  fields: ConfigureRelayBody,
  apiBase: string | undefined,
): AccountChange {
  const { api_key: apiKey, callback_secret: secret, verification_key: verificationKey } = fields
  return {
    ...(apiKey === undefined
      ? {}
      : { access: { apiKey: seal(keyRing, key, 'api_key', apiKey), apiBase } }),
    ...(secret === undefined
      ? {}
      : { callbackSecret: secret && seal(keyRing, key, 'callback_secret', secret) }),
    ...(verificationKey === undefined ? {} : { verificationKey }),
  }
}

async function save(
  { keyRing }: ConfigureRelayDeps,
  tx: Tx,
  adapter: RelayAdapter,
  key: AccountKey,
  change: AccountChange,
): Promise<StoredAccount> {
  const updated = await updateAccount(tx, key, change)
  if (updated !== undefined) return updated
  const { access, callbackSecret, verificationKey } = change
  // It was there a moment ago.
  if (access === undefined && adapter.kind !== 'simulator') refuseWithoutKey(undefined, undefined)
  const token = newSecret()
  const inserted = await insertAccount(tx, {
    ...key,
    ...(access === undefined ? {} : { apiKey: access.apiKey }),
    apiBase: access?.apiBase ?? baseOf(adapter) ?? '',
    callbackToken: seal(keyRing, key, 'callback_token', token),
    callbackTokenHash: hashCallbackToken(token),
    ...(callbackSecret == null ? {} : { callbackSecret }),
    ...(verificationKey == null ? {} : { verificationKey }),
  })
  // Another request has made it meanwhile: this one is a change of it.
  const saved = inserted ?? (await updateAccount(tx, key, change))
  if (saved === undefined) throw new ApiError('conflict')
  return saved
}
