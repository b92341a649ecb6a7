/**
 * addDomain (interface §4.3; contract §3.4): stores the domain with its mailer, then creates it at the
 * provider, then says what to publish.
 *
 * What a crash leaves between the two is gone on with in the background, or makes way for the next
 * addDomain of the same domain.
 */
import type { AddDomainBody, RelayKind } from '@postrider/contract'
import { insertDomainMailer, setDomainVerified } from '../mailers/index.ts'
import { newSecret } from '../platform/base62.ts'
import { type CheckBounds, countedCheck } from '../platform/counted-check.ts'
import { isForeignKeyViolation } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { adapterOf, listRelayKinds } from '../relays/index.ts'
import { type CheckedDomain, checkBody, checkSimulated } from './check-body.ts'
import { isTaken } from './claim-store.ts'
import { createAtProvider, forget, STAGE_LEASE_MS } from './create-at-provider.ts'
import { type DeleteDeps, deleteAtProvider } from './delete-at-provider.ts'
import type { NewDomain, SendingDomain } from './domain.ts'
import { makeKey, type NewKey, sealKey } from './make-key.ts'
import { FIRST_FENCE, type Turn, takeTurn } from './stage-store.ts'
import { getDomain, insertDomain } from './store.ts'

export interface AddDomainDeps extends DeleteDeps {
  readonly checks: CheckBounds
}

interface Wanted extends CheckedDomain {
  readonly tenantId: string
  readonly relay: RelayKind
}

export async function addDomain(
  deps: AddDomainDeps,
  tenantId: string,
  body: AddDomainBody,
): Promise<SendingDomain> {
  const checked = checkBody(body)
  const wanted = { tenantId, ...checked, relay: await chooseRelay(deps, tenantId, body.relay) }
  return wanted.relay === 'simulator'
    ? addSimulated(deps, wanted)
    : countedCheck(deps, tenantId, () => addReal(deps, wanted))
}

/** It is verified at once, and nobody's: no name server is asked about it. */
async function addSimulated(deps: AddDomainDeps, wanted: Wanted): Promise<SendingDomain> {
  checkSimulated(wanted)
  await clearWay(deps, wanted)
  return (await insert(deps, wanted)).domain
}

async function addReal(deps: AddDomainDeps, wanted: Wanted): Promise<SendingDomain> {
  await clearWay(deps, wanted)
  if (await isTaken(deps.db, wanted)) throw new ApiError('domain_taken')
  const adapter = adapterOf(wanted.relay)
  const takesKeys = adapter.kind !== 'simulator' && adapter.domains.takesKeys
  const key = takesKeys ? await makeKey(wanted.options.selector) : undefined
  const turn = await insert(deps, wanted, key)
  const created = await createAtProvider(deps, turn)
  if (created.kind === 'refused') throw new ApiError(created.code, { message: created.message })
  if (created.kind === 'unsettled')
    throw new ApiError('relay_unreachable', { message: created.message })
  const made = await getDomain(deps.db, wanted)
  const isThere = made?.mailerId === turn.domain.mailerId && made.stage !== 'deleting'
  return isThere ? made : gone(wanted)
}

async function chooseRelay(
  { db }: AddDomainDeps,
  tenantId: string,
  wanted: RelayKind | undefined,
): Promise<RelayKind> {
  const kinds = await listRelayKinds(db, tenantId)
  if (wanted !== undefined) {
    if (kinds.includes(wanted)) return wanted
    throw new ApiError('no_relay', { message: `No account at the relay provider ${wanted}` })
  }
  const [only, ...others] = kinds
  if (only === undefined) throw new ApiError('no_relay')
  if (others.length > 0) throw new ApiError('relay_required')
  return only
}

/** One that is not complete, or not quite deleted, makes way. */
async function clearWay(deps: AddDomainDeps, wanted: Wanted): Promise<void> {
  const there = await getDomain(deps.db, wanted)
  if (there === undefined) return
  if (there.stage === 'ready') throw conflict(wanted, 'exists')
  if (there.stage === 'creating' && there.relay !== wanted.relay)
    throw conflict(wanted, `is being created at ${there.relay}: delete it first`)
  const turn = await takeTurn(deps.db, wanted, there.stage, STAGE_LEASE_MS)
  if (turn === undefined) throw conflict(wanted, 'is being worked on: try again in a minute')
  if (there.stage === 'creating') await forget(deps, turn)
  else if (!(await deleteAtProvider(deps, turn)))
    throw conflict(wanted, `is still being deleted at ${there.relay}: try again later`)
}

async function insert(deps: AddDomainDeps, wanted: Wanted, made?: NewKey): Promise<Turn> {
  const { tenantId, domain, relay } = wanted
  const mailerId = newId('domain')
  const isSimulated = relay === 'simulator'
  const added: NewDomain = {
    ...wanted,
    mailerId,
    stage: isSimulated ? 'ready' : 'creating',
    ownershipToken: newSecret(),
    keys:
      made === undefined ? [] : [sealKey(deps.keyRing, { tenantId, mailerId }, made, 'current')],
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

function gone(wanted: Wanted): never {
  throw conflict(wanted, 'was deleted meanwhile')
}

function conflict({ domain }: Wanted, state: string): ApiError {
  return new ApiError('conflict', { message: `The domain ${domain} ${state}` })
}
