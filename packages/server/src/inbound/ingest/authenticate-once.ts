/**
 * One message that goes to many webhooks of a tenant is authenticated once, as far as they are read by one
 * process at about one time: a hundred recipients are not to make a hundred times as many questions of
 * name servers that its sender has chosen.
 */
import type { Authentication, ParsedMessage } from '../../mail/index.ts'
import { createBoundedMap } from '../../platform/bounded-map.ts'
import type { StoredMessage } from './message-store.ts'

export type Authenticate = (
  message: StoredMessage & { readonly raw: Buffer },
  parsed: ParsedMessage,
  /** How long name servers are waited for. */
  timeoutMs: number,
) => Promise<Authentication>

/** More than are read at once. */
const MESSAGES_MAX = 256

export function createAuthenticateOnce(authenticate: Authenticate): Authenticate {
  const known = createBoundedMap<string, ReturnType<Authenticate>>(MESSAGES_MAX)
  return (message, parsed, timeoutMs) => {
    const key = `${message.tenantId} ${message.rawId}`
    const before = known.get(key)
    if (before !== undefined) return before
    const found = authenticate(message, parsed, timeoutMs)
    known.set(key, found)
    found.catch(() => known.delete(key))
    return found
  }
}
