/**
 * Sees to it that one copy is in the Sent folder, once: what is found there by its Message-ID is not
 * appended. The search stands before each try, so that an append whose answer was lost, or whose
 * commit was, is found by the next.
 */
import type { ImapFlow } from 'imapflow'
import type { SentCopy } from '../../sending/index.ts'
import type { CopySession } from './copy-session.ts'

export type SavedCopy = 'found' | 'saved' | 'gone'

/** More than servers' clocks and time zones are apart. */
const MARGIN_MS = 2 * 86_400_000

/** `build` answers undefined when the email is gone. Rejects where nothing is known to be saved. */
export async function saveCopy(
  { run, folder, isOver }: Pick<CopySession, 'run' | 'folder' | 'isOver'>,
  copy: SentCopy,
  build: () => Promise<Buffer | undefined>,
): Promise<SavedCopy> {
  if (await run((client) => isThere(client, copy))) return 'found'
  const message = await build()
  if (message === undefined) return 'gone'
  if (isOver()) throw new Error('the session was over before the copy was appended')
  const appended = await run((client) => client.append(folder, message, ['\\Seen'], copy.sentAt))
  // So it says when the connection was lost before.
  if (!appended) throw new Error('the copy was not appended')
  return 'saved'
}

/** Of all that a folder has gathered, servers need to read only what came since it was sent. */
async function isThere(client: ImapFlow, { messageId, sentAt }: SentCopy): Promise<boolean> {
  const since = new Date(sentAt.getTime() - MARGIN_MS)
  const found = await client.search({ header: { 'Message-ID': messageId }, since }, { uid: true })
  if (!Array.isArray(found)) throw new Error('the Sent folder could not be searched')
  return found.length > 0
}
