/** Usernames of a tenant's domain, each with the webhook that takes its mail: its own, or the domain's. */
import { readName } from '../../../domains/index.ts'
import type { Queryable } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import { findIncoming, type Subscription } from '../../../webhooks/index.ts'
import type { InboundUsername, RoutedUsername, UsernameKey } from '../domain.ts'
import { ownerOf } from '../owner.ts'
import { readUsername as readLocalPart } from './username.ts'
import { getUsername } from './username-store.ts'

/** @param names as given in a path */
export async function readUsername(
  q: Queryable,
  tenantId: string,
  names: { readonly domain: string; readonly username: string },
): Promise<RoutedUsername> {
  const domain = readName(names.domain)
  const username = readLocalPart(names.username)
  if (domain === undefined || username === undefined) throw new ApiError('not_found')
  return findUsername(q, { tenantId, domain, username })
}

export async function findUsername(q: Queryable, key: UsernameKey): Promise<RoutedUsername> {
  const found = await getUsername(q, key)
  const [routed] = found === undefined ? [] : await withWebhooks(q, key, [found])
  if (routed === undefined) throw new ApiError('not_found')
  return routed
}

export async function withWebhooks(
  q: Queryable,
  { tenantId, domain }: Pick<InboundUsername, 'tenantId' | 'domain'>,
  usernames: readonly InboundUsername[],
): Promise<RoutedUsername[]> {
  const own = usernames.filter(({ hasWebhook }) => hasWebhook)
  const owners = ['', ...own.map(({ username }) => username)].map((u) => ownerOf(domain, u))
  const webhooks = await findIncoming(q, { tenantId, owners })
  return usernames.flatMap((username) => {
    const webhook: Subscription | undefined = webhooks.get(
      ownerOf(domain, username.hasWebhook ? username.username : ''),
    )
    return webhook === undefined ? [] : [{ username, webhook }]
  })
}
