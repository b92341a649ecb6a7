/**
 * Watches the folders of a mailbox over one connection, until that ends
 * (docs/reference/inbound.md#mailboxes).
 *
 * The first folder is told of by IDLE where the server does that; without it, and the others, are looked
 * at every 30 s: what STATUS says of them is compared with what it said before, and taken as a hint, so
 * that all are opened now and then in any case. A connection that nothing has come over for minutes is
 * asked a question: some are dead, and nobody says so.
 */

import { pause } from '@postrider/runtime/timeout'
import {
  ImapError,
  type ImapSession,
  type Mailbox,
  type WatchedFolder,
} from '../../mailers/index.ts'
import { type BeginOptions, beginFolder } from '../fetch/begin-folder.ts'
import { type FetchMailDeps, type FetchOptions, fetchMail } from '../fetch/fetch-mail.ts'
import type { FolderState, Watch } from './mailbox-store.ts'
import { createNewsWaiter } from './wait-for-news.ts'

export interface WatchSessionDeps extends FetchMailDeps {
  readonly pollMs?: number
  /** A round of all folders, at the latest. */
  readonly roundMs?: number
}

export interface WatchSessionOptions extends Pick<FetchOptions, 'troubles' | 'speed' | 'signal'> {
  readonly watch: Watch
  readonly mailbox: Mailbox
  readonly session: ImapSession
  /** As they were left, by path; kept over connections. */
  readonly folders: Map<string, FolderState>
  readonly forgottenBefore: () => Date | undefined
  /** Everything has been seen; called after each round. */
  readonly onGood: () => Promise<void>
  /** Of a folder, while the others are watched. */
  readonly onFolderFailed: (error: ImapError) => Promise<void>
}

const POLL_MS = 30_000
/** Below half of the half hour after which servers may hang up (RFC 3501 §5.4), and of what routers forget. */
const ROUND_MS = 4 * 60_000
const STATUS_TIMEOUT_MS = 30_000
/** After news that were none; it doubles. */
const PAUSE_MS = 100
const PAUSE_MS_MAX = 30_000

/** Ends in order when it is to stop, or the connection has ended; rejects with what has failed. */
export async function watchSession(deps: WatchSessionDeps, o: WatchSessionOptions): Promise<void> {
  const { pollMs = POLL_MS, roundMs = ROUND_MS } = deps
  const { session, signal } = o
  const [first, ...others] = o.mailbox.folders
  if (first === undefined) throw new Error('a mailbox without folders')
  const news = createNewsWaiter(session, signal)
  const seen = new Map<string, string>()
  let pauseMs = PAUSE_MS
  let roundAtMs = 0
  let isFirstOpen = false

  const isOver = () => signal.aborted || !session.isOpen
  /** Opens it anew, and takes what is new. */
  const look = async (folder: WatchedFolder) => {
    const before = o.folders.get(folder.path)
    const options = beginOptions(o, folder, before)
    const state = await inFolder(folder.path, () => beginFolder(deps, o.watch, session, options))
    o.folders.set(folder.path, state)
    await take(state)
  }
  const take = async (state: FolderState) => {
    const options = { ...o, forgottenBefore: o.forgottenBefore() }
    const taken = await inFolder(state.path, () => fetchMail(deps, o.watch, state, options))
    o.folders.set(state.path, taken)
  }
  /** Whether the folder could be read. A missing folder delays no other. */
  const tryLook = async (folder: WatchedFolder): Promise<boolean> => {
    try {
      await look(folder)
      return true
    } catch (error) {
      if (!(error instanceof ImapError) || error.failure.stage !== 'open' || isOver()) throw error
      await o.onFolderFailed(error)
      return false
    }
  }
  const roundOfAll = async () => {
    let areGood = true
    for (const folder of others) {
      if (!(await tryLook(folder))) areGood = false
      if (isOver()) return
    }
    // Last, so that it is the one that is open.
    isFirstOpen = await tryLook(first)
    const isGood = areGood && isFirstOpen
    roundAtMs = performance.now() + (isGood ? roundMs : pollMs)
    if (isGood && !isOver()) await o.onGood()
  }
  const roundOfHints = async () => {
    let isOtherOpen = false
    for (const folder of others) {
      const status = await statusOf(session, folder.path)
      if (status !== undefined && seen.get(folder.path) === status) continue
      if (status !== undefined) seen.set(folder.path, status)
      isOtherOpen = true
      await tryLook(folder)
      if (isOver()) return
    }
    if (isOtherOpen || !isFirstOpen) isFirstOpen = await tryLook(first)
    else await takeFirst()
  }
  const takeFirst = async () => {
    const state = o.folders.get(first.path)
    if (state !== undefined) await take(state)
  }

  while (!isOver()) {
    if (performance.now() >= roundAtMs) await roundOfAll()
    else await roundOfHints()
    const pollAtMs = performance.now() + pollMs
    for (;;) {
      const polls = others.length > 0 || news.refusesIdle || !isFirstOpen
      const untilMs = (polls ? Math.min(pollAtMs, roundAtMs) : roundAtMs) - performance.now()
      if (isOver() || untilMs <= 0) break
      const woken = await news.wait({ ms: untilMs, idles: isFirstOpen })
      if (woken !== 'news') break
      const lastUid = o.folders.get(first.path)?.lastUid
      await takeFirst()
      const isEmpty = o.folders.get(first.path)?.lastUid === lastUid
      if (isEmpty) await pause(pauseMs, signal)
      pauseMs = isEmpty ? Math.min(2 * pauseMs, PAUSE_MS_MAX) : PAUSE_MS
    }
  }
}

/** What fails says which folder it is about. */
async function inFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ImapError ? new ImapError({ ...error.failure, folder }, error) : error
  }
}

function beginOptions(
  { mailbox, forgottenBefore }: WatchSessionOptions,
  folder: WatchedFolder,
  before: FolderState | undefined,
): BeginOptions {
  const { host, username } = mailbox.server
  return { folder, before, host, username, now: new Date(), forgottenBefore: forgottenBefore() }
}

/** As the server says; undefined where it does not. */
async function statusOf(session: ImapSession, path: string): Promise<string | undefined> {
  const query = { messages: true, uidNext: true, uidValidity: true }
  const status = await session.run({ stage: 'open', timeoutMs: STATUS_TIMEOUT_MS }, (client) =>
    client.status(path, query).catch((error: unknown) => {
      // That it is not there is found when it is opened.
      if (client.isClosed) throw error
      return false as const
    }),
  )
  return status === false ? undefined : `${status.messages} ${status.uidNext} ${status.uidValidity}`
}
