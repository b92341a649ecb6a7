/**
 * Fetches messages, without marking them as read. One that is larger than may be, or that the server does
 * not give, is told of by its header; one of which there is nothing, by what its list said: nothing is
 * lost, and nothing is asked for for ever.
 */

import { IMAP_REFUSALS } from '@postrider/mail'
import type { FetchMessageObject, ImapFlow } from 'imapflow'
import { ImapError, type ImapSession } from '../../mailers/index.ts'
import type { ListedMessage } from './list-messages.ts'

export interface FetchedMessage {
  readonly listed: ListedMessage
  readonly raw: Buffer
  readonly serverThread?: string
  /** Why `raw` is not the whole of it. */
  readonly problem?: string
}

export type FetchSession = Pick<ImapSession, 'isOpen' | 'has' | 'run'>

/** How far it is gone with a message: further each time that a connection has ended over it. */
export type Effort = 'whole' | 'alone' | 'header' | 'nothing'

const TIMEOUT_MS = 60_000
/** As slow as a line may be. */
const BYTES_PER_MS_MIN = 32
const HEADER_BYTES_MAX = 64 * 1024

/** What has come until the server failed is in `into`; of a message without a size it may be `unsaidMax`. */
export async function fetchWhole(
  session: FetchSession,
  messages: readonly ListedMessage[],
  into: Map<number, FetchedMessage>,
  unsaidMax = 0,
): Promise<void> {
  const wanted = new Map(messages.map((listed) => [listed.uid, listed]))
  const bytes = messages.reduce((sum, message) => sum + (message.bytes || unsaidMax), 0)
  const timeoutMs = TIMEOUT_MS + Math.ceil(bytes / BYTES_PER_MS_MIN)
  const query = { uid: true, source: true, threadId: session.has('X-GM-EXT-1') }
  let left = 2 * bytes + HEADER_BYTES_MAX * messages.length
  await session.run({ stage: 'fetch', timeoutMs, isForMessages: true }, async (client) => {
    for await (const message of client.fetch(rangeOf(messages), query, { uid: true })) {
      const listed = wanted.get(message.uid)
      // NIL is what some say of a message that they cannot read.
      const raw = Buffer.isBuffer(message.source) ? message.source : undefined
      left -= raw?.length ?? 0
      if (left < 0) throw tooMuch(client)
      if (listed !== undefined && raw !== undefined && !into.has(message.uid))
        into.set(message.uid, { listed, raw, ...threadOf(message) })
    }
  })
}

/** Undefined: it is gone. */
export async function fetchHeader(
  session: FetchSession,
  listed: ListedMessage,
  problem: string,
): Promise<FetchedMessage | undefined> {
  const part = { key: 'HEADER', start: 0, maxLength: HEADER_BYTES_MAX }
  const query = { uid: true, bodyParts: [part], threadId: session.has('X-GM-EXT-1') }
  const found = await session.run({ stage: 'fetch', timeoutMs: TIMEOUT_MS }, (client) =>
    findOne(client, listed.uid, query),
  )
  if (found === undefined) return undefined
  return Buffer.isBuffer(found.headers)
    ? { listed, raw: found.headers, problem, ...threadOf(found) }
    : withoutContent(listed)
}

export function withoutContent(listed: ListedMessage): FetchedMessage {
  const { messageId } = listed
  const raw = messageId === '' ? '' : `Message-ID: ${messageId}\r\n\r\n`
  return {
    listed,
    raw: Buffer.from(raw, 'latin1'),
    problem: 'The mail server did not give the message',
  }
}

export function tooLarge(bytesMax: number): string {
  return `The message is larger than ${bytesMax} bytes: only its header is here`
}

export const NOT_GIVEN = 'The mail server did not give the whole message: only its header is here'

async function findOne(
  client: ImapFlow,
  uid: number,
  query: Parameters<ImapFlow['fetch']>[1],
): Promise<FetchMessageObject | undefined> {
  let found: FetchMessageObject | undefined
  for await (const message of client.fetch(String(uid), query, { uid: true }))
    if (message.uid === uid) found ??= message
  return found
}

function threadOf({ threadId }: FetchMessageObject): Pick<FetchedMessage, 'serverThread'> {
  return typeof threadId === 'string' && /^[\x21-\x7e]{1,255}$/.test(threadId)
    ? { serverThread: threadId }
    : {}
}

/** `1:3,7` for 1, 2, 3 and 7. */
function rangeOf(messages: readonly ListedMessage[]): string {
  const runs: [number, number][] = []
  for (const { uid } of messages) {
    const last = runs.at(-1)
    if (last !== undefined && last[1] === uid - 1) last[1] = uid
    else runs.push([uid, uid])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`)).join(',')
}

function tooMuch(client: ImapFlow): ImapError {
  client.close()
  const message = 'The mail server sent more bytes of messages than it said they have'
  return new ImapError({ stage: 'fetch', systemCode: IMAP_REFUSALS.tooMuch, message })
}
