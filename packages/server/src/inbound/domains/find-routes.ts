/**
 * By which route a recipient's mail comes, asked at every RCPT (docs/reference/inbound.md#routes).
 *
 * What is asked while a statement is under way goes into the next: a burst of recipients, or of a
 * harvester's guesses, costs a statement for hundreds of them. Nothing is kept in memory: a route that
 * was just made or proven takes the next recipient, and one that is deleted takes none. A cache would
 * refuse for good (550) what its owner has just been told is accepted. A domain that is configured and
 * not proven is looked up before its mail is refused. A return path of ours is taken whatever usernames
 * there are.
 */
import { toWireDomain } from '@postrider/mail'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import type { ReturnPathTokens } from '../../sending/index.ts'
import type { InboundRoute } from '../ingest/received-mail.ts'
import { ownerOf } from './owner.ts'
import type { DomainProver } from './ownership/prove-domain.ts'
import { findRoutes, type RouteRow } from './route-store.ts'
import { usernameOf } from './usernames/username.ts'

export type FoundRoute =
  | { readonly kind: 'route'; readonly route: InboundRoute }
  /** Nobody has configured the domain. */
  | { readonly kind: 'unknown_domain' }
  /** Somebody has, and nobody has proven that it is theirs. */
  | { readonly kind: 'unproven_domain' }
  /** Somebody has, and name servers do not say whether it is theirs. */
  | { readonly kind: 'unsure_domain' }
  | { readonly kind: 'unknown_user' }

export interface RouteFinder {
  /** Rejects as the database does: then nobody knows. */
  find(address: string): Promise<FoundRoute>
}

interface Waiter extends Asked {
  readonly resolve: (found: FoundRoute) => void
  readonly reject: (error: unknown) => void
}

interface Asked {
  /** As it was given. */
  readonly local: string
  /** In wire form. */
  readonly domain: string
  /** Undefined for a local part that nobody can have. */
  readonly username: string | undefined
}

const ADDRESSES_MAX = 500

export function createRouteFinder({
  db,
  prover,
  returnPaths,
}: {
  readonly db: Db
  readonly returnPaths: Pick<ReturnPathTokens, 'read'>
  readonly prover: DomainProver
}): RouteFinder {
  const waiting: Waiter[] = []
  let isAsking = false

  async function ask(): Promise<void> {
    if (isAsking) return
    isAsking = true
    while (waiting.length > 0) await answer(db, returnPaths, waiting.splice(0, ADDRESSES_MAX))
    isAsking = false
  }

  function findAsked(asked: Asked): Promise<FoundRoute> {
    return new Promise((resolve, reject) => {
      waiting.push({ ...asked, resolve, reject })
      void ask()
    })
  }

  return {
    async find(address) {
      const asked = read(address)
      if (asked === undefined) return { kind: 'unknown_domain' }
      const found = await findAsked(asked)
      if (found.kind !== 'unproven_domain') return found
      const proof = await prover.prove(asked.domain)
      if (proof === 'unknown') return { kind: 'unsure_domain' }
      if (proof === 'unproven') return found
      const again = await findAsked(asked)
      // It was proven a moment ago, and its owner has deleted it since.
      return again.kind === 'unproven_domain' ? { kind: 'unsure_domain' } : again
    },
  }
}

/** Never rejects: every waiter has its answer when this ends. */
async function answer(
  db: Db,
  returnPaths: Pick<ReturnPathTokens, 'read'>,
  group: readonly Waiter[],
): Promise<void> {
  try {
    const places = group.map(({ domain, username = '' }) => ({ domain, username }))
    const rows = await readByIndex(db, (tx) => findRoutes(tx, places))
    for (const [i, waiter] of group.entries()) waiter.resolve(foundOf(waiter, rows[i], returnPaths))
  } catch (error) {
    for (const { reject } of group) reject(error)
  }
}

function read(address: string): Asked | undefined {
  const at = address.lastIndexOf('@')
  if (at < 0) return undefined
  const domain = toWireDomain(address.slice(at + 1).replace(/\.$/, ''))
  const local = address.slice(0, at)
  return domain === undefined ? undefined : { domain, local, username: usernameOf(local) }
}

function foundOf(
  { domain, local, username }: Asked,
  row: RouteRow | 'unproven' | undefined,
  returnPaths: Pick<ReturnPathTokens, 'read'>,
): FoundRoute {
  if (row === undefined) return { kind: 'unknown_domain' }
  if (row === 'unproven') return { kind: 'unproven_domain' }
  const { tenantId, hasUsernames, ownWebhook } = row
  if (username === undefined) return { kind: 'unknown_user' }
  const domainRoute = { tenantId, domain, username: '', owner: ownerOf(domain) }
  if (!hasUsernames) return routeTo(domainRoute)
  if (ownWebhook === undefined)
    return returnPaths.read(tenantId, local) === undefined
      ? { kind: 'unknown_user' }
      : routeTo(domainRoute)
  const owner = ownerOf(domain, ownWebhook ? username : '')
  return routeTo({ tenantId, domain, username, owner })
}

function routeTo(route: InboundRoute): FoundRoute {
  return { kind: 'route', route }
}
