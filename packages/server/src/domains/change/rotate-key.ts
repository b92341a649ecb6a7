/**
 * rotateDomainKey: a new DKIM key under a selector of its own. Nothing changes for mail until the
 * record of the new key is seen; then the provider signs with it, and the record of the old one may
 * go once no mail signed with it is under way. Asked again meanwhile, it answers the same new key.
 */

import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { CheckBounds } from '../../platform/limits/counted-check.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { adapterOf } from '../../relays/index.ts'
import { makeKey, sealKey } from '../add/make-key.ts'
import { keyOfTurn, type SendingDomain } from '../domain.ts'
import { getDomain } from '../get-domain.ts'
import { lockDomain, saveKeys } from '../store.ts'

export interface RotateDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly verifications: CheckBounds
}

const FIRST_CHECK_MS = 60_000

export async function rotateKey(
  deps: RotateDeps,
  tenantId: string,
  name: string,
): Promise<SendingDomain> {
  const { limiter, limit } = deps.verifications
  return limiter.run(tenantId, async () => {
    const domain = await getDomain(deps, tenantId, name)
    checkKeys(domain)
    if (keyOfTurn(domain, 'next') !== undefined) return domain
    await limit.use(tenantId)
    const next = sealKey(deps.keyRing, domain, await makeKey(), 'next')
    await deps.db.transaction(async (tx) => {
      const locked = await lockDomain(tx, domain)
      if (locked?.mailerId !== domain.mailerId || locked.stage !== 'ready')
        throw new ApiError('not_found')
      if (keyOfTurn(locked, 'next') === undefined)
        await saveKeys(tx, { ...locked, keys: [...locked.keys, next] }, FIRST_CHECK_MS)
    })
    return getDomain(deps, tenantId, name)
  })
}

function checkKeys({ relay, stage }: SendingDomain): void {
  const adapter = adapterOf(relay)
  if (adapter.kind === 'simulator')
    throw new ApiError('conflict', { message: 'simulator signs nothing, and has no keys' })
  if (!adapter.domains.takesKeys)
    throw new ApiError('conflict', {
      message: `${relay} has keys of its own for the domain, and changes them itself`,
    })
  if (stage !== 'ready')
    throw new ApiError('conflict', { message: 'The domain is still being created' })
}
