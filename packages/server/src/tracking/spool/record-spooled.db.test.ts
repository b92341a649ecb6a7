/** Files of hits into the database, also where others have the same ones, and where one is refused. */

import { createUserAgentReader } from '@postrider/mail'
import { describe, expect, it } from 'vitest'
import { sumsOf, type TrackedMail, useTracking } from '../../../test/tracking.ts'
import type { Db } from '../../platform/db/index.ts'
import { createFailpoints } from '../../platform/failpoints.ts'
import { newUlid } from '../../platform/ids.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { nowhere } from '../geoip/geoip.ts'
import type { Hit } from '../intake/hit.ts'
import { createHitRecorder } from '../record/record-hits.ts'
import { createLockConflicts } from './lock-conflicts.ts'
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
  const conflicts = createLockConflicts(() => performance.now())
  const recorder = createHitRecorder({
    db,
    wakeups: createWakeups(),
    readUserAgent: createUserAgentReader(),
    locateAddress: () => nowhere,
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
        isBlocked: conflicts.isTenantBlocked,
        block: conflicts.block,
      },
      { hits, isFresh },
    )
  return { take, groups, refused }
}

const nothing = { refused: [], late: [] }

/** Holds their rows as a long transaction does, until it is let go. */
async function lock(...mails: TrackedMail[]): Promise<() => Promise<void>> {
  const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = world.db.transaction(async (tx) => {
    await tx.query('select from tracking_recipient where ref_id = any($1) for update', [
      mails.map(({ refId }) => refId),
    ])
    locked.resolve()
    await free.promise
  })
  await locked.promise
  return async () => {
    free.resolve()
    await held
  }
}

describe('the hits of a file', () => {
  it('are recorded in few transactions', async () => {
    const mail = await world.send()
    const { take, groups } = taker()
    expect(await take(hitsOn(mail, 600), true)).toEqual(nothing)
    expect(groups).toEqual([512, 88])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 600 })
  })

  it('count once, however many processes record them', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 40)
    const takers = [taker(), taker(), taker()]
    const taken = await Promise.all(takers.map(({ take }, i) => take(hits, i === 0)))
    expect(taken).toEqual([nothing, nothing, nothing])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 40 })
    expect(await world.events(mail)).toHaveLength(40)
  })

  it('are recorded completely after they were recorded in part', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 30)
    await taker().take(hits.slice(5, 12), true)
    expect(await taker().take(hits, true)).toEqual(nothing)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 30 })
    expect(await world.events(mail)).toHaveLength(30)
  })

  it('are recorded except for one that the database refuses', async () => {
    const mail = await world.send()
    const hits = hitsOn(mail, 33)
    const bad = { ...hits[20], ip: '\0' } as Hit
    const { take, refused } = taker()
    const given = hits.map((hit, i) => (i === 20 ? bad : hit))
    expect(await take(given, true)).toEqual({ refused: [bad], late: [] })
    expect(refused).toEqual([bad])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 32 })
  })

  it('[H4] are recorded except for those that wait for a lock, which delay the others briefly', async () => {
    const [mail, other] = [await world.send(), await world.send()]
    const { take } = taker()
    expect(await take([...hitsOn(mail, 1), ...hitsOn(other, 1)], true)).toEqual(nothing)
    const release = await lock(mail)
    const [held, free] = [hitsOn(mail, 3), hitsOn(other, 300)]
    const startedAt = performance.now()
    const taken = await take([...free.slice(0, 100), ...held, ...free.slice(100)], true)
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    expect(taken?.refused).toEqual([])
    expect(new Set(taken?.late)).toEqual(new Set(held))
    expect(await sumsOf(world.db, other)).toMatchObject({ opens: 301 })
    // Known by now: nobody waits for it again.
    const again = performance.now()
    expect(await take([...hitsOn(mail, 1), ...hitsOn(other, 99)], true)).toMatchObject({
      late: [{ refId: mail.refId }],
    })
    expect(performance.now() - again).toBeLessThan(1_000)
    await release()
    expect(await taker().take(held, false)).toEqual(nothing)
    expect(await taker().take(held, false)).toEqual(nothing)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 4 })
    expect(await sumsOf(world.db, other)).toMatchObject({ opens: 400 })
  })

  it('[H4] are deferred within bounds when all of them are locked', async () => {
    const mails = await Promise.all(Array.from({ length: 6 }, () => world.send()))
    const { take } = taker()
    expect(
      await take(
        mails.flatMap((mail) => hitsOn(mail, 1)),
        true,
      ),
    ).toEqual(nothing)
    const release = await lock(...mails)
    const hits = mails.flatMap((mail) => hitsOn(mail, 40))
    const taken = await take(hits, true)
    expect(new Set(taken?.late)).toEqual(new Set(hits))
    await release()
    expect(await taker().take(taken?.late ?? [], false)).toEqual(nothing)
    expect(await sumsOf(world.db, mails[0] as TrackedMail)).toMatchObject({ opens: 41 })
  })

  it('records other hits while an unsubscription waits for a lock', async () => {
    const [mail, other] = [await world.send(), await world.send()]
    const { take } = taker()
    expect(await take([...hitsOn(mail, 1), ...hitsOn(other, 1)], true)).toEqual(nothing)
    const release = await lock(mail)
    const out = [mail, other].flatMap((one) =>
      hitsOn(one, 1).map((hit) => ({ ...hit, kind: 'unsubscribe' as const })),
    )
    expect(await take(out, true)).toEqual({ refused: [], late: out.slice(0, 1) })
    expect(await sumsOf(world.db, other)).toMatchObject({ unsubscribed: true })
    await release()
  })
})
