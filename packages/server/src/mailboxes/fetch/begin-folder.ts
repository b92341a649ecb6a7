/**
 * Where watching a folder begins, or goes on under new numbers (docs/reference/inbound.md#mailboxes).
 *
 * At first everything that was there when the mailbox was configured is passed over: by the last UID
 * that was noted then, else by the time of arrival, which `since` may set back. The last messages among
 * them are remembered, for a UID says nothing any more once the server gives its messages new ones.
 *
 * Then (another UIDVALIDITY, another host for the same account) every message is looked at once more, and
 * none that is known is reported again; what arrived before all that is known was there already.
 */
import { examineFolder, type ImapSession, type WatchedFolder } from '../../mailers/index.ts'
import type { Db } from '../../platform/db/index.ts'
import {
  type FolderState,
  lockWatch,
  noteFetched,
  saveFolder,
  type Watch,
} from '../watch/mailbox-store.ts'
import { isOld } from './decide-old.ts'
import { digestListed } from './digest-mail.ts'
import { findSince, type ListedMessage, listTail } from './list-messages.ts'

export interface BeginOptions {
  readonly folder: WatchedFolder
  /** As the folder was left, if it was watched before. */
  readonly before: FolderState | undefined
  /** Of the account's server. */
  readonly host: string
  readonly username: string
  readonly now: Date
  /** What arrived before is not remembered any more. */
  readonly forgottenBefore: Date | undefined
}

/** Another process watches the mailbox, or it is gone. */
export class WatchLostError extends Error {
  override readonly name = 'WatchLostError'
}

const OPEN_TIMEOUT_MS = 30_000
/** Remembered of what was there before; where it is all, no clock is needed. */
const TAIL_MAX = 200
/** By how much the clocks of two machines may differ. */
const CLOCKS_MS = 10 * 60_000

/** Opens it; the state in which it is to be listed. Rejects with a WatchLostError. */
export async function beginFolder(
  deps: { readonly db: Db },
  watch: Watch,
  session: ImapSession,
  o: BeginOptions,
): Promise<FolderState> {
  const { path } = o.folder
  const examined = await session.run({ stage: 'open', timeoutMs: OPEN_TIMEOUT_MS }, (client) =>
    examineFolder(client, path),
  )
  const start = `${o.folder.start} ${o.username}`
  const { before } = o
  const isSame = before?.start === start
  if (isSame && before.uidValidity === examined.uidValidity && before.host === o.host) return before
  const place = { path, start, host: o.host, ...examined }
  return isSame
    ? renumber(deps, watch, session, { ...o, before, place })
    : begin(deps, watch, session, { ...o, place })
}

interface Place {
  readonly path: string
  readonly start: string
  readonly host: string
  readonly uidValidity: string
  readonly exists: number
}

async function begin(
  { db }: { readonly db: Db },
  watch: Watch,
  session: ImapSession,
  { folder, before, now, place }: BeginOptions & { readonly place: Place },
): Promise<FolderState> {
  const { exists, ...named } = place
  const { baseline } = folder
  // Another account by the same configuration: its mail of before is nobody's.
  const since = before?.start.split(' ')[0] === folder.start ? now : new Date(folder.since)
  const tail = await listTail(session, { exists, count: TAIL_MAX })
  const last = tail.at(-1)?.uid ?? 0
  const isNoted = baseline?.uidValidity === place.uidValidity
  const from = isNoted
    ? { firstUid: baseline.lastUid, lastUid: baseline.lastUid, oldBefore: null }
    : { firstUid: last, lastUid: await startOf(session, { since, last, exists }), oldBefore: since }
  const isBefore = (message: ListedMessage) =>
    isNoted ? message.uid <= baseline.lastUid : isOld(message, from, undefined)
  const old = tail.filter(isBefore)
  // What has just arrived is not always found by a search yet.
  const young = tail.find((message) => !isBefore(message))
  const isWhole = exists <= tail.length
  const state: FolderState = {
    ...named,
    ...from,
    lastUid: Math.min(from.lastUid, (young?.uid ?? from.lastUid + 1) - 1),
    knownSince: isWhole ? null : new Date(since.getTime() - CLOCKS_MS),
  }
  await save(
    db,
    watch,
    state,
    old.flatMap((message) => digestListed(message, state) ?? []),
  )
  return state
}

async function renumber(
  { db }: { readonly db: Db },
  watch: Watch,
  session: ImapSession,
  o: BeginOptions & { readonly before: FolderState; readonly place: Place },
): Promise<FolderState> {
  const { exists, ...named } = o.place
  const { knownSince } = o.before
  const bounds = [knownSince, o.forgottenBefore].filter((one) => one !== null && one !== undefined)
  const oldBefore = bounds.length === 0 ? null : new Date(Math.max(...bounds.map(Number)))
  const last = (await listTail(session, { exists, count: 1 })).at(-1)?.uid ?? 0
  const lastUid =
    oldBefore === null ? 0 : await startOf(session, { since: oldBefore, last, exists })
  const state: FolderState = { ...named, lastUid, firstUid: last, oldBefore, knownSince }
  await save(db, watch, state, [])
  return state
}

/** Below the first that may be wanted. */
async function startOf(
  session: ImapSession,
  o: { readonly since: Date; readonly last: number; readonly exists: number },
): Promise<number> {
  const { since, last, exists } = o
  const found = await findSince(session, since, exists)
  if (found === 'unknown') return 0
  return found === 'none' ? last : Math.min(found.firstUid - 1, last)
}

async function save(
  db: Db,
  watch: Watch,
  state: FolderState,
  known: readonly Buffer[],
): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await lockWatch(tx, watch))) throw new WatchLostError()
    await saveFolder(tx, watch, state)
    await noteFetched(tx, watch, known)
  })
}
