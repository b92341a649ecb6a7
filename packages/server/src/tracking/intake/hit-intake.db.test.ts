import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DatabaseProxy, startDatabaseProxy } from '../../../test/database-proxy.ts'
import { silent } from '../../../test/sending.ts'
import { type AnotherTracker, sumsOf, useTracking } from '../../../test/tracking.ts'
import { createDb, DatabaseUnavailableError, type Db } from '../../platform/db/index.ts'
import { createFailpoints } from '../../platform/failpoints.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import { createHitSpool } from '../spool/hit-spool.ts'
import { createFloodGuard, hitsAnHourMax } from './flood-guard.ts'
import { createHitIntake } from './hit-intake.ts'

const world = useTracking()
/** For a slow machine long enough to record a hit. */
const ANSWER_MS = 2_000
let proxy: DatabaseProxy
let db: Db
let dataDir: string
let one: AnotherTracker
/** Cuts every connection on its next word, and lets none begin. */
let isCut: boolean

beforeEach(async () => {
  isCut = false
  proxy = await startDatabaseProxy(world.url, { isCut: () => isCut })
  db = createDb({ url: proxy.url, poolMax: 4, log: silent, applicationName: 'tracker' })
  dataDir = mkdtempSync(join(tmpdir(), 'postrider-intake-'))
  one = await world.another({ db, dataDir, answerMs: ANSWER_MS })
})
afterEach(async () => {
  isCut = false
  proxy.thaw()
  await db.close()
  await proxy.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const get = (url: string) => one.app.inject({ url })
const spooled = () => readdirSync(join(dataDir, 'hits'))
const intake = () => one.tracker.routes.intake

/** The database is known to be back, and what was kept is recorded. */
async function recover(of = intake()): Promise<void> {
  for (let tries = 0; of.isDatabaseAway; tries++) {
    if (tries > 2_000) throw new Error('the database is away still')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await of.runOnce()
}

const WAYS = [
  ['says nothing any more', () => proxy.freeze(), () => proxy.thaw()],
  [
    'has gone',
    () => {
      isCut = true
    },
    () => {
      isCut = false
    },
  ],
] as const

describe.each(WAYS)('hits while the database %s', (_how, stop, goOn) => {
  it('are answered from files, and recorded once when it is back', async () => {
    const mail = await world.send()
    const other = await world.send()
    expect((await get(mail.click(0))).statusCode).toBe(302)
    stop()
    // The first of them wait for commits that do not come, or come after all.
    const first = await Promise.all([mail.open, mail.open, mail.click(0), other.open].map(get))
    expect(first.map(({ statusCode }) => statusCode)).toEqual([200, 200, 302, 200])
    expect(intake().isDatabaseAway).toBe(true)
    expect(spooled()).toHaveLength(1)
    const [known, unknown] = [await get(mail.click(0)), await get(other.click(0))]
    expect(known.headers.location).toBe('https://shop.example.com/?a=1&b=%20x')
    expect(unknown.statusCode).toBe(503)
    expect(Number(unknown.headers['retry-after'])).toBeGreaterThan(0)
    expect(unknown.headers['content-type']).toContain('text/html')
    const left = await one.app.inject({ method: 'POST', url: other.unsubscribe })
    expect(left.statusCode).toBe(200)
    goOn()
    await recover()
    expect(spooled()).toEqual([])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 2, clicks: 3 })
    expect(await sumsOf(world.db, other)).toMatchObject({ opens: 1, unsubscribed: true })
    expect(await world.events(mail)).toHaveLength(5)
    expect(await world.events(other)).toHaveLength(2)
    expect((await get(other.click(0))).statusCode).toBe(302)
  })

  it('are redirected for HEAD where the link is known, and get 503 elsewhere', async () => {
    const mail = await world.send()
    await get(mail.click(0))
    stop()
    const head = async (link: number) =>
      (await one.app.inject({ method: 'HEAD', url: mail.click(link) })).statusCode
    expect([await head(0), await head(1), await head(2)]).toEqual([302, 503, 503])
    goOn()
    await recover()
    expect(await world.events(mail)).toHaveLength(1)
  })
})

it('records the hits of a process that died in the next one', async () => {
  const mail = await world.send()
  proxy.freeze()
  expect((await get(mail.open)).statusCode).toBe(200)
  // Its own tracker goes on waiting; another has the same directory, and a database.
  await world.another({ dataDir })
  for (let tries = 0; spooled().length > 0 && tries < 2_000; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
  expect(spooled()).toEqual([])
  proxy.thaw()
  await recover()
  expect(await world.events(mail)).toHaveLength(1)
})

it('keeps a file in place when the database goes away while it is recorded', async () => {
  const mail = await world.send()
  isCut = true
  expect((await get(mail.open)).statusCode).toBe(200)
  const other = createDb({ url: proxy.url, poolMax: 2, log: silent, applicationName: 'next' })
  const next = await world.another({ db: other, dataDir })
  await next.tracker.routes.intake.runOnce()
  expect(next.tracker.routes.intake.isDatabaseAway).toBe(true)
  expect(await sumsOf(world.db, mail)).toBeUndefined()
  isCut = false
  await recover(next.tracker.routes.intake)
  await recover()
  expect(spooled()).toEqual([])
  expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
  await other.close()
})

it('does not set a hit aside as refused when the database was away', async () => {
  const spool = createHitSpool({ dir: join(dataDir, 'hits') })
  const who = { tenantId: newId('tn'), refId: newUlid(), n: 0, link: 0, kind: 'open' } as const
  const hit = { ...who, hitId: newUlid(), atMicros: 1n, ip: '', userAgent: '', purpose: '' }
  await spool.append(hit)
  await spool.append({ ...hit, hitId: newUlid() })
  const tries: boolean[] = []
  const replayer = createHitIntake({
    db: world.db,
    spool,
    log: silent,
    failpoints: createFailpoints(undefined),
    firstOn: 'database',
    floods: createFloodGuard(),
    observe: () => undefined,
    recorder: {
      record: async () => ({ kind: 'recorded' }),
      async recordAll(hits, { isRepeated }) {
        tries.push(isRepeated)
        if (tries.length === 1) throw new DatabaseUnavailableError('one connection was cut')
        return hits.map(() => ({ kind: 'recorded' }))
      },
      isGone: async () => false,
      knownUrl: () => undefined,
      findUrl: async () => undefined,
    },
  })
  await replayer.runOnce()
  expect(spooled()).toEqual([expect.stringMatching(/\.taken$/)])
  await recover(replayer)
  expect(spooled()).toEqual([])
  // The one that was cut may have been recorded.
  expect(tries).toEqual([false, true])
  await replayer.stop()
})

it('does not count refused hits towards a limit', async () => {
  const mail = await world.send()
  const blocked = await world.another({ db, dataDir: '/dev/null' })
  const open = async () => (await blocked.app.inject({ url: mail.open })).statusCode
  isCut = true
  const refused = await Promise.all(Array.from({ length: hitsAnHourMax }, open))
  expect(new Set(refused)).toEqual(new Set([503]))
  isCut = false
  await recover(blocked.tracker.routes.intake)
  expect(await open()).toBe(200)
  expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
})

it('answers 503 when hits cannot be stored anywhere', async () => {
  const mail = await world.send()
  rmSync(dataDir, { recursive: true })
  proxy.freeze()
  const blocked = await world.another({ db, dataDir: '/dev/null', answerMs: ANSWER_MS })
  const ask = (urls: readonly string[]) =>
    Promise.all(urls.map((url) => blocked.app.inject({ url })))
  const answers = await ask([mail.open, mail.click(0)])
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([503, 503])
  // And none of it counts towards what is recorded in an hour.
  for (let i = 0; i < 60; i++) expect((await ask([mail.open]))[0]?.statusCode).toBe(503)
  // Shown as what it is all the same.
  expect(answers[0]?.rawPayload).toHaveLength(43)
  expect(answers[0]?.headers['retry-after']).toBeDefined()
  proxy.thaw()
})
