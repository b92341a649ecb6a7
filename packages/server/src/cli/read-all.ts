/** Lists of the API, read to their end by the operator's commands. */
import type { ListedTenant } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
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

/** The one that is named, else all. Throws when there is no such tenant. */
export async function tenantIdsOf(db: Db, named: string | undefined): Promise<string[]> {
  if (named === undefined) return (await everyTenant(db)).map(({ tenant_id: id }) => id)
  if (!(await hasTenant(db, named)))
    throw new ApiError('not_found', { message: `There is no tenant ${named}` })
  return [named]
}
