/** What judged hits add to the sums of their recipients, and by the hour to those of mailers. */
import type { CounterChange } from '../../platform/counters/counter-store.ts'
import { groupsOfRecipient, type TrackedCopy } from '../../sending/index.ts'
import {
  type Burst,
  type JudgedHit,
  type Judgement,
  millisOf,
  recipientKey,
} from '../intake/judge-hits.ts'
import type { AddedHits, PersonalSums } from './hit-store.ts'

/** By recipient: how many clicks recorded before have turned out to be a robot's. */
export type Flagged = ReadonlyMap<string, number>

type Sum = { -readonly [Name in keyof AddedHits]: AddedHits[Name] }

/** One row for each recipient, in the order that all groups share. */
export function sumUp(
  judged: readonly JudgedHit[],
  bursts: ReadonlyMap<string, Burst>,
  flagged: Flagged,
): AddedHits[] {
  const sums = new Map<string, Sum>()
  for (const one of judged) {
    const { hit, key, verdict } = one
    const { tenantId, refId, n, kind, atMicros } = hit
    if (kind === 'unsubscribe') continue
    let sum = sums.get(key)
    if (sum === undefined) {
      const botClicks = flagged.get(key) ?? 0
      const nothing = { opens: 0, clicks: 0, botOpens: 0, openedAt: undefined, open: undefined }
      const burst = bursts.get(key)
      sum = { tenantId, refId, n, ...nothing, clickedAt: undefined, botClicks, burst }
      sums.set(key, sum)
    }
    if (kind === 'open') {
      sum.opens += 1
      sum.open ??= one
      if (verdict.isBot) sum.botOpens += 1
      else sum.openedAt = earlier(sum.openedAt, atMicros)
    } else {
      sum.clicks += 1
      if (verdict.isBot) sum.botClicks += 1
      else sum.clickedAt = earlier(sum.clickedAt, atMicros)
    }
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

function earlier(a: bigint | undefined, b: bigint): bigint {
  return a === undefined || b < a ? b : a
}

const NAMES = { open: 'opens', click: 'clicks', unsubscribe: 'unsubscribed' } as const

/** Of people; clicks that turn out to be a robot's are taken back. */
export function toCounterChanges(judged: readonly JudgedHit[], flagged: Flagged): CounterChange[] {
  const changes: CounterChange[] = []
  const left = new Map(flagged)
  for (const { hit, key, copy, verdict } of judged) {
    const of = { tenantId: hit.tenantId, ...countedFor(copy), at: new Date(millisOf(hit)) }
    const taken = left.get(key)
    if (taken !== undefined) changes.push({ ...of, name: NAMES.click, n: -taken })
    left.delete(key)
    if (!verdict.isBot) changes.push({ ...of, name: NAMES[hit.kind], n: 1 })
  }
  return changes
}

function countedFor({ mailerId, email, campaignId }: TrackedCopy) {
  return { subject: mailerId, groups: groupsOfRecipient(email, campaignId) }
}

/**
 * Recipients who have opened or clicked as a person for the first time, by the hour of that, each once. It
 * is seen by their sums: before this, they had none. One is taken back when all that it clicked turns out
 * to be a robot's.
 */
export function toUniques(o: {
  readonly judged: readonly JudgedHit[]
  readonly added: readonly AddedHits[]
  /** The sums that follow from what was added. */
  readonly sums: readonly PersonalSums[]
  readonly exposed: Judgement['exposed']
}): CounterChange[] {
  const copies = new Map(o.judged.map(({ key, copy }) => [key, copy]))
  const sums = new Map(o.sums.map((sum) => [recipientKey(sum), sum]))
  return o.added.flatMap((one) => {
    const key = recipientKey(one)
    const now = sums.get(key)
    const copy = copies.get(key)
    if (now === undefined || copy === undefined) return []
    const of = { tenantId: one.tenantId, ...countedFor(copy) }
    const hadOpens = now.opens - (one.opens - one.botOpens) > 0
    const hadClicks = now.clicks - (one.clicks - one.botClicks) > 0
    const changes: CounterChange[] = []
    if (!hadOpens && one.openedAt !== undefined)
      changes.push({ ...of, name: 'unique_opens', n: 1, at: dateOf(one.openedAt) })
    if (!hadClicks && one.clickedAt !== undefined)
      changes.push({ ...of, name: 'unique_clicks', n: 1, at: dateOf(one.clickedAt) })
    const exposedMs = o.exposed.get(key)
    if (hadClicks && now.clicks === 0 && exposedMs !== undefined)
      changes.push({ ...of, name: 'unique_clicks', n: -1, at: new Date(exposedMs) })
    return changes
  })
}

function dateOf(micros: bigint): Date {
  return new Date(millisOf({ atMicros: micros }))
}
