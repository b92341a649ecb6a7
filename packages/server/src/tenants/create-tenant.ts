/**
 * Creates a tenant with its first API key, in one transaction (docs/reference/operator.md#tenants-and-keys).
 */
import type { Db, Tx } from '../platform/db/index.ts'
import { newId } from '../platform/ids.ts'
import { hashApiKey, newApiKey } from './api-key.ts'
import { checkName } from './check-name.ts'
import { insertApiKey, insertTenant } from './store.ts'

export interface CreatedTenant {
  readonly tenantId: string
  readonly keyId: string
  /** Shown once. */
  readonly apiKey: string
}

export async function createTenant(
  deps: { readonly db: Db },
  input: { readonly name: string },
): Promise<CreatedTenant> {
  checkName(input.name)
  return await deps.db.transaction((tx) => addTenant(tx, input.name, newApiKey()))
}

export async function addTenant(tx: Tx, name: string, apiKey: string): Promise<CreatedTenant> {
  const [tenantId, keyId] = [newId('tn'), newId('key')]
  await insertTenant(tx, tenantId, name)
  await insertApiKey(tx, {
    mode: 'live',
    keyId,
    tenantId,
    keyHash: hashApiKey(apiKey),
    name: undefined,
    scopes: [],
    networks: [],
    expiresAt: undefined,
  })
  return { tenantId, keyId, apiKey }
}
