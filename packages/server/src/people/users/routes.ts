/**
 * Users over all tenants, for the operator (docs/reference/people.md#users), and the members of one tenant, for
 * its owners (docs/reference/people.md#members).
 */
import {
  createMemberAnswer,
  createMemberBody,
  createUserAnswer,
  createUserBody,
  deleteMemberAnswer,
  deleteUserAnswer,
  getUserAnswer,
  inviteMemberAnswer,
  inviteUserAnswer,
  listMembersAnswer,
  listMembersQuery,
  listUsersAnswer,
  listUsersQuery,
  updateMemberAnswer,
  updateMemberBody,
  updateUserAnswer,
  updateUserBody,
  userParams,
} from '@postrider/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { addOperation } from '../../platform/http/operation.ts'
import { scopesOf } from '../../platform/http/sessions/decide-permission.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { findLiveApiKey } from '../../tenants/index.ts'
import { createMember, deleteMember, inviteMemberAnew, updateMember } from './change-members.ts'
import { createUser, deleteUser, inviteUserAnew, updateUser } from './change-users.ts'
import { fullGrantor, type Grantor, grantorOfKey } from './grants.ts'
import { getUser, pageOfMembers, pageOfUsers } from './list-people.ts'
import { toWireMember, toWireUser } from './user.ts'

export interface PeopleRoutesDeps {
  readonly db: Db
  readonly publicUrl: string
}

const USERS_TAG = 'Administration'
const MEMBERS_TAG = 'Members'
const membersScopes = ['keys'] as const
/** Of one tenant. */
const MEMBERS_CREATED = { usesMax: 60, windowS: 3600 } as const

export function peopleRoutes(app: FastifyInstance, deps: PeopleRoutesDeps): void {
  memberRoutes(app, deps)
  membershipRoutes(app, deps)
  addOperation(app, 'createUser', {
    summary: 'Invite a user to the dashboard',
    description:
      'The answer has the link by which the user sets a password: it works once, for 7 days. `operator` and `operator_viewer` have all tenants; the other roles are for the tenants that are named. An address that a user has is 409.',
    tag: USERS_TAG,
    body: createUserBody,
    answer: createUserAnswer,
    errors: ['conflict', 'forbidden'],
    async handle({ body, request }) {
      const { user, invitationUrl } = await createUser(deps, body, grantorOf(request))
      return { message: 'User Created', user: toWireUser(user), invitation_url: invitationUrl }
    },
  })

  addOperation(app, 'inviteUser', {
    summary: 'Invite a user again',
    description:
      'Answers a new link, for one that was lost or has expired, and for a password that was forgotten. Earlier links, the password and the sessions of the user end. Nobody makes a link for a user with more rights than they may give.',
    tag: USERS_TAG,
    params: userParams,
    answer: inviteUserAnswer,
    errors: ['forbidden'],
    async handle({ params, request }) {
      const grantor = grantorOf(request)
      const { user, invitationUrl } = await inviteUserAnew(deps, params.user_id, grantor)
      return { message: 'User Invited', user: toWireUser(user), invitation_url: invitationUrl }
    },
  })

  addOperation(app, 'listUsers', {
    summary: 'List the users of the dashboard',
    tag: USERS_TAG,
    query: listUsersQuery,
    answer: listUsersAnswer,
    async handle({ query }) {
      return { message: 'Users', ...(await pageOfUsers(deps, query)) }
    },
  })

  addOperation(app, 'getUser', {
    summary: 'Get a user of the dashboard',
    tag: USERS_TAG,
    params: userParams,
    answer: getUserAnswer,
    async handle({ params }) {
      return { message: 'User', user: await getUser(deps, params.user_id) }
    },
  })

  addOperation(app, 'updateUser', {
    summary: 'Change the name, the role or the tenants of a user',
    description:
      'A new role is for all tenants of the user, and so is `content`. In a tenant that is added, the user has the highest role of the others. Open sessions have the new rights at once. A user who gets rights that the inviter may not give is invited anew: password and sessions end, and the answer has `invitation_url`.',
    tag: USERS_TAG,
    params: userParams,
    body: updateUserBody,
    answer: updateUserAnswer,
    errors: ['forbidden'],
    async handle({ params, body, request }) {
      const o = { change: body, grantor: grantorOf(request) }
      const { user, invitationUrl } = await updateUser(deps, params.user_id, o)
      return { message: 'User Updated', user: toWireUser(user), ...linkOf(invitationUrl) }
    },
  })

  addOperation(app, 'deleteUser', {
    summary: 'Delete a user, and end the sessions of the user',
    tag: USERS_TAG,
    params: userParams,
    answer: deleteUserAnswer,
    async handle({ params }) {
      await deleteUser(deps, params.user_id)
      return { message: 'User Deleted' }
    },
  })
}

function memberRoutes(app: FastifyInstance, deps: PeopleRoutesDeps): void {
  const creations = createRateLimit({ name: 'members-created', ...MEMBERS_CREATED })
  addOperation(app, 'listMembers', {
    summary: 'List the people who may use the dashboard for your account',
    tag: MEMBERS_TAG,
    query: listMembersQuery,
    answer: listMembersAnswer,
    scopes: membersScopes,
    async handle({ tenant: { tenantId }, query }) {
      return { message: 'Members', ...(await pageOfMembers(deps, tenantId, query)) }
    },
  })

  addOperation(app, 'createMember', {
    summary: 'Invite a person to the dashboard for your account',
    description:
      'The answer has the link by which the person sets a password: it works once, for 7 days. Nobody gives more than they may do themselves; a key with networks or an expiry gives nothing. An address that a user of the service has is 409: ask the operator to add the user.',
    tag: MEMBERS_TAG,
    body: createMemberBody,
    answer: createMemberAnswer,
    scopes: membersScopes,
    errors: ['conflict', 'rate_limited'],
    isAudited: true,
    async handle({ tenant: { tenantId }, body, request }) {
      await creations.use(tenantId)
      const grantor = await memberGrantorOf(deps.db, request)
      const made = await createMember(deps, tenantId, {
        ...{ body, grantor, isOperators: isOperators(request) },
      })
      return {
        message: 'Member Invited',
        member: toWireMember(made.user, made.membership),
        invitation_url: made.invitationUrl,
      }
    },
  })

  addOperation(app, 'inviteMember', {
    summary: 'Invite a person again who has set no password yet',
    description:
      'Answers a new link, for one that was lost or has expired. Earlier links end. A person who has set a password is 409: the operator invites such a user again. Nobody makes a link for a person with more rights than they may give.',
    tag: MEMBERS_TAG,
    params: userParams,
    answer: inviteMemberAnswer,
    scopes: membersScopes,
    errors: ['conflict', 'rate_limited'],
    isAudited: true,
    async handle({ tenant: { tenantId }, params, request }) {
      await creations.use(tenantId)
      const grantor = await memberGrantorOf(deps.db, request)
      const key = { tenantId, userId: params.user_id }
      const o = { grantor, isOperators: isOperators(request) }
      const { user, membership, invitationUrl } = await inviteMemberAnew(deps, key, o)
      return {
        message: 'Member Invited',
        member: toWireMember(user, membership),
        invitation_url: invitationUrl,
      }
    },
  })
}

/** Of people who are members already. */
function membershipRoutes(app: FastifyInstance, deps: PeopleRoutesDeps): void {
  addOperation(app, 'updateMember', {
    summary: 'Change what a person may do for your account',
    description:
      'Open sessions have the new rights at once. A person who gets rights that the inviter may not give is invited anew: password and sessions end, and the answer has `invitation_url`. The last owner who can log in stays an owner: 409.',
    tag: MEMBERS_TAG,
    params: userParams,
    body: updateMemberBody,
    answer: updateMemberAnswer,
    scopes: membersScopes,
    errors: ['conflict'],
    isAudited: true,
    async handle({ tenant: { tenantId }, params, body, request }) {
      const { user, membership, invitationUrl } = await updateMember(
        deps,
        { tenantId, userId: params.user_id },
        {
          change: body,
          grantor: await memberGrantorOf(deps.db, request),
          isOperators: isOperators(request),
        },
      )
      const member = toWireMember(user, membership)
      return { message: 'Member Updated', member, ...linkOf(invitationUrl) }
    },
  })

  addOperation(app, 'deleteMember', {
    summary: 'Remove a person from your account',
    description:
      'A person without another account is deleted, so that the address can be invited again. Keys that the person made stay. The last owner who can log in stays: 409.',
    tag: MEMBERS_TAG,
    params: userParams,
    answer: deleteMemberAnswer,
    scopes: membersScopes,
    errors: ['conflict'],
    isAudited: true,
    async handle({ tenant: { tenantId }, params, request }) {
      const key = { tenantId, userId: params.user_id }
      await deleteMember(deps, key, { isOperators: isOperators(request) })
      return { message: 'Member Removed' }
    },
  })
}

function linkOf(url: string | undefined): { readonly invitation_url?: string } {
  return url === undefined ? {} : { invitation_url: url }
}

function isOperators({ isOperators: byToken, person }: FastifyRequest): boolean {
  return byToken || person?.operatorRole !== undefined
}

/** On the operator's routes: by the token, or by an operator's session. */
function grantorOf({ person }: FastifyRequest): Grantor {
  if (person?.operatorRole === undefined) return fullGrantor
  const { operatorRole: role, content } = person
  return { isOwner: true, scopes: scopesOf({ role, content }) }
}

async function memberGrantorOf(db: Db, request: FastifyRequest): Promise<Grantor> {
  const { keyId, scopes, tenantId } = request.tenant
  // The role of a person who comes here is owner, or operator.
  if (request.person !== undefined) return { isOwner: true, scopes }
  if (request.isOperators) return fullGrantor
  const key = await findLiveApiKey(db, tenantId, keyId)
  // It was revoked since it was let in.
  if (key === undefined) throw new ApiError('unauthorized')
  return grantorOfKey(key)
}
