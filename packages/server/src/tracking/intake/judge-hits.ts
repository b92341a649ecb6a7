/**
 * Judges opens and clicks one after the other: a person's or a robot's, and by which rule.
 *
 * A robot that follows all links of a message is known by the third. The two before it, which were
 * taken for a person's, are then the robot's too: in the facts, not in events, which have left.
 */
import { atOnceMs, type BotVerdict, decideBot, linksAtOnceMin } from '@postrider/mail'
import type { TrackedCopy } from '../../sending/index.ts'
import type { Hit } from './hit.ts'

/** Links of one copy that were followed together. */
export interface Burst {
  /** Of the first click of it. */
  readonly atMs: number
  /** Each once. */
  readonly links: readonly number[]
}

/** What is known of a hit before it is judged. */
export interface KnownHit {
  readonly hit: Hit
  /** Of its recipient. */
  readonly key: string
  readonly copy: TrackedCopy
  readonly isKnownRobot: boolean
}

export type JudgedHit<Known extends KnownHit = KnownHit> = Known & { verdict: BotVerdict }

export interface Judgement<Known extends KnownHit = KnownHit> {
  readonly judged: readonly JudgedHit<Known>[]
  /** By recipient: where its clicks stand after these. */
  readonly bursts: ReadonlyMap<string, Burst>
  /** Recipients with clicks recorded before that now are a robot's: since when, in milliseconds. */
  readonly exposed: ReadonlyMap<string, number>
}

export function judgeHits<Known extends KnownHit>(
  hits: readonly Known[],
  before: ReadonlyMap<string, Burst>,
): Judgement<Known> {
  const bursts = new Map<string, Burst>()
  const exposed = new Map<string, number>()
  const judged: JudgedHit<Known>[] = []
  for (const known of hits) {
    const { hit, key } = known
    const burst = hit.kind === 'click' ? follow(bursts.get(key) ?? before.get(key), hit) : undefined
    if (burst !== undefined) bursts.set(key, burst)
    judged.push({ ...known, verdict: judge(known, burst?.links.length ?? 1) })
    if (burst === undefined || burst.links.length < linksAtOnceMin) continue
    for (const earlier of judged) if (isOfBurst(earlier, key, burst)) earlier.verdict = AT_ONCE
    const earlier = before.get(key)
    if (earlier?.atMs === burst.atMs && earlier.links.length < linksAtOnceMin)
      exposed.set(key, burst.atMs)
  }
  return { judged, bursts, exposed }
}

export function recipientKey({
  tenantId,
  refId,
  n,
}: Pick<Hit, 'tenantId' | 'refId' | 'n'>): string {
  return `${tenantId} ${refId} ${n}`
}

export function millisOf({ atMicros }: Pick<Hit, 'atMicros'>): number {
  return Number(atMicros / 1000n)
}

const AT_ONCE: BotVerdict = { isBot: true, rule: 'links_at_once' }
/**
 * A hit that came so long before the first attempt had ended was recorded after it. One of before that
 * has the time of another clock.
 */
const ATTEMPT_MS = 60_000
/** So that what a row holds of a burst stays small. */
const LINKS_KEPT = 16

function follow(burst: Burst | undefined, hit: Hit): Burst {
  const atMs = millisOf(hit)
  if (burst === undefined || Math.abs(atMs - burst.atMs) > atOnceMs)
    return { atMs, links: [hit.link] }
  if (burst.links.includes(hit.link) || burst.links.length >= LINKS_KEPT) return burst
  return { ...burst, links: [...burst.links, hit.link] }
}

function judge({ hit, copy, isKnownRobot }: KnownHit, linksAtOnce: number): BotVerdict {
  const { kind, userAgent, purpose } = hit
  // Only a person, or the program that a person told to, makes a POST.
  if (kind === 'unsubscribe') return { isBot: false }
  const { deliveredAt, attempts } = copy
  const sinceDeliveryMs = deliveredAt === null ? undefined : millisOf(hit) - deliveredAt.getTime()
  return decideBot({
    kind,
    userAgent,
    isKnownRobot,
    purpose,
    isBeforeDelivery:
      sinceDeliveryMs === undefined
        ? attempts === 0
        : attempts === 1 && sinceDeliveryMs < 0 && sinceDeliveryMs >= -ATTEMPT_MS,
    sinceDeliveryMs,
    linksAtOnce,
  })
}

function isOfBurst(one: JudgedHit, key: string, burst: Burst): boolean {
  if (one.hit.kind !== 'click' || one.verdict.isBot || one.key !== key) return false
  return Math.abs(millisOf(one.hit) - burst.atMs) <= atOnceMs
}
