/**
 * What a 404 says beside "Not Found": that there is no such route, or what it is that the path names and
 * this tenant does not have. A malformed id, an unknown one and another tenant's all have the same words.
 */
import { errorCatalogue, operations } from '@postrider/contract'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../errors.ts'

/** By the parameter's name. Every parameter in a path of the contract has one. */
export const thingOfParameter: Readonly<Record<string, string>> = {
  ref_id: 'email',
  email: 'suppressed address',
  webhook_id: 'webhook',
  delivery_id: 'webhook delivery',
  mailer_id: 'mailer',
  app_id: 'OAuth app',
  kind: 'relay account',
  domain: 'domain',
  username: 'username',
  inbound_id: 'received message',
  n: 'attachment',
  template_id: 'template',
  tenant_id: 'tenant',
  key_id: 'API key',
  user_id: 'user',
  session_id: 'session',
}

/** Where a mailer of another kind is none either. */
const MAILER_OF_PATH: readonly (readonly [string, string])[] = [
  ['/v1/smtp/', 'mailer that sends'],
  ['/v1/imap/', 'mailer that fetches mail'],
  ['/v1/oauth/', 'mailer with OAuth'],
]

/** The refusal with what the path names, where it says no more than "Not Found" itself. */
export function nameAbsentThing(refusal: ApiError, request: FastifyRequest): ApiError {
  if (refusal.code !== 'not_found' || refusal.message !== errorCatalogue.not_found.message)
    return refusal
  // What the framework refuses to route has no options at all.
  const { url, config } = request.routeOptions ?? {}
  const id = config?.operation?.id
  const things =
    url === undefined ? ['route'] : id === undefined ? [] : thingsIn(operations[id].path)
  if (things.length === 0) return refusal
  return new ApiError('not_found', {
    message: `Not Found: there is no such ${things.join(' or ')}`,
    cause: refusal,
  })
}

function thingsIn(path: string): string[] {
  const [, mailer] = MAILER_OF_PATH.find(([prefix]) => path.startsWith(prefix)) ?? []
  return [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) =>
    name === 'mailer_id' && mailer !== undefined ? mailer : (thingOfParameter[name] ?? []),
  )
}
