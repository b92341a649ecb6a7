/**
 * The guard of calls by a session: who it is (401), whether a page of ours made the call (403), whether the
 * role has the permission (403), and only then whether the tenant's header is well formed (400, 404).
 */
import type { ApiKeyScope } from '@postrider/contract'
import type { FastifyRequest } from 'fastify'
import { ApiError, validationError } from '../../errors.ts'
import { isId } from '../../ids.ts'
import { memberOf } from '../../values/json.ts'
import { tenantHeader } from '../act-for-tenant.ts'
import { isRead } from '../is-read.ts'
import { mayCall, type PermissionRule, type Standing, scopesOf } from './decide-permission.ts'
import { type Person, readCookie, type SessionAccess } from './session.ts'

export const sessionHeader = 'X-Postrider-Session'

const SESSION_HEADER = sessionHeader.toLowerCase()
const TENANT_HEADER = tenantHeader.toLowerCase()

const NO_CONTENT =
  'Forbidden: this user lacks the permission `content`, to read the content of mail'
const NO_SESSION = 'Unauthorized: log in first. There is no session, or it has ended'

/** Who calls by the session's cookie. Throws 401, and 403 for a change that another page may have caused. */
export async function admitPerson(
  request: FastifyRequest,
  access: SessionAccess,
  isUse = true,
): Promise<Person> {
  const token = readCookie(request.headers.cookie, access.cookieName)
  const person =
    token === undefined ? undefined : await access.find(token, () => request.clientAddress, isUse)
  if (person === undefined) throw new ApiError('unauthorized', { message: NO_SESSION })
  if (!isRead(request.method)) refuseForgery(request, access)
  request.person = person
  return person
}

/** A form cannot set the header, and no page sets its own origin. */
function refuseForgery(request: FastifyRequest, access: SessionAccess): void {
  const isForm = request.routeOptions.config.isFormRead === true
  if (!isForm && request.headers[SESSION_HEADER] !== '1')
    throw new ApiError('forbidden', {
      message: `Forbidden: a change by a session needs the header ${sessionHeader}: 1`,
    })
  const { origin } = request.headers
  if (origin === undefined || !access.isOwnOrigin(origin, request.headers.host))
    throw new ApiError('forbidden', {
      message: 'Forbidden: a change by a session needs the Origin of POSTRIDER_PUBLIC_URL',
    })
}

/** Refuses a call that a page of another origin makes. What is no browser sends no Origin. */
export function refuseForeignOrigin(request: FastifyRequest, access: SessionAccess): void {
  const { origin, host } = request.headers
  if (origin === undefined || access.isOwnOrigin(origin, host)) return
  throw new ApiError('forbidden', { message: 'Forbidden: the call comes from a page elsewhere' })
}

/** On the operator's routes. */
export function permitOperator(person: Person, rule: PermissionRule): void {
  const { operatorRole, content } = person
  if (operatorRole === undefined || !mayCall({ role: operatorRole, content }, rule))
    throw forbidden()
}

/** On a tenant's routes: whom the session acts for. */
export async function permitTenant(
  request: FastifyRequest,
  person: Person,
  o: { readonly rule: PermissionRule; readonly access: SessionAccess },
): Promise<{ readonly tenantId: string; readonly scopes: readonly ApiKeyScope[] }> {
  const named = request.headers[TENANT_HEADER] ?? tenantInQuery(request)
  const standing = standingIn(person, named)
  const isPermitted =
    standing === undefined
      ? // Nothing is said of a tenant to somebody who may not call this in any.
        person.memberships.some((one) => mayCall(one, o.rule)) && !isId('tn', String(named))
      : mayCall(standing, o.rule)
  if (!isPermitted) {
    const lacksContent = standing !== undefined && mayCall({ ...standing, content: true }, o.rule)
    throw lacksContent ? new ApiError('forbidden', { message: NO_CONTENT }) : forbidden()
  }
  if (typeof named !== 'string' || !isId('tn', named) || standing === undefined)
    throw validationError({
      path: `/${tenantHeader}`,
      message: `the header ${tenantHeader} must be the id of one tenant, such as tn_01ARZ3NDEKTSV4RRFFQ69G5FAV`,
    })
  if (person.operatorRole !== undefined && !(await o.access.hasTenant(named)))
    throw new ApiError('not_found', {
      message: `There is no tenant ${named} (header ${tenantHeader})`,
    })
  return { tenantId: named, scopes: scopesOf(standing) }
}

function tenantInQuery({ query, routeOptions }: FastifyRequest): string | undefined {
  const tenant = routeOptions.config.mayNameTenantInQuery === true && memberOf(query, 'tenant')
  return typeof tenant === 'string' ? tenant : undefined
}

function standingIn(
  { operatorRole, content, memberships }: Person,
  named: string | readonly string[] | undefined,
): Standing | undefined {
  if (operatorRole !== undefined) return { role: operatorRole, content }
  return memberships.find(({ tenantId }) => tenantId === named)
}

function forbidden(): ApiError {
  return new ApiError('forbidden', {
    message: 'Forbidden: the role of this user does not include this operation here',
  })
}
