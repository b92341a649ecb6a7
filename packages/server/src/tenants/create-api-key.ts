/**
 * Makes an API key of a tenant (docs/reference/http.md#authentication).
 *
 * A key or a person who makes one hands on at most what they may do themselves: what is left out is taken over
 * from the maker, and what goes beyond the maker is refused.
 */
import { type ApiKeyScope, apiKeyScopes, type CreateApiKeyBody, keysMax } from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { canonicalNetwork, covers } from '../platform/egress/index.ts'
import { ApiError, readFields, validationError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { parseDateTime } from '../platform/values/date-time.ts'
import { hashApiKey, newApiKey } from './api-key.ts'
import { checkName } from './check-name.ts'
import {
  type ApiKey,
  countLiveApiKeys,
  findLiveApiKey,
  insertApiKey,
  type NewApiKey,
} from './store.ts'

/** What bounds a new key. */
type Bounds = Pick<ApiKey, 'scopes' | 'networks' | 'expiresAt'>
type Asked = Pick<NewApiKey, 'scopes' | 'networks' | 'expiresAt'>

const UNBOUNDED: Bounds = { scopes: [], networks: [], expiresAt: null }

/** A key, or a person by what the role allows; undefined for the operator. */
export type KeyMaker = { readonly keyId: string } | { readonly scopes: readonly ApiKeyScope[] }

export async function createApiKey(
  deps: { readonly db: Db; readonly clock: Clock },
  tenantId: string,
  input: CreateApiKeyBody,
  maker?: KeyMaker,
): Promise<{ readonly keyId: string; readonly apiKey: string; readonly key: ApiKey }> {
  if (input.name !== undefined) checkName(input.name)
  const bounds = await boundsOf(deps.db, tenantId, maker)
  // It was revoked since it was let in: other processes believe a key for two seconds.
  if (bounds === undefined) throw new ApiError('unauthorized')
  // The operator may make more. Two at once may make one too many.
  if (maker !== undefined && (await countLiveApiKeys(deps.db, tenantId, keysMax)) >= keysMax)
    throw new ApiError('conflict', { message: `A tenant may have ${keysMax} API keys` })
  const asked = readAsked(input, bounds, deps.clock)
  checkBounds(asked, bounds)
  const { mode = 'live' } = input
  const apiKey = newApiKey(mode)
  const keyId = newId('key')
  const key = await insertApiKey(deps.db, {
    ...asked,
    keyId,
    tenantId,
    keyHash: hashApiKey(apiKey),
    name: input.name,
    mode,
  })
  if (key === undefined) throw new ApiError('not_found')
  return { keyId, apiKey, key }
}

/** Undefined when the key is gone. */
async function boundsOf(
  db: Db,
  tenantId: string,
  maker: KeyMaker | undefined,
): Promise<Bounds | undefined> {
  if (maker === undefined) return UNBOUNDED
  if ('keyId' in maker) return await findLiveApiKey(db, tenantId, maker.keyId)
  const hasAll = apiKeyScopes.every((scope) => maker.scopes.includes(scope))
  return hasAll ? UNBOUNDED : { ...UNBOUNDED, scopes: maker.scopes }
}

function readAsked(input: CreateApiKeyBody, bounds: Bounds, clock: Clock): Asked {
  const read = readFields({
    scopes: () => readScopes(input.scopes),
    networks: () => readNetworks(input.networks),
    expiresAt: () => readExpiry(input.expires_at, clock),
  })
  return {
    scopes: read.scopes ?? bounds.scopes,
    networks: read.networks ?? bounds.networks,
    expiresAt: read.expiresAt ?? bounds.expiresAt ?? undefined,
  }
}

/** None at all would mean everything, and a form with no box ticked sends that. */
function readScopes(scopes: readonly ApiKeyScope[] | undefined) {
  if (scopes?.length !== 0) return scopes
  throw validationError({
    path: '/scopes',
    message: 'must have at least 1 item. Leave it out for a key that may do all that you may',
  })
}

function checkBounds(asked: Asked, bounds: Bounds): void {
  const isWithinScopes =
    bounds.scopes.length === 0 ||
    (asked.scopes.length > 0 && asked.scopes.every((scope) => bounds.scopes.includes(scope)))
  if (!isWithinScopes) throw beyond('/scopes', `at most ${bounds.scopes.join(', ')}`)
  const isWithinNetworks =
    bounds.networks.length === 0 ||
    (asked.networks.length > 0 &&
      asked.networks.every((inner) => bounds.networks.some((outer) => covers(outer, inner))))
  if (!isWithinNetworks) throw beyond('/networks', `within ${bounds.networks.join(', ')}`)
  const { expiresAt } = bounds
  if (expiresAt !== null && (asked.expiresAt ?? expiresAt) > expiresAt)
    throw beyond('/expires_at', `${expiresAt.toISOString()} at the latest`)
}

function beyond(path: string, bound: string): ApiError {
  return new ApiError('forbidden', {
    message: 'A key makes keys of at most its own scopes, networks and expiry',
    errors: [{ path, message: `must be ${bound}, as that of the key that makes it` }],
  })
}

function readNetworks(texts: readonly string[] | undefined): string[] | undefined {
  const readers = texts?.map((text, i) => [`${i}`, () => readNetwork(text, i)] as const)
  return readers && Object.values(readFields(Object.fromEntries(readers)))
}

function readNetwork(text: string, index: number): string {
  try {
    return canonicalNetwork(text)
  } catch {
    throw validationError({
      path: `/networks/${index}`,
      message: 'must be a network as CIDR, or an address, such as 203.0.113.0/24',
    })
  }
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
