/**
 * Stores a domain that is to be created at its provider, with its mailer. One that was begun before and
 * not confirmed is begun again, with the key that the provider may have of it by now; one that is
 * being deleted there comes to its end first.
 */
import type { RelayKind } from '@postrider/contract'
import { insertDomainMailer, setDomainVerified } from '../../mailers/index.ts'
import { isForeignKeyViolation } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { newSecret } from '../../platform/values/base62.ts'
import { adapterOf } from '../../relays/index.ts'
import { type DeleteDeps, deleteAtProvider } from '../change/delete-at-provider.ts'
import { type DkimKey, keyOfTurn, type NewDomain } from '../domain.ts'
import { isTaken } from '../ownership-store.ts'
import { FIRST_FENCE, renewCreating, type Turn, takeTurn } from '../stage-store.ts'
import { getDomain, insertDomain } from '../store.ts'
import type { CheckedDomain } from './check-body.ts'
import { STAGE_LEASE_MS } from './create-at-provider.ts'
import { makeKey, sealKey } from './make-key.ts'

export interface Wanted extends CheckedDomain {
  readonly tenantId: string
  readonly relay: RelayKind
}

export async function beginDomain(deps: DeleteDeps, wanted: Wanted): Promise<Turn> {
  const left = await findLeft(deps, wanted)
  if (left === undefined) return insert(deps, wanted)
  const keys = await keysFor(deps, wanted, left.domain.mailerId, left.domain.keys)
  return (await renewCreating(deps.db, left, { ...wanted, keys })) ?? gone(wanted)
}

export function gone(wanted: Wanted): never {
  throw conflict(wanted, 'was deleted meanwhile')
}

/** What an earlier call has left, which nobody else goes on with now. */
async function findLeft(deps: DeleteDeps, wanted: Wanted): Promise<Turn | undefined> {
  const there = await getDomain(deps.db, wanted)
  if (there?.stage === 'ready') throw conflict(wanted, 'exists')
  if (wanted.relay !== 'simulator' && (await isTaken(deps.db, wanted)))
    throw new ApiError('domain_taken')
  if (there === undefined) return undefined
  if (there.stage === 'creating' && there.relay !== wanted.relay)
    throw conflict(wanted, `is being created at ${there.relay}: delete it first`)
  const turn = await takeTurn(deps.db, wanted, there.stage, STAGE_LEASE_MS)
  if (turn === undefined) throw conflict(wanted, 'is being worked on: try again in a minute')
  if (there.stage === 'creating') return turn
  if (await deleteAtProvider(deps, turn)) return undefined
  throw conflict(wanted, `is still being deleted at ${there.relay}: try again later`)
}

async function insert(deps: DeleteDeps, wanted: Wanted): Promise<Turn> {
  const { tenantId, domain, relay } = wanted
  const mailerId = newId('domain')
  const isSimulated = relay === 'simulator'
  const added: NewDomain = {
    ...wanted,
    mailerId,
    stage: isSimulated ? 'ready' : 'creating',
    ownershipToken: newSecret(),
    keys: await keysFor(deps, wanted, mailerId, []),
    provider: { agrees: isSimulated },
    isVerified: isSimulated,
  }
  try {
    return await deps.db.transaction(async (tx) => {
      if (!(await insertDomain(tx, added, isSimulated ? null : STAGE_LEASE_MS)))
        throw conflict(wanted, 'exists')
      await insertDomainMailer(tx, { tenantId, mailerId, name: domain, domain, relay })
      if (isSimulated) await setDomainVerified(tx, { tenantId, mailerId }, true)
      return { domain: (await getDomain(tx, wanted)) ?? gone(wanted), fence: FIRST_FENCE }
    })
  } catch (error) {
    // The account was deleted meanwhile.
    if (isForeignKeyViolation(error)) throw new ApiError('no_relay')
    throw error
  }
}

/** Those that there are, unless another selector is asked for. */
async function keysFor(
  { keyRing }: DeleteDeps,
  { tenantId, relay, options: { selector } }: Wanted,
  mailerId: string,
  before: readonly DkimKey[],
): Promise<readonly DkimKey[]> {
  const adapter = adapterOf(relay)
  if (adapter.kind === 'simulator' || !adapter.domains.takesKeys) return []
  const current = keyOfTurn({ keys: before }, 'current')
  if (current !== undefined && current.selector === (selector ?? current.selector)) return before
  return [sealKey(keyRing, { tenantId, mailerId }, await makeKey(selector), 'current')]
}

function conflict({ domain }: Wanted, state: string): ApiError {
  return new ApiError('conflict', { message: `The domain ${domain} ${state}` })
}
