/**
 * Creates a further API key of a tenant, with scopes and an expiry where asked for
 * (docs/reference/http.md#authentication).
 */
import type { CreateApiKeyBody } from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import { parseDateTime } from '../platform/date-time.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { hashApiKey, newApiKey } from './api-key.ts'
import { checkName } from './check-name.ts'
import { insertApiKey } from './store.ts'

export async function createApiKey(
  deps: { readonly db: Db; readonly clock: Clock },
  tenantId: string,
  input: CreateApiKeyBody,
): Promise<{ readonly keyId: string; readonly apiKey: string }> {
  if (input.name !== undefined) checkName(input.name)
  const apiKey = newApiKey()
  const keyId = newId('key')
  const isCreated = await insertApiKey(deps.db, {
    keyId,
    tenantId,
    keyHash: hashApiKey(apiKey),
    name: input.name,
    scopes: input.scopes ?? [],
    expiresAt: readExpiry(input.expires_at, deps.clock),
  })
  if (!isCreated) throw new ApiError('not_found')
  return { keyId, apiKey }
}

function readExpiry(text: string | undefined, clock: Clock): Date | undefined {
  if (text === undefined) return undefined
  const at = parseDateTime(text)
  if (at === undefined || at.getTime() <= clock.now().getTime())
    throw validationError({
      path: '/expires_at',
      message: 'must be an RFC 3339 time in the future, such as 2030-01-02T03:04:05Z',
    })
  return at
}
