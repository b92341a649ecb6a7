/**
 * configureInboundRouting (docs/reference/inbound.md#routes). Checks come in the order of webhooks
 * (docs/reference/webhooks.md#registration): shape and rules, whose it is, address allowed, connects. The
 * domain, its webhook and, where a record is there already, its ownership are one transaction.
 */
import type { ConfigureInboundRoutingBody } from '@postrider/contract'
import { checkName, findOwnershipProof } from '../../domains/index.ts'
import type { Tx } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { newUlid } from '../../platform/ids.ts'
import { newSecret } from '../../platform/values/base62.ts'
import {
  checkHeaders,
  checkReceiver,
  createSubscription,
  parseReceiverUrl,
  type WebhookDeps,
} from '../../webhooks/index.ts'
import type { Made, RoutedDomain } from './domain.ts'
import {
  countUnverified,
  getDomain,
  insertDomain,
  lockName,
  lockUnverified,
} from './domain-store.ts'
import { ownerOf } from './owner.ts'
import { domainTaken } from './ownership/domain-taken.ts'
import { lookUpOwnership, type OwnershipDeps } from './ownership/look-up-ownership.ts'
import { logSettled, settleOwnership } from './ownership/settle-ownership.ts'
import { readDomain } from './read-domain.ts'

/** A name that one tenant has configured needs a TXT record from all others. */
export const UNVERIFIED_MAX = 100

export type InboundDeps = OwnershipDeps & WebhookDeps

export async function configureInboundRouting(
  deps: InboundDeps,
  tenantId: string,
  body: ConfigureInboundRoutingBody,
): Promise<Made<RoutedDomain>> {
  const name = checkName(body.domain)
  if (!name.ok) throw validationError({ path: '/domain', message: name.problem })
  checkHeaders(body.headers ?? {}, { isSigned: body.signing })
  const url = parseReceiverUrl(body.url, '/url')
  const key = { tenantId, domain: name.domain }
  const before = await getDomain(deps.db, key)
  if (before?.isTaken === true) throw domainTaken(key.domain)
  if (before !== undefined) throw configured(key.domain)
  // One record for both, where the tenant also sends by the domain.
  const ownershipToken = (await findOwnershipProof(deps.db, key))?.token ?? newSecret()
  const wanted = { ...key, id: newUlid(), ownershipToken }
  const findings = await lookUpOwnership(deps, wanted)
  await checkReceiver(deps.receivers, tenantId, url)
  const { settled, routed, signingSecret } = await deps.db.transaction(async (tx) => {
    await lockUnverified(tx, tenantId)
    await lockName(tx, key.domain)
    if (!(await insertDomain(tx, wanted))) throw configured(key.domain)
    const domain = await getDomain(tx, key)
    if (domain === undefined) throw new Error('A row that was just inserted is not there')
    const made = await createSubscription(tx, deps.keyRing, {
      tenantId,
      event: 'INCOMING',
      owner: ownerOf(key.domain),
      url: body.url,
      headers: Object.entries(body.headers ?? {}),
      signing: body.signing,
    })
    const outcome = await settleOwnership(tx, deps, domain, findings)
    if (!outcome.isProven) await checkUnverified(tx, tenantId)
    const read = await readDomain(tx, tenantId, key.domain)
    return { settled: outcome, routed: read, signingSecret: made.signingSecret }
  })
  logSettled(deps.log, routed.domain, settled)
  return { ...routed, signingSecret }
}

async function checkUnverified(tx: Tx, tenantId: string): Promise<void> {
  if ((await countUnverified(tx, tenantId, UNVERIFIED_MAX + 1)) <= UNVERIFIED_MAX) return
  throw new ApiError('too_many_unverified', {
    message: `${UNVERIFIED_MAX} inbound domains are configured and not verified. Verify or delete some of them first`,
  })
}

function configured(domain: string): ApiError {
  return new ApiError('conflict', { message: `The domain ${domain} is configured already` })
}
