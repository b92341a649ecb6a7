/**
 * What a message of a mailbox is recognised by in another folder, or under another UID: two digests, of
 * which one is enough.
 *
 * The first is known without fetching it: its Message-ID, its size and the time of its arrival, which
 * stay when it is moved, and when a server gives its messages new numbers. The second is that of its
 * Message-ID and content, as of mail by SMTP (`digestMessage`), for servers that keep neither. A message
 * without a Message-ID has the second alone, with the time of its arrival in it: such mail is short, and alike.
 * Both hold for one account: the same message in another one, by a changed configuration, is another.
 *
 * The first alone is no proof where a message with it was had whole under the same numbers: of some
 * machines all mail has one Message-ID and one length. So that is kept as well, and there the content
 * decides.
 */
import { createHash } from 'node:crypto'
import { digestMessage } from '../../inbound/index.ts'

export interface ListedFacts {
  readonly messageId: string
  readonly bytes: number
  readonly arrivedAt: Date | undefined
}

/** Whose messages they are. */
export interface Account {
  /** Of the configuration by which its folder was begun, and the name it logs in by. */
  readonly start: string
}

export function digestListed(
  { messageId, bytes, arrivedAt }: ListedFacts,
  account: Account,
): Buffer | undefined {
  if (messageId === '' || arrivedAt === undefined) return undefined
  return createHash('sha256')
    .update(`${usernameOf(account)}\n${messageId}\n${bytes}\n${secondOf(arrivedAt)}`)
    .digest()
}

export interface FolderNumbers extends Account {
  readonly host: string
  readonly path: string
  readonly uidValidity: string
}

/** By the numbers under which a message with that digest was had whole. */
export function digestPlaced(
  listed: Buffer,
  { start, host, path, uidValidity }: FolderNumbers,
): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([start, host, path, uidValidity]))
    .update(listed)
    .digest()
}

export function digestContent(raw: Buffer, arrivedAt: Date | undefined, account: Account): Buffer {
  const digest = digestMessage(raw)
  const isNamed = digest.messageId !== undefined || arrivedAt === undefined
  const time = isNamed ? '' : ` ${secondOf(arrivedAt)}`
  return digest.of(`imap${time} ${usernameOf(account)}`)
}

/** Folders that are added later have another start, and the same name. */
function usernameOf({ start }: Account): string {
  return start.slice(start.indexOf(' ') + 1)
}

function secondOf(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}
