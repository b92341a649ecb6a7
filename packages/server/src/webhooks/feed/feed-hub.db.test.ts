/** Readers that join while a mark is half sent, or that are ahead of the reader of their process. */
import pino from 'pino'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { clearWebhooks, makeDays } from '../../../test/webhook-record.ts'
import type { Db, Queryable } from '../../platform/db/index.ts'
import { recordEvents } from '../index.ts'
import { createFeedHub, type FeedHub } from './feed-hub.ts'
import { createFrameMemory, FRAME_MEMORY } from './frame-memory.ts'
import { createSubscriber, type Subscriber } from './subscriber.ts'

const PAGE = 500

let database: TestDatabase
const hubs: FeedHub[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  await makeDays(database.db)
  return () => database.close()
})
beforeEach(async () => {
  await clearWebhooks(database.db)
  await database.db.query('delete from webhooks_event_mark')
})
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.stop()
})

const record = (count: number) =>
  database.db.transaction((tx) =>
    recordEvents(
      tx,
      Array.from({ length: count }, () => newEvent()),
    ),
  )

/** From the look into the events of which `fails` says so, every statement fails until it is up again. */
async function newHub(fails: (look: number) => boolean = () => false) {
  const state = { isDown: false, looks: 0, hasFailed: Promise.withResolvers<void>() }
  const guarded = (of: Queryable): Queryable['query'] => {
    return (statement, values) => {
      if (typeof statement !== 'string' && statement.name === 'webhooks.read_feed_keys')
        state.isDown ||= fails(++state.looks)
      if (!state.isDown) return of.query(statement, values)
      return Promise.reject(new Error('the database is away'))
    }
  }
  const { db } = database
  const hub = createFeedHub({
    memory: createFrameMemory(FRAME_MEMORY),
    db: {
      ...db,
      query: guarded(db),
      transaction: (work, o) => db.transaction((tx) => work({ ...tx, query: guarded(tx) }), o),
    } as Db,
    // A pass that failed is over when the log says so.
    log: pino({ level: 'warn' }, { write: () => state.hasFailed.resolve() }),
  })
  hubs.push(hub)
  await hub.start()
  return { hub, state }
}

function newReader(): { subscriber: Subscriber; ids: () => string[] } {
  const subscriber = createSubscriber({
    tenantId: 'tn_a',
    filters: { event: undefined, refId: undefined, email: undefined, mailerId: undefined },
    mayReadContent: true,
    monotonicMs: () => 0,
    onGap: () => undefined,
    unsentOctets: () => 0,
  })
  let text = ''
  subscriber.stream.on('data', (chunk: Buffer) => (text += chunk))
  return { subscriber, ids: () => [...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id ?? '') }
}

const listed = async () => {
  const { rows } = await database.db.query<{ id: string }>(
    'select event_id as id from webhooks_event order by xact, event_id',
  )
  return rows.map(({ id }) => id)
}
const lastSeq = async () => {
  const { rows } = await database.db.query<{ seq: string }>(
    'select max(seq) as seq from webhooks_event_mark',
  )
  return Number(rows[0]?.seq)
}

describe('the reader of a process', () => {
  it('sends a stream that is ahead of it nothing twice', async () => {
    const { hub, state } = await newHub()
    const witness = newReader()
    await hub.joinNow(witness.subscriber)
    state.isDown = true
    await state.hasFailed.promise

    // Another process has made the next mark; a stream has read up to it by itself.
    const other = await newHub()
    const ahead = newReader()
    await other.hub.joinNow(newReader().subscriber)
    await record(3)
    await other.hub.mark()
    const joined = hub.joinAt(ahead.subscriber, await lastSeq())
    state.isDown = false
    expect(await joined).toBe(true)
    await expect.poll(() => witness.ids().length).toBe(3)
    await record(1)
    await expect.poll(() => witness.ids().length).toBe(4)
    expect(witness.ids()).toEqual(await listed())
    expect(ahead.ids()).toEqual((await listed()).slice(3))
  })

  it('lets no stream join before the events of a mark of which a part is sent', async () => {
    // The first look finds that there are events, the second reads a page of them.
    let isArmed = false
    const { hub, state } = await newHub(() => isArmed && state.looks >= 3)
    const witness = newReader()
    await hub.joinNow(witness.subscriber)
    const before = await lastSeq()
    state.looks = 0
    isArmed = true
    await record(PAGE + 1)
    await state.hasFailed.promise
    isArmed = false
    expect(witness.ids()).toHaveLength(PAGE)

    const [behind, caughtUp] = [newReader(), newReader()]
    const joins = [
      hub.joinAt(behind.subscriber, before),
      hub.joinAt(caughtUp.subscriber, await lastSeq()),
    ]
    state.isDown = false
    expect(await Promise.all(joins)).toEqual([false, true])
    await record(1)
    await expect.poll(() => witness.ids().length).toBe(PAGE + 2)
    expect(witness.ids()).toEqual(await listed())
    expect(caughtUp.ids()).toEqual((await listed()).slice(PAGE + 1))
    expect(behind.ids()).toEqual([])
  })

  it('tells a stream of an older mark to read on by itself', async () => {
    const { hub } = await newHub()
    const witness = newReader()
    await hub.joinNow(witness.subscriber)
    const before = await lastSeq()
    await record(1)
    await expect.poll(() => witness.ids().length).toBe(1)
    const late = newReader()
    expect(await hub.joinAt(late.subscriber, before)).toBe(false)
    expect(hub.subscribers.has(late.subscriber)).toBe(false)
    expect(await hub.joinAt(late.subscriber, await lastSeq())).toBe(true)
  })
})
