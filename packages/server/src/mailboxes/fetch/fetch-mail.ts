/**
 * Takes what is new in the selected folder: lists it, fetches what is wanted, and stores each batch with
 * the UID up to which the folder has then been dealt with, in one transaction. So a message is stored
 * once, whatever ends in between; and a process that no longer watches the mailbox stores nothing.
 *
 * A message over which connections end again and again is asked for alone, then its header alone, and
 * then no more: it is reported as far as it is known, and the next ones have their turn.
 */

import { storeMailboxMail } from '../../inbound/index.ts'
import { ImapError, type ImapSession } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import {
  advanceFolder,
  type FolderState,
  findFetched,
  lockWatch,
  noteFetched,
  type Watch,
} from '../watch/mailbox-store.ts'
import { WatchLostError } from './begin-folder.ts'
import { decideBatches } from './decide-batches.ts'
import { isOld } from './decide-old.ts'
import { digestContent, digestListed, digestPlaced } from './digest-mail.ts'
import {
  type FetchedMessage,
  type FetchSession,
  fetchHeader,
  fetchWhole,
  NOT_GIVEN,
  tooLarge,
  withoutContent,
} from './fetch-messages.ts'
import { type ListedMessage, listAbove } from './list-messages.ts'

export const fetchedResults = ['stored', 'known', 'old', 'incomplete', 'gone'] as const
export type FetchedResult = (typeof fetchedResults)[number]

export interface FetchMailDeps {
  readonly db: Db
  readonly clock: Clock
  readonly failpoints: Failpoints
  readonly messageBytesMax: number
  /** Runs a fetch when its turn has come: what is held in memory is bounded over all mailboxes. */
  readonly inTurn: <T>(o: FetchTurn, work: () => Promise<T>) => Promise<T>
  /** For how long a turn may last. */
  readonly turnMs?: number
  /** After the commit. */
  readonly onStored: () => void
  readonly observe: (result: FetchedResult, count: number) => void
}

export interface FetchTurn {
  readonly tenantId: string
  /** Its server has outlasted a turn: it is waited for where only such ones are. */
  readonly isSlow: boolean
}

/** Kept over connections. */
export interface MailboxSpeed {
  isSlow: boolean
}

export interface FetchOptions {
  readonly speed: MailboxSpeed
  readonly session: ImapSession
  /** How often a connection has ended over a message, by folder and UID; kept over connections. */
  readonly troubles: Map<string, number>
  readonly forgottenBefore: Date | undefined
  readonly signal: AbortSignal
}

const TURN_MS = 30_000
const ALONE_AFTER = 1
const HEADER_AFTER = 3
const NOTHING_AFTER = 5

/** The state of the folder afterwards. Rejects with an ImapError, a WatchLostError, or as the database does. */
export async function fetchMail(
  deps: FetchMailDeps,
  watch: Watch,
  folder: FolderState,
  o: FetchOptions,
): Promise<FolderState> {
  let state = folder
  let width: number | undefined
  for (let isCut = true; isCut && !o.signal.aborted; ) {
    const listing = await listAbove(o.session, state.lastUid, width)
    isCut = listing.isCut
    width = listing.nextWidth
    const wanted = await pickWanted(deps, watch, state, listing.messages, o)
    for (const batch of decideBatches(wanted)) {
      // A turn may end before all of it has been had.
      for (
        let left = batch;
        left.length > 0;
        left = left.filter(({ uid }) => uid > state.lastUid)
      ) {
        if (o.signal.aborted || !o.session.isOpen) return state
        const turn = { tenantId: watch.tenantId, isSlow: o.speed.isSlow }
        state = await deps.inTurn(turn, () => takeTurn(deps, watch, state, left, o))
      }
    }
    state = await store(deps, watch, state, { fetched: [], upTo: listing.upTo })
  }
  return state
}

async function pickWanted(
  { db, observe }: FetchMailDeps,
  watch: Watch,
  state: FolderState,
  messages: readonly ListedMessage[],
  { forgottenBefore }: FetchOptions,
): Promise<ListedMessage[]> {
  const young = messages.filter((message) => !isOld(message, state, forgottenBefore))
  observe('old', messages.length - young.length)
  const listed = young.map((message) => ({ message, digests: listDigests(message, state) }))
  const all = listed.flatMap(({ digests }) => Object.values(digests))
  const known = await findFetched(db, watch, all)
  const wanted = listed.flatMap(({ message, digests }) =>
    isKnown(known, digests) ? [] : [message],
  )
  observe('known', young.length - wanted.length)
  return wanted
}

/**
 * A turn ends with its time. One of a server that is slow ends after the command that is under way then;
 * any other is cut, and what gave something is not to blame for that.
 */
async function takeTurn(
  deps: FetchMailDeps,
  watch: Watch,
  state: FolderState,
  batch: readonly ListedMessage[],
  o: FetchOptions,
): Promise<FolderState> {
  const { turnMs = TURN_MS } = deps
  const endsAt = performance.now() + turnMs
  // A timer may fire a moment before its time by this clock.
  let isCut = false
  const isOver = () => isCut || performance.now() >= endsAt
  const onCut = () => {
    isCut = true
  }
  const session = o.speed.isSlow ? o.session : untilThen(o.session, endsAt, onCut)
  const stored = await takeBatch(deps, watch, state, batch, { ...o, session, isOver })
  o.speed.isSlow = isOver()
  return stored
}

/** The same session, of which no command outlasts that time. */
function untilThen(session: FetchSession, endsAt: number, onCut: () => void): FetchSession {
  return {
    get isOpen() {
      return session.isOpen
    },
    has: session.has,
    run: async (o, work) => {
      const leftMs = Math.max(1, Math.ceil(endsAt - performance.now()))
      try {
        return await session.run({ ...o, timeoutMs: Math.min(o.timeoutMs, leftMs) }, work)
      } catch (error) {
        const isLate = error instanceof ImapError && error.failure.systemCode === 'ETIMEDOUT'
        if (isLate && leftMs <= o.timeoutMs) onCut()
        throw error
      }
    },
  }
}

/** What has come is stored, also when the connection has ended over the rest. */
async function takeBatch(
  deps: FetchMailDeps,
  watch: Watch,
  state: FolderState,
  batch: readonly ListedMessage[],
  o: TurnOptions,
): Promise<FolderState> {
  const got = new Map<number, FetchedMessage>()
  const gone = new Set<number>()
  const failure = await fetchBatch(deps, state, batch, { ...o, got, gone })
  const missing = batch.find(({ uid }) => !got.has(uid) && !gone.has(uid))
  const done = batch.filter(({ uid }) => missing === undefined || uid < missing.uid)
  const upTo = done.at(-1)?.uid
  deps.observe('gone', gone.size)
  const fetched = done.flatMap(({ uid }) => got.get(uid) ?? [])
  const stored = upTo === undefined ? state : await store(deps, watch, state, { fetched, upTo })
  if (failure === undefined) return stored
  // Cut for its slowness alone, and asked again among the slow ones.
  const isCut = !o.speed.isSlow && o.isOver()
  o.speed.isSlow ||= isCut
  if (isCut && upTo !== undefined) return stored
  throw failure
}

interface TurnOptions extends Omit<FetchOptions, 'session'> {
  readonly session: FetchSession
  readonly isOver: () => boolean
}

interface Batch extends TurnOptions {
  readonly got: Map<number, FetchedMessage>
  readonly gone: Set<number>
}

/** What has failed, if anything: the rest is for another time. */
async function fetchBatch(
  { messageBytesMax }: FetchMailDeps,
  { path, uidValidity }: FolderState,
  batch: readonly ListedMessage[],
  o: Batch,
): Promise<ImapError | undefined> {
  const keyOf = ({ uid }: ListedMessage) => `${path} ${uidValidity} ${uid}`
  const troublesOf = (message: ListedMessage) => o.troubles.get(keyOf(message)) ?? 0
  const isPlain = (message: ListedMessage) =>
    message.bytes > 0 && message.bytes <= messageBytesMax && troublesOf(message) < ALONE_AFTER
  const attempt = async (messages: readonly ListedMessage[], work: () => Promise<void>) => {
    try {
      await work()
      return undefined
    } catch (error) {
      if (!(error instanceof ImapError)) throw error
      const first = messages.find(({ uid }) => !o.got.has(uid))
      // Of several that are refused together each is asked for alone, before any is to blame.
      if (first === undefined || (o.session.isOpen && messages.length > 1))
        return o.session.isOpen ? undefined : error
      // That it has not come within a turn says nothing of it.
      if (o.speed.isSlow || !o.isOver()) o.troubles.set(keyOf(first), troublesOf(first) + 1)
      return error
    }
  }
  const plain = batch.filter(isPlain)
  if (plain.length > 0) {
    const failure = await attempt(plain, () => fetchWhole(o.session, plain, o.got))
    if (failure !== undefined) return failure
  }
  for (const message of batch) {
    if (o.got.has(message.uid)) continue
    // The first has its try in any case: each turn gets somewhere.
    if (message !== batch[0] && o.isOver()) return undefined
    const effort = { troubles: troublesOf(message), messageBytesMax }
    const failure = await attempt([message], () => fetchAlone(message, o, effort))
    if (failure !== undefined) return failure
  }
  return undefined
}

async function fetchAlone(
  message: ListedMessage,
  { session, got, gone }: Batch,
  o: { readonly troubles: number; readonly messageBytesMax: number },
): Promise<void> {
  if (o.troubles >= NOTHING_AFTER) {
    got.set(message.uid, withoutContent(message))
    return
  }
  const isTooLarge = message.bytes > o.messageBytesMax
  if (!isTooLarge && o.troubles < HEADER_AFTER) {
    await fetchWhole(session, [message], got, o.messageBytesMax)
    if (got.has(message.uid)) return
  }
  const problem = isTooLarge ? tooLarge(o.messageBytesMax) : NOT_GIVEN
  const found = await fetchHeader(session, message, problem)
  if (found === undefined) gone.add(message.uid)
  else got.set(message.uid, found)
}

async function store(
  deps: FetchMailDeps,
  watch: Watch,
  state: FolderState,
  { fetched, upTo }: { readonly fetched: readonly FetchedMessage[]; readonly upTo: number },
): Promise<FolderState> {
  if (fetched.length === 0 && upTo <= state.lastUid) return state
  const digested = fetched.map((message) => {
    const { listed, raw, problem } = message
    const content = digestContent(raw, listed.arrivedAt, state)
    const digests = listDigests(listed, state)
    const { listed: first, placed } = digests
    // Of what was not had whole the content says nothing, and is not asked.
    const noted = [content, first, problem === undefined ? placed : undefined]
    return { message, content, digests, noted: noted.filter((one) => one !== undefined) }
  })
  const stored = await deps.db.transaction(async (tx) => {
    if (!(await lockWatch(tx, watch))) throw new WatchLostError()
    const asked = digested.flatMap(({ content, digests }) => [content, ...Object.values(digests)])
    const known = await findFetched(tx, watch, asked)
    const fresh: FetchedMessage[] = []
    for (const { message, content, digests, noted } of digested) {
      if (!isIn(known, content) && !isKnown(known, digests)) fresh.push(message)
      for (const digest of noted) known.add(digest.toString('hex'))
    }
    if (fresh.length > 0)
      await storeMailboxMail(
        tx,
        fresh.map((message) => toMail(deps.clock, watch, state, message)),
      )
    const noted = digested.flatMap((one) => one.noted)
    await noteFetched(tx, watch, noted)
    await advanceFolder(tx, watch, state.path, upTo)
    deps.failpoints.hit('mailbox.before_commit')
    return fresh
  })
  deps.failpoints.hit('mailbox.after_commit')
  if (stored.length > 0) deps.onStored()
  const incomplete = stored.filter(({ problem }) => problem !== undefined).length
  deps.observe('stored', stored.length - incomplete)
  deps.observe('incomplete', incomplete)
  deps.observe('known', fetched.length - stored.length)
  return { ...state, lastUid: Math.max(state.lastUid, upTo) }
}

/** A server's clock may say anything. */
const EARLIEST_MS = Date.parse('1990-01-01T00:00:00Z')

function toMail(
  clock: Clock,
  { tenantId, mailerId }: Watch,
  { path }: FolderState,
  { listed: { arrivedAt }, raw, serverThread, problem }: FetchedMessage,
) {
  const nowMicros = clock.nowMicros()
  const arrivedMs = arrivedAt?.getTime() ?? 0
  const isSound = arrivedMs > EARLIEST_MS && BigInt(arrivedMs) * 1000n < nowMicros
  return {
    raw,
    tenantId,
    mailerId,
    folder: path,
    receivedAtMicros: isSound ? BigInt(arrivedMs) * 1000n : nowMicros,
    ...(serverThread === undefined ? {} : { serverThread }),
    ...(problem === undefined ? {} : { problem }),
  }
}

interface ListDigests {
  readonly listed?: Buffer
  readonly placed?: Buffer
}

function listDigests(message: ListedMessage, state: FolderState): ListDigests {
  const listed = digestListed(message, state)
  return listed === undefined ? {} : { listed, placed: digestPlaced(listed, state) }
}

/** By what its list says of it. */
function isKnown(known: ReadonlySet<string>, { listed, placed }: ListDigests): boolean {
  return isIn(known, listed) && !isIn(known, placed)
}

function isIn(known: ReadonlySet<string>, digest: Buffer | undefined): boolean {
  return digest !== undefined && known.has(digest.toString('hex'))
}
