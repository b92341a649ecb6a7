/**
 * Calls of people with a session (docs/reference/people.md#sessions): every operation is also reached under
 * `/ui/api` and its path. There a cookie opens it and nothing else; elsewhere a cookie opens nothing.
 */
import type { IncomingMessage } from 'node:http'
import { type MemberRole, type OperatorRole, sessionApiPrefix } from '@postrider/contract'
import type { FastifyRequest } from 'fastify'

/** Who calls, by a session. */
export interface Person {
  readonly userId: string
  readonly sessionId: string
  /** Over all tenants. */
  readonly operatorRole: OperatorRole | undefined
  /** Whether an operator reads the content of mail. */
  readonly content: boolean
  readonly memberships: readonly Membership[]
}

export interface Membership {
  readonly tenantId: string
  readonly role: MemberRole
  readonly content: boolean
}

export interface SessionAccess {
  readonly cookieName: string
  /**
   * Asked for each request, so that a session that has ended ends everywhere at once.
   *
   * @param isUse false: the session does not go on by it, as nobody did anything
   */
  find(token: string, addressOf: () => string, isUse: boolean): Promise<Person | undefined>
  /** Whether a page of that origin is the dashboard. */
  isOwnOrigin(origin: string, host: string | undefined): boolean
  hasTenant(tenantId: string): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where a session made the call. */
    person: Person | undefined
  }
}

const marked = new WeakSet<IncomingMessage>()

/**
 * Takes the prefix off the target of a request, and remembers that it was there. Nothing but an operation's
 * path follows the prefix: `/ui/api/healthz` is not found.
 */
export function takeSessionPrefix(raw: IncomingMessage): string {
  const { url = '/' } = raw
  if (!url.startsWith(sessionApiPrefix)) return url
  const rest = url.slice(sessionApiPrefix.length)
  if (!rest.startsWith('/v1/') && !rest.startsWith('/admin/v1/')) return url
  marked.add(raw)
  return rest
}

export function isSessionCall({ raw }: Pick<FastifyRequest, 'raw'>): boolean {
  return marked.has(raw)
}

/**
 * The value of a cookie. Undefined when it is absent or given twice: who may set cookies for a neighbouring
 * name could put theirs before the right one.
 */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined
  const values = header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at !== -1 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
  })
  return values.length === 1 ? values[0] : undefined
}
