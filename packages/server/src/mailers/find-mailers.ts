/**
 * Which mailers a group of emails goes through: each by the mailer's id, or by its sender's address.
 *
 * Where several mailers of a tenant have the same address, it is the oldest active one, and the
 * oldest of all when none is active. One round trip for the whole group, whatever the tenants.
 */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { emailKeyOf } from './mailer.ts'
import { type FoundMailer, findByEmail, findById } from './store.ts'

export type WantedMailer =
  | { readonly tenantId: string; readonly mailerId: string }
  | { readonly tenantId: string; readonly email: string }

/** In the order of what was asked; undefined where the tenant has no such mailer. */
export async function findMailers(
  q: Queryable,
  wanted: readonly WantedMailer[],
): Promise<(FoundMailer | undefined)[]> {
  const pairs = wanted.map((one) =>
    'mailerId' in one
      ? ({ by: 'id', tenantId: one.tenantId, key: one.mailerId } as const)
      : ({ by: 'email', tenantId: one.tenantId, key: emailKeyOf(one.email) } as const),
  )
  const [byId, byEmail] = await Promise.all([
    find(
      q,
      findById,
      pairs.filter((pair) => pair.by === 'id'),
    ),
    find(
      q,
      findByEmail,
      pairs.filter((pair) => pair.by === 'email'),
    ),
  ])
  return pairs.map(({ by, tenantId, key }) =>
    (by === 'id' ? byId : byEmail).get(`${tenantId} ${key}`),
  )
}

/** The refusal of what wants a mailer that the tenant does not have (contract §3.1). */
export function noMailer(wanted: { readonly mailerId?: string | undefined }): ApiError {
  if (wanted.mailerId === undefined) return new ApiError('no_mailer')
  return new ApiError('no_mailer', { message: 'mailer_id names no mailer that can send' })
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
