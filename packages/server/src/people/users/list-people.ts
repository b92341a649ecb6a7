/** A user; pages of users, and of one tenant's members: newest first (docs/reference/http.md#lists). */
import type { Member, PageQuery, User } from '@postrider/contract'
import type { Db, Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { cutPage, readPage } from '../../platform/http/paging.ts'
import { keyOf } from './read-email.ts'
import { toWireMember, toWireUser } from './user.ts'
import { findUser, findUserByEmail, listMemberRows, listUserRows } from './user-store.ts'

type WithToken = { readonly nextPageToken?: string }

const USER_ID = /^user_[0-9A-Z]{26}$/

export async function getUser({ db }: { readonly db: Db }, userId: string): Promise<User> {
  const user = await findUser(db, userId)
  if (user === undefined) throw new ApiError('not_found')
  return toWireUser(user)
}

/** By the id or the address. */
export async function findUserId(
  { db }: { readonly db: Queryable },
  text: string,
): Promise<string | undefined> {
  const user = text.includes('@')
    ? await findUserByEmail(db, keyOf(text))
    : await findUser(db, text)
  return user?.userId
}

export async function pageOfUsers(
  { db }: { readonly db: Db },
  query: PageQuery,
): Promise<{ users: User[] } & WithToken> {
  const page = readPage(query, 'users', USER_ID)
  const found = await listUserRows(db, { before: page.before, limit: page.limit + 1 })
  const { rows, ...token } = cutPage(found, page, ({ userId }) => userId)
  return { users: rows.map(toWireUser), ...token }
}

export async function pageOfMembers(
  { db }: { readonly db: Db },
  tenantId: string,
  query: PageQuery,
): Promise<{ members: Member[] } & WithToken> {
  const page = readPage(query, 'members', USER_ID)
  const found = await listMemberRows(db, tenantId, { before: page.before, limit: page.limit + 1 })
  const { rows, ...token } = cutPage(found, page, ({ userId }) => userId)
  const members = rows.flatMap((user) =>
    user.memberships
      .filter((one) => one.tenantId === tenantId)
      .map((one) => toWireMember(user, one)),
  )
  return { members, ...token }
}
