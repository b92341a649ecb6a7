import { createUserAgentReader } from '@postrider/mail'
import { createClock, createRandom } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { CHROME, hitsOf, sumsOf, type TrackedMail, useTracking } from '../../../test/tracking.ts'
import { readCounters } from '../../platform/counters/counter-store.ts'
import { createFailpoints } from '../../platform/failpoints.ts'
import { newUlid } from '../../platform/ids.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { nowhere } from '../geoip/geoip.ts'
import { hitsAnHourMax } from '../intake/flood-guard.ts'
import type { Hit } from '../intake/hit.ts'
import { flagClicks } from './hit-store.ts'
import type { RecordedGroup } from './observe-hits.ts'
import { createHitRecorder, type HitRecorder } from './record-hits.ts'

const world = useTracking()

function createRecorder(
  observeGroup: (group: RecordedGroup) => void = () => undefined,
): HitRecorder {
  return createHitRecorder({
    db: world.db,
    wakeups: createWakeups(),
    readUserAgent: createUserAgentReader(),
    locateAddress: () => nowhere,
    observeGroup,
    failpoints: createFailpoints(undefined),
  })
}

const hitOn = ({ tenantId, refId, n }: TrackedMail, change: Partial<Hit> = {}): Hit => ({
  tenantId,
  refId,
  n,
  link: 0,
  hitId: newUlid(),
  kind: 'open',
  atMicros: BigInt(Date.now()) * 1000n,
  ip: '203.0.113.9',
  userAgent: CHROME,
  purpose: '',
  ...change,
})

describe('recording hits', () => {
  it('[fault T1] gives a thousand opens of one millisecond different keys', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    const atMicros = BigInt(Date.now()) * 1000n
    const hits = Array.from({ length: 1000 }, () => hitOn(mail, { atMicros }))
    await Promise.all(hits.map((hit) => recorder.record(hit)))
    const events = await world.events(mail)
    expect(new Set(events.map(({ details }) => details.event_at)).size).toBe(1000)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1000 })
  })

  it('counts a hit once, however often it is recorded', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    const hit = hitOn(mail)
    const outcomes = await Promise.all([
      recorder.record(hit),
      recorder.record(hit, { isRepeated: true }),
      createRecorder().record(hit, { isRepeated: true }),
    ])
    expect(outcomes).toEqual(Array(3).fill({ kind: 'recorded' }))
    expect(await recorder.record(hit, { isRepeated: true })).toEqual({ kind: 'recorded' })
    expect(await world.events(mail)).toHaveLength(1)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
  })

  it('counts a hit once that several processes record at the same moment', async () => {
    for (const kind of ['open', 'click'] as const) {
      const mail = await world.send()
      const hit = hitOn(mail, { kind })
      const recorders = [createRecorder(), createRecorder(), createRecorder()]
      await Promise.all(recorders.map((recorder) => recorder.record(hit)))
      expect(await hitsOf(world.db, mail)).toHaveLength(1)
      expect(await world.events(mail)).toHaveLength(1)
    }
  })

  it('tells the open that made the row of a recipient there, and all other hits beside it', async () => {
    const besides = async ({ refId }: TrackedMail) => {
      const of = 'select kind from tracking_hit where ref_id = $1 order by hit_id'
      const { rows } = await world.db.query<{ kind: string }>(of, [refId])
      return rows.map(({ kind }) => kind)
    }
    const recorder = createRecorder()
    const opened = await world.send()
    for (const kind of ['open', 'click', 'open'] as const)
      await recorder.record(hitOn(opened, { kind }))
    expect(await besides(opened)).toEqual(['click', 'open'])
    expect((await hitsOf(world.db, opened)).map(({ kind }) => kind)).toEqual([
      'open',
      'click',
      'open',
    ])
    const clicked = await world.send()
    for (const kind of ['click', 'open'] as const) await recorder.record(hitOn(clicked, { kind }))
    expect(await besides(clicked)).toEqual(['click', 'open'])
    const together = await world.send()
    await Promise.all([1, 2, 3].map(() => recorder.record(hitOn(together))))
    expect(await besides(together)).toHaveLength(2)
    expect(await hitsOf(world.db, together)).toHaveLength(3)
  })

  it('adds each recipient up once in a shared commit', async () => {
    const to = [{ email: 'a@example.com' }, { email: 'b@example.com' }]
    const mail = await world.send({ email: { to } })
    const groups: RecordedGroup[] = []
    const recorder = createRecorder((group) => groups.push(group))
    const hits = [0, 1, 0, 1, 0].map((n) => hitOn({ ...mail, n }))
    await Promise.all(hits.map((hit) => recorder.record(hit)))
    expect(groups).toMatchObject([{ hits: 5, opens: 5, clicks: 0, unsubscribed: 0, bots: 0 }])
    expect(await sumsOf(world.db, { ...mail, n: 0 })).toMatchObject({ opens: 3 })
    expect(await sumsOf(world.db, { ...mail, n: 1 })).toMatchObject({ opens: 2 })
    const emails = (await world.events(mail)).map(({ details }) => String(details.email))
    expect(emails.sort()).toEqual([
      ...Array(3).fill('a@example.com'),
      ...Array(2).fill('b@example.com'),
    ])
  })

  it('keeps the time of the first open by a person, in any order of recording', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    const atMs = Date.now()
    const at = (later: number) => BigInt(atMs + later) * 1000n
    await recorder.record(hitOn(mail, { atMicros: at(0), userAgent: 'curl/8' }))
    for (const later of [3_000, 2_000, 5_000])
      await recorder.record(hitOn(mail, { atMicros: at(later) }))
    const { rows } = await world.db.query<{ opened_at: Date }>(
      'select opened_at from tracking_recipient where ref_id = $1',
      [mail.refId],
    )
    expect(rows[0]?.opened_at.getTime()).toBe(atMs + 2_000)
  })

  it('loses no hit with several processes, in any order', async () => {
    const mails = await Promise.all(Array.from({ length: 6 }, () => world.send()))
    const recorders = [createRecorder(), createRecorder(), createRecorder()]
    const work = Array.from({ length: 300 }, (_, i) => {
      const mail = mails[(i * 7) % mails.length]
      const kind = i % 2 === 0 ? 'open' : 'click'
      return mail === undefined ? [] : [recorders[i % 3]?.record(hitOn(mail, { kind }))]
    })
    await Promise.all(work.flat())
    const sums = await Promise.all(mails.map((mail) => sumsOf(world.db, mail)))
    const total = sums.reduce((sum, row) => sum + Number(row?.opens) + Number(row?.clicks), 0)
    expect(total).toBe(300)
  })

  it('marks the clicks of two seconds as automated, and none after them', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    const atMs = Date.now()
    const click = (link: number, later: number) =>
      hitOn(mail, { kind: 'click', link, atMicros: BigInt(atMs + later) * 1000n })
    const [first, second, third, last] = [
      click(0, 0),
      click(1, 500),
      click(2, 1_900),
      click(3, 9_000),
    ]
    await recorder.record(first)
    await recorder.record(second)
    // In one commit with one that begins another burst.
    await recorder.recordAll([third, last], { isRepeated: false, lockMsMax: 1_000 })
    const bots = async () => (await hitsOf(world.db, mail)).map(({ bot }) => bot)
    expect(await bots()).toEqual([true, true, true, false])
    const window = { fromMs: atMs, beforeMs: atMs + 2_001 }
    const flagged = await world.db.transaction((tx) => flagClicks(tx, first, window))
    expect([flagged, await bots()]).toEqual([0, [true, true, true, false]])
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 4, bot_clicks: 3, clicked: true })
  })

  it('marks three quick links as automated over commits and processes', async () => {
    const mail = await world.send()
    const recorders = [createRecorder(), createRecorder()]
    const atMs = Date.now()
    const clicks = [0, 500, 1_900, 30_000].map((later, link) =>
      hitOn(mail, { kind: 'click', link, atMicros: BigInt(atMs + later) * 1000n }),
    )
    for (const [i, hit] of clicks.entries()) await recorders[i % 2]?.record(hit)
    const hits = await hitsOf(world.db, mail)
    expect(hits.map(({ bot }) => bot)).toEqual([true, true, true, false])
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 4, bot_clicks: 3, clicked: true })
    expect(await tallied(mail)).toEqual({ clicks: 1, unique_clicks: 1 })
    await recorders[0]?.record(hitOn(mail, { kind: 'open' }))
    await recorders[0]?.record(hitOn(mail, { kind: 'unsubscribe' }))
    await recorders[1]?.record(hitOn(mail, { kind: 'unsubscribe' }))
    expect(await tallied(mail)).toEqual({
      ...{ clicks: 1, opens: 1, unsubscribed: 1 },
      ...{ unique_clicks: 1, unique_opens: 1 },
    })
  })

  it('counts a recipient as unique in the hour of the first open and click by a person', async () => {
    const to = ['a', 'b'].map((name) => ({ email: `${name}@example.com` }))
    const mail = await world.send({ email: { to } })
    const recorder = createRecorder()
    const HOUR_MS = 3_600_000
    const startMs = Math.floor(Date.now() / HOUR_MS - 4) * HOUR_MS
    const hit = (hour: number, change: Partial<Hit> = {}) =>
      hitOn(mail, { atMicros: BigInt(startMs + hour * HOUR_MS) * 1000n, ...change })
    await recorder.record(hit(0, { userAgent: 'curl/8' }))
    await recorder.record(hit(1))
    await Promise.all([recorder.record(hit(1)), recorder.record(hit(2)), recorder.record(hit(0))])
    await recorder.record(hit(2, { kind: 'click' }))
    await recorder.record(hit(3, { kind: 'click', link: 1 }))
    await recorder.record(hit(3, { n: 1 }))
    const span = { from: new Date(0), before: new Date(startMs + 9 * HOUR_MS) }
    const of = { tenantId: mail.tenantId, subject: undefined, interval: 'hour' } as const
    const counters = await readCounters(world.db, { ...span, ...of })
    const uniques = counters.filter(({ name }) => name.startsWith('unique_'))
    expect(
      uniques
        .map(({ name, at, n }) => [name, (at.getTime() - startMs) / HOUR_MS, n])
        .sort((a, b) => (a < b ? -1 : 1)),
    ).toEqual([
      ['unique_clicks', 2, 1],
      ['unique_opens', 1, 1],
      ['unique_opens', 3, 1],
    ])
  })

  it('uncounts a recipient whose clicks all turn out to be automated', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    const atMs = Date.now()
    const click = (link: number, later: number) =>
      recorder.record(hitOn(mail, { kind: 'click', link, atMicros: BigInt(atMs + later) * 1000n }))
    await click(0, 0)
    await click(1, 500)
    expect(await tallied(mail)).toEqual({ clicks: 2, unique_clicks: 1 })
    await click(2, 900)
    expect(await tallied(mail)).toEqual({ clicks: 0, unique_clicks: 0 })
    await click(3, 60_000)
    expect(await tallied(mail)).toEqual({ clicks: 1, unique_clicks: 1 })
  })

  it('counts no recipient twice with several processes', async () => {
    const to = Array.from({ length: 4 }, (_, n) => ({ email: `u${n}@example.com` }))
    const mail = await world.send({ email: { to } })
    const recorders = [createRecorder(), createRecorder(), createRecorder()]
    const random = createRandom(11)
    const hits = Array.from({ length: 120 }, () =>
      hitOn(mail, {
        n: random.below(4),
        kind: random.below(2) === 0 ? 'open' : 'click',
        link: random.below(4),
        userAgent: random.below(3) === 0 ? 'curl/8' : CHROME,
        atMicros: BigInt(Date.now() + random.below(20_000)) * 1000n,
      }),
    )
    await Promise.all(hits.map((hit, i) => recorders[i % 3]?.record(hit)))
    const { rows } = await world.db.query<{ opens: number; clicks: number }>(
      `select (count(*) filter (where opens > bot_opens))::int as opens,
              (count(*) filter (where clicks > bot_clicks))::int as clicks
         from tracking_recipient where ref_id = $1`,
      [mail.refId],
    )
    const { unique_opens = 0, unique_clicks = 0 } = await tallied(mail)
    expect({ opens: unique_opens, clicks: unique_clicks }).toEqual(rows[0])
  })

  /** What statistics count: people's. */
  async function tallied(mail: TrackedMail) {
    const span = { from: new Date(0), before: new Date(Date.now() + 86_400_000) }
    const of = { tenantId: mail.tenantId, subject: undefined, interval: 'day' } as const
    const counters = await readCounters(world.db, { ...span, ...of })
    const names = ['opens', 'clicks', 'unique_opens', 'unique_clicks', 'unsubscribed']
    const sums: Record<string, number> = {}
    for (const { name, n } of counters) if (names.includes(name)) sums[name] = (sums[name] ?? 0) + n
    return sums
  }

  it('does not change the judgement of a much earlier click or of other recipients', async () => {
    const mail = await world.send({
      email: { to: [{ email: 'a@example.com' }, { email: 'b@example.com' }] },
    })
    const recorder = createRecorder()
    const atMs = Date.now()
    const click = (n: number, link: number, later: number) =>
      recorder.record(
        hitOn({ ...mail, n }, { kind: 'click', link, atMicros: BigInt(atMs + later) * 1000n }),
      )
    await click(0, 0, 0)
    await click(1, 0, 10_000)
    await Promise.all([click(0, 1, 10_000), click(0, 2, 10_001), click(0, 3, 10_002)])
    expect(await sumsOf(world.db, { ...mail, n: 0 })).toMatchObject({ clicks: 4, bot_clicks: 3 })
    expect(await sumsOf(world.db, { ...mail, n: 1 })).toMatchObject({ clicks: 1, bot_clicks: 0 })
  })
})

it('counts nothing again when clicks turn out to be automated in a later commit', async () => {
  const mail = await world.send()
  const recorder = createRecorder()
  const startMs = Date.now()
  const click = (link: number, laterMs: number, userAgent = CHROME) =>
    recorder.record(
      hitOn(mail, {
        kind: 'click',
        link,
        userAgent,
        atMicros: BigInt(startMs + laterMs) * 1000n,
      }),
    )
  await click(0, 0)
  await click(1, 10_000, 'curl/8')
  await click(2, 10_001)
  await click(3, 10_002)
  expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 4, bot_clicks: 3 })
  expect((await hitsOf(world.db, mail)).map(({ rule }) => rule)).toEqual([
    null,
    'known_robot',
    'links_at_once',
    'links_at_once',
  ])
})

describe('a recipient that retention removes before the write', () => {
  const withoutHits = async (run: () => Promise<void>) => {
    const { rows } = await world.db.query<{ part: string; bound: string }>(
      `select c.oid::regclass::text as part, pg_get_expr(c.relpartbound, c.oid) as bound
         from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'tracking_hit'::regclass`,
    )
    for (const { part } of rows)
      await world.db.query(`alter table tracking_hit detach partition ${part}`)
    try {
      await run()
    } finally {
      for (const { part, bound } of rows)
        await world.db.query(`alter table tracking_hit attach partition ${part} ${bound}`)
    }
  }

  it('is answered as gone, without an error', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    await recorder.record(hitOn(mail))
    await withoutHits(async () => {
      expect(await recorder.record(hitOn(mail))).toEqual({ kind: 'gone' })
    })
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
  })

  it('is still unsubscribed', async () => {
    const mail = await world.send()
    const recorder = createRecorder()
    await recorder.record(hitOn(mail))
    await withoutHits(async () => {
      const hit = hitOn(mail, { kind: 'unsubscribe' })
      expect(await recorder.record(hit)).toEqual({ kind: 'recorded' })
      expect(await recorder.record(hit)).toEqual({ kind: 'repeated' })
    })
    const { rows } = await world.db.query(
      'select source from suppressions_address where tenant_id = $1',
      [mail.tenantId],
    )
    expect(rows).toEqual([{ source: { event: 'MAIL_UNSUBSCRIBED', ref_id: mail.refId } }])
  })
})

describe('a flood of hits on one token', () => {
  const openAll = async (url: string, count: number, app = world.app) => {
    const answers = await Promise.all(Array.from({ length: count }, () => app.inject(url)))
    return answers.map(({ statusCode }) => statusCode)
  }

  it('is recorded up to a limit in an hour, and still answered', async () => {
    const mail = await world.send()
    expect(await openAll(mail.open, 200)).toEqual(Array(200).fill(200))
    expect(await openAll(mail.click(1), 200)).toEqual(Array(200).fill(302))
    expect(await sumsOf(world.db, mail)).toMatchObject({
      opens: hitsAnHourMax,
      clicks: hitsAnHourMax,
    })
    const text = await world.metrics.registry.metrics()
    expect(text).toContain('postrider_tracking_hits_total{kind="open",result="bounded"} 150')
    await openAll(mail.click(2), 1)
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: hitsAnHourMax + 1 })
  })

  it('is bounded over all processes, which may exceed the limit slightly', async () => {
    const mail = await world.send()
    const others = [await world.another(), await world.another()]
    for (const { app } of [world, ...others])
      for (const url of [mail.open, mail.click(1)]) await openAll(url, 60, app)
    const sums = await sumsOf(world.db, mail)
    expect(Number(sums?.opens)).toBeLessThan(hitsAnHourMax + 2 * 10)
    expect(Number(sums?.clicks)).toBeLessThan(hitsAnHourMax + 2 * 10)
  })

  it('is forgotten after an hour', async () => {
    const mail = await world.send()
    const clock = createClock(new Date())
    const { app } = await world.another({ clock })
    await openAll(mail.open, 60, app)
    clock.advance(3_600_000)
    await openAll(mail.open, 1, app)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: hitsAnHourMax + 1 })
  })
})
