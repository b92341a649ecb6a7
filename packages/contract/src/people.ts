/**
 * People who use the dashboard: users over all tenants, and the members of one tenant
 * (docs/reference/people.md).
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  nextPageToken,
  pageQuery,
  plainAnswer,
  timestamp,
} from './common.ts'

/** Roles over all tenants. */
export const operatorRoles = ['operator', 'operator_viewer'] as const
export type OperatorRole = (typeof operatorRoles)[number]

/** Roles in one tenant, the highest first. */
export const memberRoles = ['owner', 'developer', 'support', 'viewer'] as const
export type MemberRole = (typeof memberRoles)[number]

/** The highest first. */
export const userRoles = [...operatorRoles, ...memberRoles] as const
export type UserRole = (typeof userRoles)[number]

export const userStates = ['invited', 'active'] as const
export type UserState = (typeof userStates)[number]

export const userNameLengthMax = 200
export const userEmailLengthMax = 254
/** Of one user. */
export const userTenantsMax = 100
/** Of one tenant. */
export const membersMax = 1_000

const userId = Type.String({ description: 'Identifier of the user' })
const email = Type.String({
  minLength: 3,
  maxLength: userEmailLengthMax,
  description: 'The address that the user logs in with. Case does not matter',
})
const name = Type.String({
  minLength: 1,
  maxLength: userNameLengthMax,
  description: 'Name of the user',
})
const userRole = Type.Enum([...userRoles], {
  description:
    '`operator` and `operator_viewer` are for all tenants; `owner`, `developer`, `support` and `viewer` are for the named ones',
})
const memberRole = Type.Enum([...memberRoles], {
  description: 'What the user may do in the tenant',
})
const content = Type.Boolean({
  description:
    'Whether the user may read the content of mail. When left out: yes for `operator`, `owner` and `support`',
})
const tenantIds = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: userTenantsMax,
  uniqueItems: true,
  description: 'Identifiers of the tenants of the user. None for the roles that have all tenants',
})
const state = Type.Enum([...userStates], {
  description: '`invited`: no password was set yet; `active`: the user can log in',
})
const createdAt = timestamp('When the user was created')
const invitationUrl = Type.String({
  description:
    'The link by which the user sets a password. It works once, for 7 days. It is shown once',
})

export const userMembership = closedObject(
  {
    tenant_id: Type.String({ description: 'Identifier of the tenant' }),
    role: memberRole,
    content: Type.Boolean({ description: 'Whether the user may read the content of mail there' }),
  },
  { description: 'What a user may do in one tenant' },
)
export type UserMembership = Static<typeof userMembership>

export const user = closedObject(
  {
    user_id: userId,
    email: Type.String({ description: 'The address that the user logs in with' }),
    name: Type.String({ description: 'Name of the user' }),
    role: Type.Unsafe<UserRole | null>({
      type: ['string', 'null'],
      enum: [...userRoles, null],
      description: 'Of several roles the highest. null: the user has no tenant left',
    }),
    tenants: Type.Array(Type.String(), {
      description: 'Identifiers of the tenants of the user. Empty for the roles that have all',
    }),
    content: Type.Boolean({
      description: 'Whether the user may read the content of mail, in each of the tenants',
    }),
    memberships: Type.Array(userMembership, { description: 'The role in each of the tenants' }),
    state,
    created_at: createdAt,
  },
  { description: 'A person who can log in to the dashboard' },
)
export type User = Static<typeof user>

export const createUserBody = closedObject({
  email,
  name,
  role: userRole,
  tenants: Type.Optional(tenantIds),
  content: Type.Optional(content),
})
export type CreateUserBody = Static<typeof createUserBody>

export const createUserAnswer = answer({ user, invitation_url: invitationUrl })
export type CreateUserAnswer = Static<typeof createUserAnswer>

export const inviteUserAnswer = answer({ user, invitation_url: invitationUrl })
export type InviteUserAnswer = Static<typeof inviteUserAnswer>

export const listUsersQuery = pageQuery
export type ListUsersQuery = Static<typeof listUsersQuery>

export const listUsersAnswer = answer({
  users: Type.Array(user, { description: 'Newest first' }),
  nextPageToken,
})
export type ListUsersAnswer = Static<typeof listUsersAnswer>

export const userParams = closedObject({ user_id: Type.String({ maxLength: 64 }) })
export type UserParams = Static<typeof userParams>

export const getUserAnswer = answer({ user })
export type GetUserAnswer = Static<typeof getUserAnswer>

export const updateUserBody = changes({
  name: Type.Optional(name),
  role: Type.Optional(userRole),
  tenants: Type.Optional(tenantIds),
  content: Type.Optional(content),
})
export type UpdateUserBody = Static<typeof updateUserBody>

/** Absent: the user logs in as before. */
const renewedInvitationUrl = Type.Optional(
  Type.String({
    description:
      'Where the inviter of the user may not give the new rights: password and sessions have ended, and this link sets a new password. It works once, for 7 days. It is shown once',
  }),
)

export const updateUserAnswer = answer({ user, invitation_url: renewedInvitationUrl })
export type UpdateUserAnswer = Static<typeof updateUserAnswer>

export const deleteUserAnswer = plainAnswer
export type DeleteUserAnswer = Static<typeof deleteUserAnswer>

export const member = closedObject(
  {
    user_id: userId,
    email: Type.String({ description: 'The address that the user logs in with' }),
    name: Type.String({ description: 'Name of the user' }),
    role: memberRole,
    content: Type.Boolean({ description: 'Whether the user may read the content of mail' }),
    state,
    created_at: createdAt,
  },
  { description: 'A person who can log in to the dashboard, as the tenant sees it' },
)
export type Member = Static<typeof member>

export const listMembersQuery = pageQuery
export type ListMembersQuery = Static<typeof listMembersQuery>

export const listMembersAnswer = answer({
  members: Type.Array(member, { description: 'Newest first' }),
  nextPageToken,
})
export type ListMembersAnswer = Static<typeof listMembersAnswer>

export const createMemberBody = closedObject({
  email,
  name,
  role: memberRole,
  content: Type.Optional(content),
})
export type CreateMemberBody = Static<typeof createMemberBody>

export const createMemberAnswer = answer({ member, invitation_url: invitationUrl })
export type CreateMemberAnswer = Static<typeof createMemberAnswer>

export const inviteMemberAnswer = answer({ member, invitation_url: invitationUrl })
export type InviteMemberAnswer = Static<typeof inviteMemberAnswer>

export const updateMemberBody = changes({
  role: Type.Optional(memberRole),
  content: Type.Optional(content),
})
export type UpdateMemberBody = Static<typeof updateMemberBody>

export const updateMemberAnswer = answer({ member, invitation_url: renewedInvitationUrl })
export type UpdateMemberAnswer = Static<typeof updateMemberAnswer>

export const deleteMemberAnswer = plainAnswer
export type DeleteMemberAnswer = Static<typeof deleteMemberAnswer>
