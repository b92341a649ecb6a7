/**
 * updateInboundDomain (docs/reference/inbound.md#webhook-changes): what is left out stays; given headers
 * replace the old ones. Usernames that have headers and no URL of their own follow the domain's. While it is
 * not verified, it is checked as well.
 */
import type { UpdateInboundDomainBody } from '@postrider/contract'
import type { Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import {
  type ChangedSubscription,
  changeSubscription,
  checkHeaders,
  checkReceiver,
  moveIncoming,
  parseReceiverUrl,
} from '../../webhooks/index.ts'
import { checkRepeatedDomain } from './check-repeated.ts'
import type { InboundDeps } from './configure-routing.ts'
import type { Made, RoutedDomain } from './domain.ts'
import { touchDomain } from './domain-store.ts'
import { ownerOf } from './owner.ts'
import { isCheckDue, lookUpOwnership } from './ownership/look-up-ownership.ts'
import { lockForSettling, logSettled, settleOwnership } from './ownership/settle-ownership.ts'
import { readDomain } from './read-domain.ts'
import { usernamesWithWebhooks } from './usernames/username-store.ts'

export async function updateInboundDomain(
  deps: InboundDeps,
  tenantId: string,
  name: string,
  body: UpdateInboundDomainBody,
): Promise<Made<RoutedDomain>> {
  checkRepeatedDomain(name, body)
  checkHeaders(body.headers ?? {}, { isSigned: body.signing })
  const url = body.url === undefined ? undefined : parseReceiverUrl(body.url, '/url')
  const found = await readDomain(deps.db, tenantId, name)
  const { domain } = found
  const findings = isCheckDue(deps, domain) ? await lookUpOwnership(deps, domain) : undefined
  if (url !== undefined && body.url !== found.webhook.url)
    await checkReceiver(deps.receivers, tenantId, url)
  const { settled, webhooks, updated } = await deps.db.transaction(async (tx) => {
    const locked = await lockForSettling(tx, domain)
    if (locked === undefined) throw new ApiError('not_found')
    await touchDomain(tx, domain)
    const outcome = findings && (await settleOwnership(tx, deps, locked, findings))
    const changes = await changeWebhooks(tx, deps, domain, body)
    const changed = await readDomain(tx, tenantId, domain.domain)
    return { settled: outcome, webhooks: changes, updated: changed }
  })
  if (settled !== undefined) logSettled(deps.log, domain, settled)
  deps.wakeups.wake(webhooks.touched)
  return { ...updated, signingSecret: webhooks.signingSecret }
}

/** The domain's own, and those that follow it. */
async function changeWebhooks(
  tx: Tx,
  { keyRing }: InboundDeps,
  key: RoutedDomain['domain'],
  { url, headers, active, signing }: UpdateInboundDomainBody,
): Promise<ChangedSubscription> {
  const { tenantId, domain } = key
  const name = { tenantId, event: 'INCOMING', owner: ownerOf(domain) } as const
  const given = nullAs(headers, {})
  const own = await changeSubscription(tx, keyRing, name, {
    url,
    headers: given && Object.entries(given),
    active,
    signing,
  })
  if (own === undefined) throw new ApiError('not_found')
  if (url === undefined) return own
  const usernames = await usernamesWithWebhooks(tx, key, { isFollowing: true })
  const owners = usernames.map((username) => ownerOf(domain, username))
  const moved = await moveIncoming(tx, { tenantId, owners }, url)
  return { ...own, touched: [...own.touched, ...moved] }
}
