/** Files of hits into the database, also where others have the same ones, and where one is refused. */
import { describe, expect, it } from 'vitest'
import { sumsOf, type TrackedMail, useTracking } from '../../test/tracking.ts'
import { createUserAgentReader } from '../mail/index.ts'
import type { Db } from '../platform/db/index.ts'
import { createFailpoints } from '../platform/failpoints.ts'
import { newUlid } from '../platform/ids.ts'
import { createWakeups } from '../webhooks/index.ts'
import { nowhere } from './find-place.ts'
import type { Hit } from './hit.ts'
import { createHitRecorder } from './record-hits.ts'
import { recordSpooled } from './record-spooled.ts'

const world = useTracking()

function hitsOn(mail: TrackedMail, count: number): Hit[] {
  const { tenantId, refId, n } = mail
  return Array.from({ length: count }, () => ({
    ...{ tenantId, refId, n, link: 0, kind: 'open' as const, hitId: newUlid() },
    atMicros: BigInt(Date.now()) * 1000n,
    ip: '203.0.113.9',
    userAgent: '',
    purpose: '',
  }))
}

function taker(db: Db = world.db) {
  const groups: number[] = []
  const refused: Hit[] = []
  const recorder = createHitRecorder({
    db,
    wakeups: createWakeups(),
    readUserAgent: createUserAgentReader(),
    findPlace: () => nowhere,
    observeGroup: ({ hits }) => groups.push(hits),
    failpoints: createFailpoints(undefined),
  })
  const take = (hits: readonly Hit[], isFresh: boolean) =>
    recordSpooled(
      {
        recorder,
        observe: () => undefined,
        refuse: (hit) => refused.push(hit),
        pause: async () => undefined,
        isOver: () => false,
      },
      { hits, isFresh },
    )
  return { take, groups, refused }
}

describe('hits of a file', () => {
  it('are recorded in few transactions', async () => {
    const mail = await world.send()
    const { take, groups } = taker()
    expect(await take(hitsOn(mail, 600), true)).toEqual([])
    expect(groups).toEqual([512, 88])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 600 })
  })

  it('count once, however many processes record them at the same moment', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 40)
    const takers = [taker(), taker(), taker()]
    const refused = await Promise.all(takers.map(({ take }, i) => take(hits, i === 0)))
    expect(refused).toEqual([[], [], []])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 40 })
    expect(await world.events(mail)).toHaveLength(40)
  })

  it('that were recorded in part are recorded as a whole', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 30)
    await taker().take(hits.slice(5, 12), true)
    expect(await taker().take(hits, true)).toEqual([])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 30 })
    expect(await world.events(mail)).toHaveLength(30)
  })

  it('are recorded but for the one that the database refuses', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 33)
    const bad = { ...hits[20], ip: '\0' } as Hit
    const { take, refused } = taker()
    const given = hits.map((hit, i) => (i === 20 ? bad : hit))
    expect(await take(given, true)).toEqual([bad])
    expect(refused).toEqual([bad])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 32 })
  })
})
