/**
 * Finds out who calls by a session's cookie: one look-up by an index for each request, and nothing is kept. So a
 * session that was revoked, and a role that was taken away, end at once and in every process.
 *
 * Guesses share the database's time by address, as wrong keys do.
 */
import { createBatchedLookup } from '@postrider/runtime/batched-lookup'
import type { Db } from '../../platform/db/index.ts'
import type { Person, SessionAccess } from '../../platform/http/sessions/session.ts'
import { networkOf } from '../../platform/limits/address-network.ts'
import { type FoundSession, findSessionsByHash, touchSession } from './session-store.ts'
import { hashToken } from './token.ts'

const ASKED_AT_ONCE_MAX = 500
const TOKEN_CHARS_MAX = 100

export function createSessionFinder({ db }: { readonly db: Db }): Pick<SessionAccess, 'find'> {
  const lookups = createBatchedLookup<Buffer, FoundSession>({
    keysMax: ASKED_AT_ONCE_MAX,
    run: (hashes) => findSessionsByHash(db, hashes),
  })
  return {
    async find(token, addressOf, isUse) {
      if (token.length > TOKEN_CHARS_MAX) return undefined
      const found = await lookups.find(networkOf(addressOf()), hashToken(token))
      if (found === undefined) return undefined
      // What fails is done by the next use: nobody waits for it.
      if (isUse && found.isUseStale) touchSession(db, found.sessionId).catch(() => undefined)
      return toPerson(found)
    },
  }
}

function toPerson({ userId, sessionId, operatorRole, content, memberships }: FoundSession): Person {
  return { userId, sessionId, operatorRole: operatorRole ?? undefined, content, memberships }
}
