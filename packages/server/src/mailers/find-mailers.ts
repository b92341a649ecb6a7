/**
 * Which mailers a group of emails goes through: each by the mailer's id, or by its sender's address,
 * which finds its own mailer, else the sending domain of exactly its domain
 * (docs/reference/sending.md#accepting).
 *
 * Where several mailers of a tenant have the same address, it is the oldest active one, and the
 * oldest of all when none is active. One round trip for the whole group, whatever the tenants.
 */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { domainKeyOf, emailKeyOf } from './mailer.ts'
import { type FoundMailer, findByEmail, findById } from './store.ts'

/** Of `from` in wire form; left out where mail of several senders is to go through the mailer named. */
export type WantedMailer =
  | { readonly tenantId: string; readonly mailerId: string; readonly from?: string }
  | { readonly tenantId: string; readonly mailerId?: undefined; readonly from: string }

/** Why one that there is may not be used. */
export interface NoMailer {
  readonly problem: 'unverified' | 'other-domain'
}

/** In the order of what was asked; undefined where the tenant has no such mailer. */
export async function findMailers(
  q: Queryable,
  wanted: readonly WantedMailer[],
): Promise<(FoundMailer | NoMailer | undefined)[]> {
  const [byId, byEmail] = await Promise.all([
    find(
      q,
      findById,
      wanted.flatMap(({ tenantId, mailerId }) =>
        mailerId === undefined ? [] : { tenantId, key: mailerId },
      ),
    ),
    find(
      q,
      findByEmail,
      wanted.flatMap((one) =>
        one.mailerId === undefined
          ? keysOf(one.from).map((key) => ({ tenantId: one.tenantId, key }))
          : [],
      ),
    ),
  ])
  return wanted.map((one) => {
    const { tenantId, from } = one
    if (one.mailerId !== undefined) return fitting(byId.get(`${tenantId} ${one.mailerId}`), from)
    const keys = keysOf(one.from).map((key) => `${tenantId} ${key}`)
    return fitting(
      keys.map((key) => byEmail.get(key)).find((mailer) => mailer !== undefined),
      from,
    )
  })
}

/** The refusal of what wants a mailer that the tenant does not have (docs/reference/sending.md#accepting). */
export function inactiveMailer({ mailerId, state }: FoundMailer): ApiError {
  return new ApiError('mailer_inactive', { message: `The mailer ${mailerId} is ${state}` })
}

export function noMailer(
  { mailerId, from }: { readonly mailerId?: string | undefined; readonly from?: string },
  found?: NoMailer,
): ApiError {
  if (found !== undefined) return new ApiError('no_mailer', { message: PROBLEMS[found.problem] })
  if (mailerId === undefined)
    return new ApiError('no_mailer', {
      message: `No mailer for this sender: ${from}. Configure one for the address, add its domain, or name one in mailer_id`,
    })
  return new ApiError('no_mailer', {
    message: 'mailer_id names no mailer that can send: listMailers (GET /v1/mailers) has their ids',
  })
}

const PROBLEMS = {
  unverified: 'The domain is not verified',
  'other-domain': 'mailer_id names a domain that from.email does not belong to',
} as const

/** The address's own comes first. */
function keysOf(from: string): [address: string, domain: string] {
  return [emailKeyOf(from), domainKeyOf(domainOf(from))]
}

function domainOf(from: string): string {
  return from.slice(from.lastIndexOf('@') + 1)
}

function fitting(
  mailer: FoundMailer | undefined,
  from: string | undefined,
): FoundMailer | NoMailer | undefined {
  const domain = mailer?.domain
  if (domain === undefined) return mailer
  if (from !== undefined && domainOf(from).toLowerCase() !== domain.name)
    return { problem: 'other-domain' }
  return domain.isVerified ? mailer : { problem: 'unverified' }
}

async function find(
  q: Queryable,
  run: typeof findById,
  pairs: readonly { readonly tenantId: string; readonly key: string }[],
): Promise<Map<string, FoundMailer>> {
  if (pairs.length === 0) return new Map()
  const tenantIds = [...new Set(pairs.map((pair) => pair.tenantId))]
  const keys = [...new Set(pairs.map((pair) => pair.key))]
  // The statement answers every combination of the two lists; only the pairs asked for are looked up.
  const rows = await run(q, tenantIds, keys)
  return new Map(rows.map((row) => [`${row.tenantId} ${row.key}`, row.mailer]))
}
