/**
 * Records hits: the hit, the sums of its recipient, its event, and for an unsubscription the
 * suppression, in one transaction that all hits of the moment share.
 *
 * However often a hit is recorded it counts once, by its id: one that was or may have been recorded
 * meets its row, also where another process records it at the same moment.
 */
import { atOnceMs, type UserAgent } from '@postrider/mail'
import { addCounterChanges } from '../../platform/counters/counter-store.ts'
import {
  createGroupCommit,
  type Db,
  isUniqueViolation,
  isWithoutPartition,
  type Queryable,
  type Tx,
} from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { findTrackedCopies, findUnsubscribable, type TrackedCopy } from '../../sending/index.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../../webhooks/index.ts'
import type { LocateAddress } from '../geoip/geoip.ts'
import type { Hit, HitOutcome } from '../intake/hit.ts'
import { type Burst, type Judgement, judgeHits, recipientKey } from '../intake/judge-hits.ts'
import { createKnownCopies, type KnownCopies, type LinkOffset } from '../intake/known-links.ts'
import type { TrackedRecipient } from '../tokens.ts'
import { engagementEvent, type ReadHit } from './engagement-events.ts'
import {
  addEngagements,
  findBursts,
  findHits,
  flagClicks,
  insertHits,
  RecordedMeanwhileError,
  withoutMakers,
} from './hit-store.ts'
import type { RecordedGroup } from './observe-hits.ts'
import { sumUp, toCounterChanges, toUniques } from './sum-up.ts'
import { unsubscribe, unsubscribeLate } from './unsubscribe.ts'

export interface HitRecorder {
  /** Resolves when it is committed; what the group did is told to streams. */
  record(hit: Hit, o?: { readonly isRepeated?: boolean }): Promise<HitOutcome>
  /**
   * Opens and clicks, or one unsubscription, in a transaction of their own, which fails as a whole.
   * @param o.lockMsMax how long it waits for a lock that others hold
   */
  recordAll(
    hits: readonly Hit[],
    o: { readonly isRepeated: boolean; readonly lockMsMax: number },
  ): Promise<HitOutcome[]>
  /** Whether nobody knows any more whom it is about. */
  isGone(who: TrackedRecipient): Promise<boolean>
  /** Where a link leads to, as far as it was followed lately. */
  knownUrl(place: LinkOffset): string | undefined
  /** The same, asked of the database where it is not known. */
  findUrl(place: LinkOffset, q: Queryable): Promise<string | undefined>
}

export interface HitRecorderDeps {
  readonly db: Db
  readonly wakeups: Wakeups
  readonly readUserAgent: (text: string) => UserAgent
  readonly locateAddress: LocateAddress
  readonly observeGroup: (group: RecordedGroup) => void
  readonly failpoints: Failpoints
}

interface Item {
  readonly hit: Hit
  /** Of its recipient. */
  readonly key: string
  /** It may have been recorded before. */
  readonly isRepeated: boolean
  /** Its email has gone meanwhile, whatever is still known of it here. */
  readonly isLate?: boolean
}

interface Recorded {
  readonly outcome: HitOutcome
  /** One for all of a group. */
  readonly shared: { readonly touched: readonly TouchedStream[]; readonly group: RecordedGroup }
}

const GROUP_MAX = 256

export function createHitRecorder(deps: HitRecorderDeps): HitRecorder {
  const known = createKnownCopies()
  const groupOf = (itemsMax: number) =>
    createGroupCommit<Item, Recorded>({
      db: deps.db,
      itemsMax,
      run: (tx, items) => recordGroup(deps, known, tx, items),
      committed,
    })
  function committed([first]: readonly Recorded[]): void {
    if (first === undefined) return
    deps.wakeups.wake(first.shared.touched)
    deps.observeGroup(first.shared.group)
  }
  const engagements = groupOf(GROUP_MAX)
  // One by one: what it locks besides has no order that two groups could share.
  const unsubscriptions = groupOf(1)
  return {
    async record(hit, { isRepeated = false } = {}) {
      const isUnsubscription = hit.kind === 'unsubscribe'
      const group = isUnsubscription ? unsubscriptions : engagements
      const item = { hit, key: recipientKey(hit), isRepeated }
      try {
        return (await group.add(item)).outcome
      } catch (error) {
        if (isUniqueViolation(error) || error instanceof RecordedMeanwhileError)
          return (await group.add({ ...item, isRepeated: true })).outcome
        // Retention took the day between the look and the write.
        if (!isWithoutPartition(error)) throw error
        if (!isUnsubscription) return { kind: 'gone' }
        return (await unsubscriptions.add({ ...item, isLate: true })).outcome
      }
    },
    async recordAll(hits, { isRepeated, lockMsMax }) {
      const items = hits.map((hit) => ({ hit, key: recipientKey(hit), isRepeated }))
      const record = async (tx: Tx) => {
        const group = await recordGroup(deps, known, tx, items)
        deps.failpoints.hit('hit.before_commit')
        return group
      }
      const recorded = await deps.db.transaction(record, { lockMsMax })
      deps.failpoints.hit('hit.after_commit')
      committed(recorded)
      return recorded.map(({ outcome }) => outcome)
    },
    async isGone(who) {
      if ((await findUnsubscribable(deps.db, who)) !== undefined) return false
      const [copy] = await findTrackedCopies(deps.db, [who])
      return copy === undefined
    },
    knownUrl: known.knownUrl,
    findUrl: (place, q) => known.urlOf(q, place),
  }
}

async function recordGroup(
  deps: HitRecorderDeps,
  known: KnownCopies,
  tx: Tx,
  items: readonly Item[],
): Promise<Recorded[]> {
  const startedAt = performance.now()
  const [found, before] = await Promise.all([findAll(tx, known, items), burstsOf(tx, items)])
  const fresh: ReadHit[] = []
  const outcomes: HitOutcome[] = []
  for (const [i, { hit, key, isLate }] of items.entries()) {
    const { copy, url, isKnown } = found[i] ?? {}
    if (copy === undefined || isLate === true) {
      outcomes.push(isKnown === true ? RECORDED : await unsubscribeLate(tx, hit))
      continue
    }
    const isNews = hit.kind !== 'unsubscribe' || (await unsubscribe(tx, copy, hit))
    outcomes.push(toOutcome(isNews, url))
    const userAgent = deps.readUserAgent(hit.userAgent)
    const { isKnownRobot } = userAgent
    if (isNews) fresh.push({ hit, key, copy, isKnownRobot, userAgent, url })
  }
  const { judged, ...judgement } = judgeHits(fresh, before)
  const events = judged.map((one) => engagementEvent(one, deps.locateAddress(one.hit.ip)))
  const flagged = await flagExposed(tx, judged, judgement.exposed)
  const added = sumUp(judged, judgement.bursts, flagged)
  const [{ touched }, sums] = await Promise.all([
    recordEvents(tx, events),
    addEngagements(tx, added),
  ])
  const uniques = toUniques({ judged, added, sums, exposed: judgement.exposed })
  await Promise.all([
    insertHits(tx, withoutMakers(judged, added, sums)),
    addCounterChanges(tx, [...toCounterChanges(judged, flagged), ...uniques]),
  ])
  const shared = { touched, group: { ...countUp(judged), hits: items.length, startedAt } }
  return outcomes.map((outcome) => ({ outcome, shared }))
}

interface Found {
  readonly copy?: TrackedCopy | undefined
  readonly url?: string | undefined
  /** It was recorded before. */
  readonly isKnown?: boolean
}

async function findAll(tx: Tx, known: KnownCopies, items: readonly Item[]): Promise<Found[]> {
  const repeated = items.flatMap(({ hit, isRepeated }) => (isRepeated ? [hit] : []))
  const [copies, urls, recorded] = await Promise.all([
    known.copiesOf(tx, items),
    Promise.all(items.map(({ hit }) => (hit.kind === 'click' ? known.urlOf(tx, hit) : undefined))),
    findHits(tx, repeated),
  ])
  return items.map(({ hit }, i) => {
    if (recorded.has(hit.hitId)) return { isKnown: true }
    if (hit.kind === 'click' && urls[i] === undefined) return {}
    return { copy: copies[i], url: urls[i] }
  })
}

/** By recipient: its last clicks that came together, of those who click now. */
async function burstsOf(tx: Tx, items: readonly Item[]): Promise<ReadonlyMap<string, Burst>> {
  const clickers = new Map<string, Hit>()
  for (const { hit, key } of items) if (hit.kind === 'click') clickers.set(key, hit)
  const found = await findBursts(tx, [...clickers.values()])
  const keys = [...clickers.keys()]
  return new Map([...found].map(([i, burst]) => [keys[i] ?? '', burst]))
}

const RECORDED: HitOutcome = { kind: 'recorded' }

function toOutcome(isNews: boolean, url: string | undefined): HitOutcome {
  if (!isNews) return { kind: 'repeated' }
  return url === undefined ? RECORDED : { kind: 'recorded', url }
}

function countUp(judged: Judgement['judged']) {
  const counts = { open: 0, click: 0, unsubscribe: 0 }
  let bots = 0
  for (const { hit, verdict } of judged) {
    counts[hit.kind] += 1
    if (verdict.isBot) bots += 1
  }
  return { opens: counts.open, clicks: counts.click, unsubscribed: counts.unsubscribe, bots }
}

async function flagExposed(
  tx: Tx,
  judged: Judgement['judged'],
  exposed: Judgement['exposed'],
): Promise<Map<string, number>> {
  const flagged = new Map<string, number>()
  if (exposed.size === 0) return flagged
  for (const { hit, key } of judged) {
    const fromMs = exposed.get(key)
    if (fromMs === undefined || flagged.has(key)) continue
    flagged.set(key, await flagClicks(tx, hit, { fromMs, beforeMs: fromMs + atOnceMs + 1 }))
  }
  return flagged
}
