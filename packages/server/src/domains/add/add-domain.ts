/**
 * addDomain (docs/reference/domains.md#sending-domains): stores the domain with its mailer, then creates it
 * at the provider, then says what to publish.
 *
 * What a crash leaves between the two is gone on with in the background, or by the next addDomain of
 * the same domain.
 */
import type { AddDomainBody, RelayKind } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import { type CheckBounds, countedCheck } from '../../platform/limits/counted-check.ts'
import { listRelayKinds } from '../../relays/index.ts'
import type { DeleteDeps } from '../change/delete-at-provider.ts'
import type { SendingDomain } from '../domain.ts'
import { getDomain } from '../store.ts'
import { beginDomain, gone, type Wanted } from './begin-domain.ts'
import { checkBody, checkSimulated } from './check-body.ts'
import { createAtProvider } from './create-at-provider.ts'

export interface AddDomainDeps extends DeleteDeps {
  readonly checks: CheckBounds
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
  return (await beginDomain(deps, wanted)).domain
}

async function addReal(deps: AddDomainDeps, wanted: Wanted): Promise<SendingDomain> {
  const turn = await beginDomain(deps, wanted)
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
