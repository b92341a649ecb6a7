/**
 * createInboundUsername (docs/reference/inbound.md#routes): a route for one local part. With a URL or headers
 * it has a webhook of its own; with headers alone that follows the domain's URL. The domain's headers are
 * never sent by it: they are made for another receiver.
 */
import { type CreateInboundUsernameBody, inboundUsernamesMax } from '@postrider/contract'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { newUlid } from '../../../platform/ids.ts'
import {
  checkHeaders,
  checkReceiver,
  createSubscription,
  parseReceiverUrl,
} from '../../../webhooks/index.ts'
import { checkRepeatedDomain } from '../check-repeated.ts'
import type { InboundDeps } from '../configure-routing.ts'
import type { Made, RoutedUsername } from '../domain.ts'
import { lockDomain } from '../domain-store.ts'
import { ownerOf } from '../owner.ts'
import { readDomain, withWebhook } from '../read-domain.ts'
import { findUsername } from './read-username.ts'
import { checkUsername } from './username.ts'
import { getUsername, hasUsernames, insertUsername } from './username-store.ts'

export async function createInboundUsername(
  deps: InboundDeps,
  tenantId: string,
  name: string,
  body: CreateInboundUsernameBody,
): Promise<Made<RoutedUsername>> {
  checkRepeatedDomain(name, body)
  const checked = checkUsername(body.username)
  if (!checked.ok) throw validationError({ path: '/username', message: checked.problem })
  const { headers = {}, url = null } = body
  checkHeaders(headers, { isSigned: body.signing })
  const hasWebhook = url !== null || Object.keys(headers).length > 0
  if (body.signing !== undefined && !hasWebhook) throw notItsOwn('signing')
  const receiver = url === null ? undefined : parseReceiverUrl(url, '/url')
  const { domain: found } = await readDomain(deps.db, tenantId, name)
  const { domain } = found
  const key = { tenantId, domain, username: checked.username }
  if ((await getUsername(deps.db, key)) !== undefined) throw created(key.username)
  if (receiver !== undefined) await checkReceiver(deps.receivers, tenantId, receiver)
  return deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, found)
    if (locked === undefined) throw new ApiError('not_found')
    if (await hasUsernames(tx, key, inboundUsernamesMax)) throw tooMany()
    if (!(await insertUsername(tx, { ...key, id: newUlid(), url, hasWebhook })))
      throw created(key.username)
    if (!hasWebhook) return findUsername(tx, key)
    const { signingSecret } = await createSubscription(tx, deps.keyRing, {
      tenantId,
      event: 'INCOMING',
      owner: ownerOf(domain, key.username),
      url: url ?? (await withWebhook(tx, locked)).webhook.url,
      headers: Object.entries(headers),
      signing: body.signing,
    })
    return { ...(await findUsername(tx, key)), signingSecret }
  })
}

function created(username: string): ApiError {
  return new ApiError('conflict', { message: `The username ${username} exists` })
}

export function notItsOwn(field: 'active' | 'signing'): ApiError {
  return validationError({
    path: `/${field}`,
    message:
      "can only be set with a webhook of its own (url or headers): this username uses the domain's",
  })
}

function tooMany(): ApiError {
  return new ApiError('conflict', {
    message: `A domain has at most ${inboundUsernamesMax} usernames`,
  })
}
