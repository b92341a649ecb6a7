/** Opens and clicks that are answered from the disk, and are in the database a moment later. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DatabaseProxy, startDatabaseProxy } from '../../../test/database-proxy.ts'
import { silent } from '../../../test/sending.ts'
import {
  type AnotherTracker,
  CHROME,
  hitsOf,
  sumsOf,
  type TrackedMail,
  useTracking,
} from '../../../test/tracking.ts'
import { createDb, type Db } from '../../platform/db/index.ts'

const world = useTracking()
const ANSWER_MS = 2_000
let proxy: DatabaseProxy
let db: Db
let dataDir: string
let one: AnotherTracker

beforeEach(async () => {
  proxy = await startDatabaseProxy(world.url, { isCut: () => false })
  db = createDb({ url: proxy.url, poolMax: 4, log: silent, applicationName: 'tracker' })
  dataDir = mkdtempSync(join(tmpdir(), 'postrider-disk-'))
  one = await world.another({ db, dataDir, firstOn: 'disk', answerMs: ANSWER_MS })
})
afterEach(async () => {
  vi.restoreAllMocks()
  proxy.thaw()
  await db.close()
  await proxy.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const get = (url: string, of = one) => of.app.inject({ url, headers: { 'user-agent': CHROME } })
const statusOf = async (url: string) => (await get(url)).statusCode
const spooled = () => readdirSync(join(dataDir, 'hits'))
const recordAll = () => one.tracker.routes.intake.runOnce()

describe('a tracker that writes hits to the disk first', () => {
  it('has a hit in a file before its answer, and in the database once soon after', async () => {
    const mail = await world.send()
    proxy.freeze()
    expect(await statusOf(mail.open)).toBe(200)
    const [name = ''] = spooled()
    expect(readFileSync(join(dataDir, 'hits', name), 'utf8')).toContain(mail.refId)
    proxy.thaw()
    await recordAll()
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
    expect(spooled()).toEqual([])
    await recordAll()
    expect(await world.events(mail)).toHaveLength(1)
  })

  it('[H4] records other hits while one waits for a lock', async () => {
    const [mail, other] = [await world.send(), await world.send()]
    await Promise.all([mail.open, other.open].map(statusOf))
    await recordAll()
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const held = world.db.transaction(async (tx) => {
      await tx.query('select from tracking_recipient where ref_id = $1 for update', [mail.refId])
      locked.resolve()
      await free.promise
    })
    await locked.promise
    await Promise.all([mail.open, other.open].map(statusOf))
    await recordAll()
    expect(await sumsOf(world.db, other)).toMatchObject({ opens: 2 })
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
    const [name = '', ...more] = spooled()
    expect(more).toEqual([])
    const text = readFileSync(join(dataDir, 'hits', name), 'utf8')
    expect(text).toContain(mail.refId)
    expect(text).not.toContain(other.refId)
    free.resolve()
    await held
    await recordAll()
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 2 })
    expect(await world.events(mail)).toHaveLength(2)
    expect(spooled()).toEqual([])
  })

  it('records hits by itself', async () => {
    const mail = await world.send()
    expect(await statusOf(mail.click(0))).toBe(302)
    await vi.waitFor(
      async () => expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 1 }),
      20_000,
    )
    await vi.waitFor(() => expect(one.tracker.routes.intake.isDatabaseAway).toBe(false))
  })

  it('redirects by a link that was followed before while the database hangs, and answers 503 for others', async () => {
    const mail = await world.send()
    expect(await statusOf(mail.click(0))).toBe(302)
    await recordAll()
    proxy.freeze()
    expect(await statusOf(mail.click(0))).toBe(302)
    expect(await statusOf(mail.click(1))).toBe(503)
    expect(one.tracker.routes.intake.isDatabaseAway).toBe(true)
    expect(await statusOf(mail.open)).toBe(200)
    proxy.thaw()
    await vi.waitFor(() => expect(one.tracker.routes.intake.isDatabaseAway).toBe(false), 20_000)
    await recordAll()
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1, clicks: 2 })
    expect(await world.events(mail)).toHaveLength(3)
  })

  it('answers 410 for a link that was removed, and records no hit', async () => {
    const mail = await world.send()
    await world.db.query('delete from sending_link where ref_id = $1', [mail.refId])
    expect(await statusOf(mail.click(0))).toBe(410)
    expect(await recordAll()).toBe(0)
  })

  it('unsubscribes before it answers', async () => {
    const mail = await world.send()
    const answer = await one.app.inject({ method: 'POST', url: mail.unsubscribe })
    expect(answer.statusCode).toBe(200)
    expect(await sumsOf(world.db, mail)).toMatchObject({ unsubscribed: true })
  })

  it('records the events of a recipient in their order', async () => {
    const mail = await world.send()
    const urls = [mail.open, mail.click(0), mail.open, mail.click(1), mail.open]
    for (const url of urls) await get(url)
    await recordAll()
    const { rows } = await world.db.query<{ event: string }>(
      'select event from webhooks_event where ref_id = $1 order by event_id',
      [mail.refId],
    )
    const [opened, clicked] = ['MAIL_OPENED', 'MAIL_CLICKED']
    expect(rows.map(({ event }) => event)).toEqual([opened, clicked, opened, clicked, opened])
  })

  it('records in the database before the answer when the disk fails', async () => {
    const mail = await world.send()
    const blocked = await world.another({ dataDir: '/dev/null', firstOn: 'disk' })
    expect((await get(mail.open, blocked)).statusCode).toBe(200)
    expect((await get(mail.click(0), blocked)).statusCode).toBe(302)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1, clicks: 1 })
  })

  it('counts a hit once whose flush fails, even if it is in the file', async () => {
    const mail = await world.send()
    await get(mail.open)
    const handle = await open(join(dataDir, 'any'), 'w')
    const broken = vi
      .spyOn(Object.getPrototypeOf(handle), 'datasync')
      .mockRejectedValueOnce(new Error('the disk is broken'))
    expect(await statusOf(mail.open)).toBe(200)
    expect(broken).toHaveBeenCalledOnce()
    await handle.close()
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: expect.any(Number) })
    await recordAll()
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 2 })
    expect(await world.events(mail)).toHaveLength(2)
  })

  it('records a hit in the database before the answer when its flush hangs, and counts it once', async () => {
    const mail = await world.send()
    const handle = await open(join(dataDir, 'any'), 'w')
    const flush = Promise.withResolvers<void>()
    vi.spyOn(Object.getPrototypeOf(handle), 'datasync').mockReturnValueOnce(flush.promise)
    await handle.close()
    expect(await statusOf(mail.open)).toBe(200)
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
    flush.resolve()
    await recordAll()
    expect(spooled()).toEqual([])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
    expect(await world.events(mail)).toHaveLength(1)
  })

  it('answers 503 when neither disk nor database works', async () => {
    const mail = await world.send()
    const blocked = await world.another({
      db,
      dataDir: '/dev/null',
      firstOn: 'disk',
      answerMs: ANSWER_MS,
    })
    proxy.freeze()
    expect((await get(mail.open, blocked)).statusCode).toBe(503)
    proxy.thaw()
  })

  it('leaves no files at an orderly end', async () => {
    const mail = await world.send()
    const leaving = await world.another({ dataDir, firstOn: 'disk' })
    await get(mail.open, leaving)
    await leaving.tracker.routes.intake.stop()
    expect(spooled()).toEqual([])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
  })
})

describe('the hits of a tracker that was killed', () => {
  /** As it stands on the disk; the process that wrote it goes on, and knows nothing of the copy. */
  async function leave(mail: TrackedMail, ending: string): Promise<void> {
    proxy.freeze()
    await get(mail.open)
    const [name = ''] = spooled()
    const text = readFileSync(join(dataDir, 'hits', name), 'utf8')
    writeFileSync(join(dataDir, 'hits', `0${ending}`), text)
    proxy.thaw()
  }

  it.each([
    ['written and answered', '.hits'],
    ['taken, with an unknown commit', '.taken'],
  ])('are recorded once by the next tracker: %s', async (_, ending) => {
    const mail = await world.send()
    await leave(mail, ending)
    const next = await world.another({ dataDir, firstOn: 'disk' })
    await Promise.all([next.tracker.routes.intake.runOnce(), recordAll()])
    expect(spooled()).toEqual([])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1 })
    expect(await world.events(mail)).toHaveLength(1)
    expect(await hitsOf(world.db, mail)).toHaveLength(1)
  })
})
