/**
 * What lies in the selected folder, by UID: all that is needed to tell whether a message is wanted.
 *
 * UIDNEXT and EXISTS are not believed: what is there above a UID is asked for, and what the server then
 * says of UIDs that were not asked for is passed over.
 */
import type { FetchMessageObject, ImapFlow } from 'imapflow'
import type { ImapSession } from '../../mailers/index.ts'
import type { DatedMessage } from './decide-old.ts'

export interface ListedMessage extends DatedMessage {
  readonly bytes: number
  /** '' for none. */
  readonly messageId: string
}

export interface Listing {
  /** In the order of their UIDs. */
  readonly messages: readonly ListedMessage[]
  /** There are more. */
  readonly isCut: boolean
}

const LIST_TIMEOUT_MS = 120_000
/** At once: the rest is listed when these have been dealt with. */
const LISTED_MAX = 10_000
const UID_MAX = 2 ** 32 - 1
const MESSAGE_ID_LENGTH_MAX = 998
const QUERY = { uid: true, size: true, internalDate: true, headers: ['message-id'] }

export function listAbove(session: ImapSession, lastUid: number): Promise<Listing> {
  if (lastUid >= UID_MAX) return Promise.resolve({ messages: [], isCut: false })
  return session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) =>
    // The last message is part of every range that ends with `*`.
    list(client, `${lastUid + 1}:*`, { uid: true, isWanted: (uid) => uid > lastUid }),
  )
}

/** The last so many of the folder. */
export async function listTail(
  session: ImapSession,
  { exists, count }: { readonly exists: number; readonly count: number },
): Promise<readonly ListedMessage[]> {
  if (exists === 0) return []
  const { messages } = await session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) =>
    list(client, `${Math.max(1, exists - count + 1)}:*`, { uid: false, isWanted: () => true }),
  )
  return messages.slice(-count)
}

/** The lowest UID of what arrived since; undefined: nothing has, or nobody can say. */
export async function findSince(
  session: ImapSession,
  since: Date,
): Promise<{ readonly firstUid: number } | 'none' | 'unknown'> {
  const found = await session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) =>
    // By whole days, of whatever zone the server is in.
    client.search({ since: new Date(since.getTime() - 2 * 86_400_000) }, { uid: true }),
  )
  if (!Array.isArray(found)) return 'unknown'
  return found.length === 0 ? 'none' : { firstUid: found[0] ?? UID_MAX }
}

async function list(
  client: ImapFlow,
  range: string,
  o: { readonly uid: boolean; readonly isWanted: (uid: number) => boolean },
): Promise<Listing> {
  const found = new Map<number, ListedMessage>()
  let isCut = false
  for await (const message of client.fetch(range, QUERY, { uid: o.uid })) {
    if (!Number.isInteger(message.uid) || message.uid > UID_MAX || !o.isWanted(message.uid))
      continue
    if (found.size === LISTED_MAX && !found.has(message.uid)) {
      isCut = true
      break
    }
    found.set(message.uid, toListed(message))
  }
  const messages = [...found.values()].sort((a, b) => a.uid - b.uid)
  return { messages, isCut }
}

function toListed({ uid, size, internalDate, headers }: FetchMessageObject): ListedMessage {
  const isTime = internalDate instanceof Date && !Number.isNaN(internalDate.getTime())
  return {
    uid,
    bytes: size ?? 0,
    arrivedAt: isTime ? internalDate : undefined,
    messageId: messageIdOf(headers),
  }
}

function messageIdOf(headers: Buffer | undefined): string {
  const text = headers?.toString('latin1', 0, 2 * MESSAGE_ID_LENGTH_MAX) ?? ''
  const value = /^message-id[ \t]*:([\s\S]*)/i.exec(text)?.[1] ?? ''
  return (
    value
      .replace(/\r?\n[ \t]/g, ' ')
      .split(/[\r\n]/, 1)[0]
      ?.trim()
      .slice(0, MESSAGE_ID_LENGTH_MAX) ?? ''
  )
}
