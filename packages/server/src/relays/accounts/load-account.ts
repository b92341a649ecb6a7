/** Accounts for those who send, manage domains and take callbacks: with their secrets opened. */
import { type RelayKind, relayKinds } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { secretLength } from '../../platform/values/base62.ts'
import type { CallbackSecrets, RelayAccount } from '../relay.ts'
import { hashCallbackToken, openAccount, openCallbackSecrets } from './account.ts'
import { getAccount, getAccountByToken } from './store.ts'

/** Throws SealedValueError where the key cannot be opened. */
export async function loadAccount(
  q: Queryable,
  keyRing: KeyRing,
  key: { readonly tenantId: string; readonly kind: RelayKind },
): Promise<RelayAccount | undefined> {
  const stored = await getAccount(q, key)
  return stored === undefined ? undefined : openAccount(keyRing, stored)
}

export interface CalledBack {
  readonly tenantId: string
  readonly kind: RelayKind
  readonly secrets: CallbackSecrets
}

const TOKEN = new RegExp(`^[0-9A-Za-z]{${secretLength}}$`)

/** Whose callback URL it is. The secrets are the account's at this moment. */
export async function findAccountByToken(
  q: Queryable,
  keyRing: KeyRing,
  o: { readonly kind: string; readonly token: string },
): Promise<CalledBack | undefined> {
  const kind = relayKinds.find((one) => one === o.kind)
  if (kind === undefined || !TOKEN.test(o.token)) return undefined
  const stored = await getAccountByToken(q, kind, hashCallbackToken(o.token))
  if (stored === undefined) return undefined
  return { tenantId: stored.tenantId, kind, secrets: openCallbackSecrets(keyRing, stored) }
}
