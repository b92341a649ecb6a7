/**
 * Records hits: the hit, the sums of its recipient, its event, and for an unsubscription the
 * suppression, in one transaction that all hits of the moment share.
 *
 * However often a hit is recorded it counts once, by its id: one whose commit was not confirmed is
 * recorded again from the spool, and meets its row.
 */
import type { UserAgent } from '../mail/index.ts'
import { type BoundedMap, createBoundedMap } from '../platform/bounded-map.ts'
import {
  createGroupCommit,
  type Db,
  isWithoutPartition,
  type Queryable,
  type Tx,
} from '../platform/db/index.ts'
import { addTallies, type TallyChange } from '../platform/tally-store.ts'
import { findLink, findTrackedCopies, type TrackedCopy } from '../sending/index.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../webhooks/index.ts'
import { engagementEvent } from './event-details.ts'
import type { FindPlace } from './find-place.ts'
import type { Hit, HitOutcome } from './hit.ts'
import { type Burst, type JudgedHit, judgeHits, millisOf, recipientKey } from './judge-hits.ts'
import {
  addEngagements,
  type Engagement,
  findBursts,
  flagClicks,
  hasHit,
  insertHits,
} from './store.ts'
import { unsubscribe, unsubscribeLate } from './unsubscribe.ts'

export interface HitRecorder {
  /** Resolves when it is committed; what the group did is told to streams. */
  record(hit: Hit, o?: { readonly isRepeated?: boolean }): Promise<HitOutcome>
  /** Where a link leads to, as far as it was followed lately. */
  knownUrl(hit: Pick<Hit, 'tenantId' | 'refId' | 'link'>): string | undefined
  /** The same, asked of the database where it is not known. */
  findUrl(hit: Pick<Hit, 'tenantId' | 'refId' | 'link'>): Promise<string | undefined>
}

export interface HitRecorderDeps {
  readonly db: Db
  readonly wakeups: Wakeups
  readonly readUserAgent: (text: string) => UserAgent
  readonly findPlace: FindPlace
  /** How many hits were recorded together. */
  readonly observeGroup: (size: number) => void
}

interface Item {
  readonly hit: Hit
  /** It may have been recorded before. */
  readonly isRepeated: boolean
  /** Its email has gone meanwhile, whatever is still known of it here. */
  readonly isLate?: boolean
}

interface Recorded {
  readonly outcome: HitOutcome
  readonly touched: readonly TouchedStream[]
}

const GROUP_MAX = 256
/** The address of a link that was followed lately is needed while the database is away. */
const URLS_MAX = 20_000
/** A recipient who opens clicks as well, and opens again. Each may have 10 KiB of custom_args. */
const COPIES_MAX = 5_000

export function createHitRecorder(deps: HitRecorderDeps): HitRecorder {
  const known = {
    urls: createBoundedMap<string, string>(URLS_MAX),
    copies: createBoundedMap<string, TrackedCopy>(COPIES_MAX),
  }
  const groupOf = (itemsMax: number) =>
    createGroupCommit<Item, Recorded>({
      db: deps.db,
      itemsMax,
      run: (tx, items) => recordGroup(deps, known, tx, items),
    })
  const engagements = groupOf(GROUP_MAX)
  // One by one: what it locks besides has no order that two groups could share.
  const unsubscriptions = groupOf(1)
  return {
    async record(hit, { isRepeated = false } = {}) {
      const isUnsubscription = hit.kind === 'unsubscribe'
      try {
        const group = isUnsubscription ? unsubscriptions : engagements
        const { outcome, touched } = await group.add({ hit, isRepeated })
        if (touched.length > 0) deps.wakeups.wake(touched)
        return outcome
      } catch (error) {
        // Retention took the day between the look and the write.
        if (!isWithoutPartition(error)) throw error
        if (!isUnsubscription) return { kind: 'gone' }
        return (await unsubscriptions.add({ hit, isRepeated, isLate: true })).outcome
      }
    },
    knownUrl: (hit) => known.urls.get(urlKey(hit)),
    findUrl: (hit) => findUrl(deps.db, known, hit),
  }
}

interface Known {
  readonly urls: BoundedMap<string, string>
  readonly copies: BoundedMap<string, TrackedCopy>
}

function urlKey({ tenantId, refId, link }: Pick<Hit, 'tenantId' | 'refId' | 'link'>): string {
  return `${tenantId} ${refId} ${link}`
}

async function findUrl(
  q: Queryable,
  { urls }: Known,
  hit: Pick<Hit, 'tenantId' | 'refId' | 'link'>,
): Promise<string | undefined> {
  const key = urlKey(hit)
  const url = urls.get(key) ?? (await findLink(q, hit, hit.link))
  // Also when it was known: what is used stays.
  if (url !== undefined) urls.set(key, url)
  return url
}

async function recordGroup(
  deps: HitRecorderDeps,
  known: Known,
  tx: Tx,
  items: readonly Item[],
): Promise<Recorded[]> {
  deps.observeGroup(items.length)
  const clickers = new Map(
    items.flatMap(({ hit }) => (hit.kind === 'click' ? [[recipientKey(hit), hit] as const] : [])),
  )
  const [found, bursts] = await Promise.all([
    findAll(tx, known, items),
    findBursts(tx, [...clickers.values()]),
  ])
  const before = new Map(
    [...clickers.keys()].flatMap((key, i) => {
      const burst = bursts.get(i)
      return burst === undefined ? [] : [[key, burst] as const]
    }),
  )
  const fresh: { hit: Hit; copy: TrackedCopy; isKnownRobot: boolean; url: string | undefined }[] =
    []
  const outcomes: HitOutcome[] = []
  for (const [i, { hit, isLate }] of items.entries()) {
    const one = found[i]
    if (one?.copy === undefined || isLate === true) {
      outcomes.push(one?.isKnown === true ? { kind: 'recorded' } : await unsubscribeLate(tx, hit))
      continue
    }
    const { copy, url } = one
    const isNews = hit.kind !== 'unsubscribe' || (await unsubscribe(tx, copy, hit))
    outcomes.push(toOutcome(isNews, url))
    const { isKnownRobot } = deps.readUserAgent(hit.userAgent)
    if (isNews) fresh.push({ hit, copy, isKnownRobot, url })
  }
  const { judged, ...judgement } = judgeHits(fresh, before)
  const events = judged.map((one, i) =>
    engagementEvent(one, {
      userAgent: deps.readUserAgent(one.hit.userAgent),
      place: deps.findPlace(one.hit.ip),
      url: fresh[i]?.url,
    }),
  )
  const flagged = await flagExposed(tx, judged, judgement)
  const [{ touched }] = await Promise.all([
    recordEvents(tx, events),
    insertHits(tx, judged),
    addEngagements(tx, sumUp(judged, judgement.bursts, flagged)),
    addTallies(tx, toTallies(judged, flagged)),
  ])
  // The group shares one wake-up: the first of it passes it on.
  return outcomes.map((outcome, i) => ({ outcome, touched: i === 0 ? touched : [] }))
}

interface Found {
  readonly copy?: TrackedCopy | undefined
  readonly url?: string | undefined
  /** It was recorded before. */
  readonly isKnown?: boolean
}

async function findAll(tx: Tx, known: Known, items: readonly Item[]): Promise<Found[]> {
  const [copies, urls, areKnown] = await Promise.all([
    findCopies(
      tx,
      known,
      items.map(({ hit }) => hit),
    ),
    Promise.all(
      items.map(({ hit }) => (hit.kind === 'click' ? findUrl(tx, known, hit) : undefined)),
    ),
    Promise.all(items.map(({ hit, isRepeated }) => isRepeated && hasHit(tx, hit))),
  ])
  return items.map(({ hit }, i) => {
    if (areKnown[i] === true) return { isKnown: true }
    if (hit.kind === 'click' && urls[i] === undefined) return {}
    return { copy: copies[i], url: urls[i] }
  })
}

/** Only of what was delivered nothing changes any more. */
async function findCopies(
  tx: Tx,
  { copies }: Known,
  hits: readonly Hit[],
): Promise<(TrackedCopy | undefined)[]> {
  const found = new Map(hits.map((hit) => [recipientKey(hit), copies.get(recipientKey(hit))]))
  const missing = new Map(
    hits
      .filter((hit) => found.get(recipientKey(hit)) === undefined)
      .map((hit) => [recipientKey(hit), hit]),
  )
  const read = await findTrackedCopies(tx, [...missing.values()])
  for (const [i, key] of [...missing.keys()].entries()) {
    const copy = read[i]
    found.set(key, copy)
    if (copy !== undefined && copy.deliveredAt !== null) copies.set(key, copy)
  }
  return hits.map((hit) => found.get(recipientKey(hit)))
}

function toOutcome(isNews: boolean, url: string | undefined): HitOutcome {
  if (!isNews) return { kind: 'repeated' }
  return url === undefined ? { kind: 'recorded' } : { kind: 'recorded', url }
}

async function flagExposed(
  tx: Tx,
  judged: readonly JudgedHit[],
  { exposed, bursts }: { exposed: ReadonlySet<string>; bursts: ReadonlyMap<string, Burst> },
): Promise<Map<string, number>> {
  const flagged = new Map<string, number>()
  for (const { hit } of judged) {
    const key = recipientKey(hit)
    const burst = bursts.get(key)
    if (burst === undefined || !exposed.has(key) || flagged.has(key)) continue
    flagged.set(key, await flagClicks(tx, hit, burst.atMs))
  }
  return flagged
}

/** One row for each recipient, in the order that all groups share. */
function sumUp(
  judged: readonly JudgedHit[],
  bursts: ReadonlyMap<string, Burst>,
  flagged: ReadonlyMap<string, number>,
): Engagement[] {
  const byRecipient = new Map<string, JudgedHit[]>()
  for (const one of judged) {
    if (one.hit.kind === 'unsubscribe') continue
    const key = recipientKey(one.hit)
    byRecipient.set(key, [...(byRecipient.get(key) ?? []), one])
  }
  return [...byRecipient]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, all]) => {
      const [first] = all
      if (first === undefined) return []
      const { tenantId, refId, n } = first.hit
      const opens = all.filter(({ hit }) => hit.kind === 'open')
      const clicks = all.filter(({ hit }) => hit.kind === 'click')
      return {
        tenantId,
        refId,
        n,
        opens: opens.length,
        clicks: clicks.length,
        botOpens: opens.filter(isBots).length,
        botClicks: clicks.filter(isBots).length + (flagged.get(key) ?? 0),
        openedAt: firstOfPerson(opens),
        clickedAt: firstOfPerson(clicks),
        burst: bursts.get(key),
      }
    })
}

const TALLIES = { open: 'opens', click: 'clicks', unsubscribe: 'unsubscribed' } as const

/** Of people; clicks that turn out to be a robot's are taken back. */
function toTallies(
  judged: readonly JudgedHit[],
  flagged: ReadonlyMap<string, number>,
): TallyChange[] {
  const left = new Map(flagged)
  return judged.flatMap((one) => {
    const { tenantId, kind } = one.hit
    const key = recipientKey(one.hit)
    const of = { tenantId, subject: one.copy.mailerId, at: new Date(millisOf(one.hit)) }
    const taken = { ...of, name: TALLIES.click, n: -(left.get(key) ?? 0) }
    left.delete(key)
    return isBots(one) && kind !== 'unsubscribe'
      ? [taken]
      : [taken, { ...of, name: TALLIES[kind], n: 1 }]
  })
}

function isBots({ verdict }: JudgedHit): boolean {
  return verdict.isBot
}

function firstOfPerson(hits: readonly JudgedHit[]): Date | null {
  const times = hits.filter((one) => !isBots(one)).map(({ hit }) => millisOf(hit))
  return times.length === 0 ? null : new Date(Math.min(...times))
}
