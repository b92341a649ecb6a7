/**
 * The operator's token on a tenant's routes (docs/reference/operator.md#acting-for-a-tenant): with
 * `X-Postrider-Tenant` it acts for that tenant, without any limit of scopes. Each such call that may change
 * something is recorded before it is begun. So is each change by a person, each change on the operator's own
 * routes, and each call of an operation that is audited.
 */
import type { AuditedChange } from '@postrider/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, validationError } from '../errors.ts'
import { isId } from '../ids.ts'
import { isRead } from './is-read.ts'

export const tenantHeader = 'X-Postrider-Tenant'

export interface AuditedCall {
  /** Undefined on the operator's own routes. */
  readonly tenantId: string | undefined
  /** `operator`, or the id of a user or of an API key. */
  readonly actor: string
  /** By its name in the OpenAPI description. */
  readonly operation: string
  readonly target: string | undefined
  readonly from: string
  readonly requestId: string
}

/** To be called when it is answered. Never rejects. */
export type EndAuditedCall = (o: {
  readonly status: number
  readonly target?: string | undefined
  readonly changes?: readonly AuditedChange[] | undefined
}) => Promise<void>

export interface OperatorAccess {
  hasTenant(tenantId: string): Promise<boolean>
  /** Resolves when the call is recorded. */
  begin(call: AuditedCall): Promise<EndAuditedCall>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator makes it, for a tenant. */
    isOperators: boolean
    endAuditedCall: EndAuditedCall | undefined
    /** What the operation made, where its path names nothing. */
    made: string | undefined
    /** What the operation changed, where its entry tells it. */
    changes: readonly AuditedChange[] | undefined
  }
}

/** Whom a request with the operator's token acts for. */
export async function identifyTenant(
  request: FastifyRequest,
  access: OperatorAccess,
): Promise<string> {
  const tenantId = request.headers[tenantHeader.toLowerCase()]
  if (typeof tenantId !== 'string' || !isId('tn', tenantId))
    throw validationError({
      path: `/${tenantHeader}`,
      message: `the header ${tenantHeader} must be the id of one tenant, such as tn_01ARZ3NDEKTSV4RRFFQ69G5FAV`,
    })
  if (!(await access.hasTenant(tenantId)))
    throw new ApiError('not_found', {
      message: `There is no tenant ${tenantId} (header ${tenantHeader})`,
    })
  request.isOperators = true
  return tenantId
}

/** Records what belongs into the audit log: after it was found to be fit, before it is begun. */
export function recordAuditedCalls(app: FastifyInstance, access: OperatorAccess): void {
  app.decorateRequest('isOperators', false)
  app.decorateRequest('endAuditedCall', undefined)
  app.decorateRequest('made', undefined)
  app.decorateRequest('changes', undefined)
  app.addHook('preHandler', async (request) => {
    const { config, url = '' } = request.routeOptions
    const { identity, isOperators, person } = request
    const isAudited =
      isOperators ||
      person !== undefined ||
      config.auth === 'admin' ||
      config.operation?.details.isAudited === true
    const changesNothing = isRead(request.method) || config.isFormRead === true
    // Sessions keep a list of their own.
    if (!isAudited || config.auth === 'session' || changesNothing) return
    const ids = Object.values((request.params ?? {}) as Record<string, string>)
    request.endAuditedCall = await access.begin({
      tenantId: identity?.tenantId,
      actor:
        person?.userId ?? (isOperators || identity === undefined ? 'operator' : identity.keyId),
      operation: config.operation?.id ?? `${request.method} ${url}`,
      target: ids.length === 0 ? undefined : ids.join('/'),
      from: request.clientAddress,
      requestId: request.id,
    })
  })
  app.addHook('onSend', async (request, reply) => {
    const end = request.endAuditedCall
    if (end === undefined) return
    request.endAuditedCall = undefined
    const { made: target, changes } = request
    await end({ status: reply.statusCode, target, changes })
  })
}

/** The first id in an answer, or in an object of it. */
export function idIn(answer: unknown, depth = 0): string | undefined {
  if (typeof answer !== 'object' || answer === null || depth > 1) return undefined
  const entries = Object.entries(answer)
  const own = entries.find(
    ([name, value]) => /_id$|^domain$/.test(name) && typeof value === 'string',
  )
  if (own !== undefined) return String(own[1])
  for (const [, value] of entries) {
    const inner = Array.isArray(value) ? undefined : idIn(value, depth + 1)
    if (inner !== undefined) return inner
  }
  return undefined
}
