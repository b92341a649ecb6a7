/**
 * updateInboundUsername (docs/reference/inbound.md#webhook-changes): what is left out stays; given headers
 * replace the old ones. A `url` of null is the domain's again. Without URL and headers of its own it has no
 * webhook of its own any more: what that had not delivered is not sent, and can be replayed to none.
 */
import type { UpdateInboundUsernameBody } from '@postrider/contract'
import type { Tx } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import { nullAs } from '../../../platform/values/null-as.ts'
import {
  type ChangedSubscription,
  changeSubscription,
  checkHeaders,
  checkReceiver,
  createSubscription,
  deleteIncoming,
  parseReceiverUrl,
} from '../../../webhooks/index.ts'
import { checkRepeatedDomain, checkRepeatedUsername } from '../check-repeated.ts'
import type { InboundDeps } from '../configure-routing.ts'
import { decideWebhook, type WebhookAfter } from '../decide-webhook.ts'
import type { Made, RoutedUsername } from '../domain.ts'
import { lockDomain } from '../domain-store.ts'
import { ownerOf } from '../owner.ts'
import { withWebhook } from '../read-domain.ts'
import { notItsOwn } from './create-username.ts'
import { findUsername, readUsername } from './read-username.ts'
import { saveUsername } from './username-store.ts'

export async function updateInboundUsername(
  deps: InboundDeps,
  tenantId: string,
  names: { readonly domain: string; readonly username: string },
  body: UpdateInboundUsernameBody,
): Promise<Made<RoutedUsername>> {
  checkRepeatedDomain(names.domain, body)
  checkRepeatedUsername(names.username, body)
  checkHeaders(body.headers ?? {}, { isSigned: body.signing })
  const receiver = typeof body.url === 'string' ? parseReceiverUrl(body.url, '/url') : undefined
  const { username: found } = await readUsername(deps.db, tenantId, names)
  if (receiver !== undefined && body.url !== found.url)
    await checkReceiver(deps.receivers, tenantId, receiver)
  const { webhook, updated } = await deps.db.transaction(async (tx) => {
    const domain = await lockDomain(tx, found)
    if (domain === undefined) throw new ApiError('not_found')
    const { webhook: ofDomain } = await withWebhook(tx, domain)
    const before = await findUsername(tx, found)
    if (before.username.id !== found.id) throw new ApiError('not_found')
    const after = decideWebhook(stateOf(before), body)
    if (!after.hasWebhook)
      for (const field of ['active', 'signing'] as const)
        if (body[field] !== undefined) throw notItsOwn(field)
    await saveUsername(tx, { ...found, ...after })
    const changed = await changeWebhook(tx, deps, before, { after, body, domainUrl: ofDomain.url })
    return { webhook: changed, updated: await findUsername(tx, found) }
  })
  deps.wakeups.wake(webhook.touched)
  return { ...updated, signingSecret: webhook.signingSecret }
}

function stateOf({ username: { url, hasWebhook }, webhook }: RoutedUsername) {
  return { url, hasWebhook, hasHeaders: hasWebhook && webhook.headerNames.length > 0 }
}

async function changeWebhook(
  tx: Tx,
  { keyRing }: InboundDeps,
  { username: { tenantId, domain, username } }: RoutedUsername,
  o: {
    readonly after: WebhookAfter
    readonly body: UpdateInboundUsernameBody
    readonly domainUrl: string
  },
): Promise<ChangedSubscription> {
  const { after, body, domainUrl } = o
  const owner = ownerOf(domain, username)
  const name = { tenantId, event: 'INCOMING', owner } as const
  const url = after.url ?? domainUrl
  const given = nullAs(body.headers, {})
  const headers = given && Object.entries(given)
  const { active, signing } = body
  if (after.step === 'none') return { touched: [] }
  if (after.step === 'delete')
    return { touched: await deleteIncoming(tx, { tenantId, owners: [owner] }) }
  if (after.step === 'create')
    await createSubscription(tx, keyRing, { ...name, url, headers: headers ?? [] })
  const change = { url, headers, active, signing }
  return (await changeSubscription(tx, keyRing, name, change)) ?? { touched: [] }
}
