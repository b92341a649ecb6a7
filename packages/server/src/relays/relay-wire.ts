/**
 * An account as every answer shows it (docs/reference/domains.md#relay-accounts): without its key and
 * secrets, sealed or not.
 */
import type { Relay } from '@postrider/contract'
import type { KeyRing } from '../platform/secrets/index.ts'
import { openCallbackToken, type StoredAccount } from './account.ts'

export interface RelayWireDeps {
  readonly keyRing: KeyRing
  readonly publicUrl: string
}

export function toWire({ keyRing, publicUrl }: RelayWireDeps, account: StoredAccount): Relay {
  const { kind, apiBase } = account
  return {
    kind,
    api_base: apiBase === '' ? null : apiBase,
    callback_url: `${publicUrl}/callbacks/${kind}/${openCallbackToken(keyRing, account)}`,
    created_at: account.createdAt.toISOString(),
    updated_at: account.updatedAt.toISOString(),
  }
}
