/**
 * What lies in the selected folder, by UID: all that is needed to tell whether a message is wanted.
 *
 * UIDNEXT is not believed: what is there above a UID is asked for, and what the server then says of UIDs
 * that were not asked for is passed over. A large folder is listed by ranges of UIDs, each with the last
 * message besides, which tells whether there is more: so no command has much more to answer than is taken
 * of it, and a listing goes no further than everything below is in it, in whatever order that comes.
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
  /** There is nothing else up to this UID. */
  readonly upTo: number
  /** There are more above it. */
  readonly isCut: boolean
  /** So many UIDs are to be asked for next, as far as can be told from these. */
  readonly nextWidth: number
}

const LIST_TIMEOUT_MS = 120_000
/** At once: the rest is listed when these have been dealt with. */
const LISTED_MAX = 10_000
/** A range with few messages is followed by one that is so many times as wide. */
const WIDER = 4
/** Of one search: the answer is one line. */
const SEARCHED_MAX = 40_000
const SEARCHES_MAX = 250
const UID_MAX = 2 ** 32 - 1
const MESSAGE_ID_LENGTH_MAX = 998
const QUERY = { uid: true, size: true, internalDate: true, headers: ['message-id'] }

/** @param width of the range, in UIDs; a folder with fewer messages than are taken at once has none */
export async function listAbove(
  session: ImapSession,
  lastUid: number,
  width = LISTED_MAX,
): Promise<Listing> {
  if (lastUid >= UID_MAX) return { messages: [], upTo: lastUid, isCut: false, nextWidth: width }
  let end = UID_MAX
  const found = await session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) => {
    if (existsOf(client) > LISTED_MAX) end = Math.min(lastUid + width, UID_MAX)
    // The last message is part of every range that ends with `*`.
    const range = `${lastUid + 1}:${end === UID_MAX ? '*' : `${end},${UID_MAX}:*`}`
    const isWanted = (uid: number) => uid > lastUid
    return list(client, range, { uid: true, isWanted, keep: (all) => all.slice(0, LISTED_MAX) })
  })
  const messages = found.messages.filter(({ uid }) => uid <= end)
  const last = found.messages.at(-1)?.uid ?? lastUid
  const isFew = messages.length * WIDER <= LISTED_MAX
  return {
    messages,
    upTo: Math.min(last, end),
    isCut: found.isCut || last > end,
    nextWidth: found.isCut ? LISTED_MAX : isFew ? Math.min(width * WIDER, UID_MAX) : width,
  }
}

/** The last so many of the folder. */
export async function listTail(
  session: ImapSession,
  { exists, count }: { readonly exists: number; readonly count: number },
): Promise<readonly ListedMessage[]> {
  if (exists === 0) return []
  const range = `${Math.max(1, exists - count + 1)}:*`
  const { messages } = await session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) =>
    list(client, range, { uid: false, isWanted: () => true, keep: (all) => all.slice(-count) }),
  )
  return messages
}

/**
 * The lowest UID of what arrived since; unknown: nobody can say. From the end on: what is deleted
 * meanwhile moves the others to where has not been searched yet.
 */
export async function findSince(
  session: ImapSession,
  since: Date,
  exists: number,
): Promise<{ readonly firstUid: number } | 'none' | 'unknown'> {
  if (exists > SEARCHED_MAX * SEARCHES_MAX) return 'unknown'
  // By whole days, of whatever zone the server is in.
  const day = new Date(since.getTime() - 2 * 86_400_000)
  let firstUid: number | undefined
  for (let end = exists; end >= 1; end -= SEARCHED_MAX) {
    const seq = `${Math.max(1, end - SEARCHED_MAX + 1)}:${end === exists ? '*' : end}`
    const found = await session.run({ stage: 'fetch', timeoutMs: LIST_TIMEOUT_MS }, (client) =>
      client.search({ seq, since: day }, { uid: true }),
    )
    if (!Array.isArray(found)) return 'unknown'
    for (const uid of found) firstUid = Math.min(uid, firstUid ?? uid)
  }
  return firstUid === undefined ? 'none' : { firstUid }
}

function existsOf({ mailbox }: ImapFlow): number {
  return mailbox === false ? 0 : mailbox.exists
}

interface ListOptions {
  readonly uid: boolean
  readonly isWanted: (uid: number) => boolean
  /** Of those that are sorted, where there are many more than are wanted. */
  readonly keep: (all: readonly ListedMessage[]) => readonly ListedMessage[]
}

/** To the end of the answer: what is left of it would come in any case. */
async function list(
  client: ImapFlow,
  range: string,
  { uid, isWanted, keep }: ListOptions,
): Promise<Pick<Listing, 'messages' | 'isCut'>> {
  let found = new Map<number, ListedMessage>()
  let isCut = false
  const sorted = () => {
    const all = [...found.values()].sort((a, b) => a.uid - b.uid)
    const messages = keep(all)
    isCut ||= messages.length < all.length
    return messages
  }
  for await (const message of client.fetch(range, QUERY, { uid })) {
    if (!Number.isInteger(message.uid) || message.uid > UID_MAX || !isWanted(message.uid)) continue
    found.set(message.uid, toListed(message))
    if (found.size >= 2 * LISTED_MAX) found = new Map(sorted().map((one) => [one.uid, one]))
  }
  const messages = sorted()
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
