/** Lists of the API, read to their end by the operator's commands. */
import type { ListedTenant } from '@postrider/contract'
import { printable } from '../mailers/index.ts'
import type { Db, SearchTenants } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { hasTenant, pageOfTenants } from '../tenants/index.ts'

export async function readAll<T>(
  readPage: (pageToken: {
    pageToken?: string
  }) => Promise<{ items: T[]; token: string | undefined }>,
): Promise<T[]> {
  const all: T[] = []
  let token: string | undefined
  do {
    const page = await readPage(token === undefined ? {} : { pageToken: token })
    all.push(...page.items)
    token = page.token
  } while (token !== undefined)
  return all
}

export async function everyTenant(db: Db): Promise<ListedTenant[]> {
  return await readAll(async (pageToken) => {
    const page = await pageOfTenants({ db }, { pageSize: 500, ...pageToken })
    return { items: page.tenants, token: page.nextPageToken }
  })
}

/** The one that is named, else the only one. Throws when there are several. */
export async function theTenant(db: Db, named: string | undefined): Promise<string> {
  if (named !== undefined) return (await tenantIdsOf(db, named))[0] ?? named
  const ids = (await everyTenant(db))
    .filter(({ state }) => state !== 'deleting')
    .map(({ tenant_id: id }) => id)
  const [only] = ids
  if (only === undefined)
    throw new Error('There is no tenant: make one with postrider tenant create')
  if (ids.length === 1) return only
  throw new Error('There are several tenants: name one with --tenant (postrider tenant list)')
}

/** Whose it is: an id tells it. Throws when it is not there, or not of the tenant that is named. */
export async function ownerOf(
  db: Db,
  o: { readonly what: string; readonly id: string; readonly search: SearchTenants },
  named: string | undefined,
): Promise<string> {
  const tenantIds = await tenantIdsOf(db, named)
  const [found] = await o.search(db, { tenantIds, value: o.id, limit: 1 })
  if (found !== undefined) return found.tenantId
  const of = named === undefined ? 'There is' : `${named} has`
  throw new ApiError('not_found', { message: `${of} no ${o.what} ${printable(o.id)}` })
}

/** The one that is named, else all. Throws when there is no such tenant. */
export async function tenantIdsOf(db: Db, named: string | undefined): Promise<string[]> {
  if (named === undefined) return (await everyTenant(db)).map(({ tenant_id: id }) => id)
  if (!(await hasTenant(db, named)))
    throw new ApiError('not_found', { message: `There is no tenant ${named}` })
  return [named]
}
