import { atOnceMs } from '@postrider/mail'
import { describe, expect, it } from 'vitest'
import { CHROME } from '../../../test/tracking.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import type { TrackedCopy } from '../../sending/index.ts'
import { type Burst, judgeHits, type KnownHit } from './judge-hits.ts'

const AT_MS = 1_764_000_000_000
const KEY = 'ada'
const copy: TrackedCopy = {
  email: 'ada@example.com',
  mailerId: newId('smtp'),
  campaignId: null,
  customArgs: null,
  traceparent: '',
  messageId: '',
  deliveredAt: new Date(AT_MS - 3_600_000),
  attempts: 1,
}

const click = (link: number, afterMs: number, key = KEY): KnownHit => ({
  key,
  copy,
  isKnownRobot: false,
  hit: {
    ...{ tenantId: newId('tn'), refId: newUlid(), n: 0, link, kind: 'click', hitId: newUlid() },
    atMicros: BigInt(AT_MS + afterMs) * 1000n,
    ip: '',
    userAgent: CHROME,
    purpose: '',
  },
})
const areBots = (hits: readonly KnownHit[], before: ReadonlyMap<string, Burst> = new Map()) =>
  judgeHits(hits, before).judged.map(({ verdict }) => verdict.isBot)

describe('links that are followed in quick succession', () => {
  it('are called automated from the third on, with the two before', () => {
    expect(areBots([click(0, 0), click(1, 10), click(2, 20)])).toEqual([true, true, true])
    expect(areBots([click(0, 0), click(1, 10), click(1, 20)])).toEqual([false, false, false])
  })

  it('belong together for two seconds, to the millisecond', () => {
    expect(areBots([click(0, 0), click(1, 10), click(2, atOnceMs)])).toEqual([true, true, true])
    const late = areBots([click(0, 0), click(1, 10), click(2, atOnceMs + 1)])
    expect(late).toEqual([false, false, false])
  })

  it('do not affect a click outside of these two seconds', () => {
    const earlier = click(3, -atOnceMs - 1)
    const burst = [click(0, 0), click(1, 10), click(2, 20)]
    expect(areBots([earlier, ...burst])).toEqual([false, true, true, true])
    // One that came late, of before: it begins a burst of its own.
    expect(areBots([...burst, earlier])).toEqual([true, true, true, false])
  })

  it('do not affect another recipient', () => {
    const hits = [click(0, 0), click(0, 0, 'bob'), click(1, 10), click(2, 20)]
    expect(areBots(hits)).toEqual([true, false, true, true])
  })

  it('include recorded clicks, which are called automated afterwards', () => {
    const before = new Map([[KEY, { atMs: AT_MS, links: [0, 1] }]])
    const { judged, exposed } = judgeHits([click(2, 20)], before)
    expect(judged.map(({ verdict }) => verdict.isBot)).toEqual([true])
    expect([...exposed]).toEqual([[KEY, AT_MS]])
    // Whatever comes after it.
    const later = judgeHits([click(2, 20), click(3, 60_000)], before)
    expect([...later.exposed]).toEqual([[KEY, AT_MS]])
    // A known robot's are flagged already.
    const known = new Map([[KEY, { atMs: AT_MS, links: [0, 1, 2] }]])
    expect([...judgeHits([click(3, 20)], known).exposed]).toEqual([])
  })

  it('are remembered up to sixteen', () => {
    const hits = Array.from({ length: 40 }, (_, link) => click(link, link))
    const { bursts, judged } = judgeHits(hits, new Map())
    expect(bursts.get(KEY)?.links).toHaveLength(16)
    expect(judged.every(({ verdict }) => verdict.isBot)).toBe(true)
  })
})

describe('a hit that is recorded after its email was delivered', () => {
  const ruleOf = (beforeMs: number, attempts = 1) => {
    const deliveredAt = new Date(AT_MS + beforeMs)
    const one = { ...click(0, 0), copy: { ...copy, attempts, deliveredAt } }
    return judgeHits([one], new Map()).judged[0]?.verdict.rule
  }

  it('counts as automated when it came before delivery', () => {
    expect([ruleOf(1), ruleOf(60_000)]).toEqual(['before_delivery', 'before_delivery'])
  })

  it('is not judged after a failed attempt, or when the clocks differ too much', () => {
    expect([ruleOf(1, 2), ruleOf(60_001)]).toEqual([undefined, undefined])
  })
})
