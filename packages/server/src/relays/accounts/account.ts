/**
 * A tenant's account at a relay provider, as it is stored (docs/reference/domains.md#relay-accounts). The
 * key, the callback's secret and its token stand sealed; the key is opened for requests to the account's
 * address alone.
 *
 * The token is the last part of the callback URL. It is kept through every change of the account: it
 * is registered at the provider. It is found by its hash, and sealed only to be shown again.
 */
import { hash } from 'node:crypto'
import type { RelayKind } from '@postrider/contract'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { CallbackSecrets, RelayAccount } from '../relay.ts'

export interface StoredAccount {
  readonly tenantId: string
  readonly kind: RelayKind
  /** Sealed; absent of the simulator. */
  readonly apiKey?: string
  readonly apiBase: string
  /** Sealed. */
  readonly callbackToken: string
  /** Sealed. */
  readonly callbackSecret?: string
  readonly verificationKey?: string
  readonly configVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type AccountKey = Pick<StoredAccount, 'tenantId' | 'kind'>

type Sealed = 'api_key' | 'callback_token' | 'callback_secret'

/** Bound to row and column: what is copied elsewhere does not open. */
export function seal(keyRing: KeyRing, key: AccountKey, column: Sealed, text: string): string {
  return keyRing.encrypt(text, accountPlaceOf(key, column))
}

/** Throws SealedValueError when the key is gone or the row was tampered with, as the next ones do. */
export function openAccount(keyRing: KeyRing, account: StoredAccount): RelayAccount {
  const { tenantId, kind, apiBase, apiKey, configVersion } = account
  const opened = apiKey === undefined ? '' : open(keyRing, account, 'api_key', apiKey)
  return { tenantId, kind, apiKey: opened, apiBase, configVersion }
}

/** Of mail in test mode. It is in no table, and has no secret: the simulator makes no request. */
export function testAccountOf(tenantId: string): RelayAccount {
  return { tenantId, kind: 'simulator', apiKey: '', apiBase: '', configVersion: 1 }
}

export function openCallbackToken(keyRing: KeyRing, account: StoredAccount): string {
  return open(keyRing, account, 'callback_token', account.callbackToken)
}

export function openCallbackSecrets(keyRing: KeyRing, account: StoredAccount): CallbackSecrets {
  const { callbackSecret: sealed, verificationKey } = account
  return {
    ...(sealed === undefined
      ? {}
      : { callbackSecret: open(keyRing, account, 'callback_secret', sealed) }),
    ...(verificationKey === undefined ? {} : { verificationKey }),
  }
}

/** 256 random bits need no slow hash. */
export function hashCallbackToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

function open(keyRing: KeyRing, key: AccountKey, column: Sealed, sealed: string): string {
  return keyRing.decrypt(sealed, accountPlaceOf(key, column))
}

export function accountPlaceOf(
  { tenantId, kind }: { readonly tenantId: string; readonly kind: string },
  column: Sealed,
): string {
  return `relays|${tenantId}|${kind}|${column}`
}
