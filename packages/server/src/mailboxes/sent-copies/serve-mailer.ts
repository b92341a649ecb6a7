/**
 * Serves one mailer: its copies that are due, in one session with its mailbox.
 *
 * The session is over long before the claims are, so that no two processes are at one copy. What came
 * of each is written by itself. One that fails is tried again, and then given up; what a session did
 * not get to, and what waits for the mailer to be active again, has not been tried.
 */

import type { ByteLimiter } from '@postrider/runtime/byte-limiter'
import type { ImapFlow } from 'imapflow'
import { findSentMailer } from '../../mailers/index.ts'
import { transactByIndex } from '../../platform/db/index.ts'
import {
  buildSentCopy,
  claimSentCopies,
  forgetSentCopies,
  pauseSentCopies,
  putOffSentCopies,
  type SentCopy,
  type SentCopyMailer,
} from '../../sending/index.ts'
import { type CopySession, type CopySessionDeps, openCopySession } from './copy-session.ts'
import { isSpent } from './decide-copy.ts'
import { failCopy, finishCopy, reasonOf, type SettleCopyDeps } from './settle-copy.ts'

export interface ServeMailerDeps extends SettleCopyDeps, CopySessionDeps {
  /** For emails' contents that are made into copies. */
  readonly memory: ByteLimiter
}

/** Of one mailer at once. */
export const COPIES_MAX = 50
const LEASE_MS = 5 * 60_000
/** Until an inactive mailer is looked at again. */
const INACTIVE_MS = 5 * 60_000
/** Before another session with a mailbox that could not be opened. */
const REST_MS = 60_000
/** For copies beyond the memory or time of this round. */
const SOON_MS = 5_000

/** Answers how many copies it claimed. */
export async function serveMailer(
  deps: ServeMailerDeps,
  mailer: SentCopyMailer,
  signal: AbortSignal,
): Promise<number> {
  const { db } = deps
  const sender = await findSentMailer(db, mailer)
  if (sender === undefined || sender.keepsSentMail) {
    const count = await transactByIndex(db, (tx) => forgetSentCopies(tx, mailer))
    deps.observe(sender === undefined ? 'gone' : 'left', count)
    return 0
  }
  if (!sender.isActive) {
    await transactByIndex(db, (tx) => pauseSentCopies(tx, mailer, INACTIVE_MS))
    return 0
  }
  const o = { limit: COPIES_MAX, leaseMs: LEASE_MS }
  const claimed = await transactByIndex(db, (tx) => claimSentCopies(tx, mailer, o))
  for (const copy of claimed.filter(isSpent)) await finishCopy(deps, copy, 'given_up')
  const copies = claimed.filter((copy) => !isSpent(copy))
  if (copies.length === 0) return claimed.length

  let session: CopySession | undefined
  try {
    session = await openCopySession(deps, mailer, signal)
  } catch (error) {
    for (const copy of copies) await noteFailure(deps, copy, error, signal)
    await transactByIndex(db, (tx) => pauseSentCopies(tx, mailer, REST_MS))
    return claimed.length
  }
  if (session === undefined) {
    for (const copy of copies) await putOff(deps, copy)
    return claimed.length
  }
  try {
    for (const copy of copies) await serveCopy(deps, session, copy, signal)
  } finally {
    await session.close()
  }
  return claimed.length
}

async function serveCopy(
  deps: ServeMailerDeps,
  session: CopySession,
  copy: SentCopy,
  signal: AbortSignal,
): Promise<void> {
  const { db, memory } = deps
  const { tenantId, contentBytes } = copy
  if (session.isOver() || !memory.take(tenantId, contentBytes)) return putOff(deps, copy)
  let saved: SavedCopy
  try {
    const build = () => buildSentCopy(db, copy)
    saved = await saveCopy(session, copy, build)
  } catch (error) {
    return await noteFailure(deps, copy, error, signal)
  } finally {
    memory.giveBack(tenantId, contentBytes)
  }
  await finishCopy(deps, copy, saved)
}

/** What came to an end with the process has not been tried. */
function noteFailure(
  deps: ServeMailerDeps,
  copy: SentCopy,
  error: unknown,
  { aborted }: AbortSignal,
): Promise<void> {
  return aborted ? putOff(deps, copy) : failCopy(deps, copy, reasonOf(error))
}

function putOff({ db }: ServeMailerDeps, copy: SentCopy): Promise<void> {
  const rest = [{ ...copy, waitMs: SOON_MS, isTry: false }]
  return transactByIndex(db, (tx) => putOffSentCopies(tx, rest))
}

type SavedCopy = 'found' | 'saved' | 'gone'

/** More than servers' clocks and time zones are apart. */
const MARGIN_MS = 2 * 86_400_000

/**
 * Sees to it that one copy is in the Sent folder, once: what is found there by its Message-ID is not
 * appended. The search stands before each try, so that an append whose answer was lost, or whose
 * commit was, is found by the next.
 *
 * `build` answers undefined when the email is gone. Rejects where nothing is known to be saved.
 */
async function saveCopy(
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
