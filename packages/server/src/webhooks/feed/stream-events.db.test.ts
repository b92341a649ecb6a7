import { describe, expect, it } from 'vitest'
import { createStreamApi, refsOf, sessionTenant, useStreams } from '../../../test/event-streams.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import type { Tx } from '../../platform/db/index.ts'
import { newId, ulidAtTime } from '../../platform/ids.ts'
import { recordEvents } from '../index.ts'

const QUIET_MS = 700

const streams = useStreams()
const quiet = () => new Promise((resolve) => setTimeout(resolve, QUIET_MS))

/** An event that is still in the log, and older than streams go back. */
async function recordOld(): Promise<string> {
  await streams.record(newEvent())
  const old = `evt_${ulidAtTime(Date.now() - 26 * 3_600_000)}`
  await streams.db.query(
    'update webhooks_event set event_id = $1 where event_id = (select max(event_id) from webhooks_event)',
    [old],
  )
  return old
}

/** A transaction that stays open until it is told to end. */
async function begin(work: (tx: Tx) => Promise<unknown>) {
  const worked = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const done = streams.db.transaction(async (tx) => {
    await work(tx)
    worked.resolve()
    await end.promise
  })
  await worked.promise
  return {
    async commit() {
      end.resolve()
      await done
    },
  }
}

describe('an event stream', () => {
  it('sends each event as it is listed, once, with headers that turn buffering off', async () => {
    const reader = await streams.api.open()
    const event = newEvent()
    await streams.record(event)
    const [sent] = await reader.until(1)
    expect(reader.status).toBe(200)
    expect(reader.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    const { rows } = await streams.db.query<{ event_id: string }>(
      'select event_id from webhooks_event',
    )
    expect(sent?.id).toBe(rows[0]?.event_id)
    expect(sent?.event).toBe('MAIL_DELIVERED')
    expect(sent?.data).toMatchObject({ event_id: sent?.id, success: true, details: event.details })
    await quiet()
    expect(reader.events).toHaveLength(1)
  })

  it('sends nothing of before it was opened, and no event of another tenant', async () => {
    await streams.record(newEvent())
    const readers = [await streams.api.open(), await streams.api.open('', { key: 'b' })]
    await streams.record(newEvent({ tenantId: 'tn_b' }), newEvent({ tenantId: 'tn_c' }))
    await readers[1]?.until(1)
    await quiet()
    expect(readers.map((reader) => reader.events.length)).toEqual([0, 1])
  })

  it('sends what a slow transaction committed last, although it began first', async () => {
    const [slow, quick, later] = [newEvent(), newEvent(), newEvent()]
    const held = await begin((tx) => recordEvents(tx, [slow]))
    const reader = await streams.api.open()
    await streams.record(quick)
    await reader.until(1)
    await held.commit()
    await reader.until(2)
    await streams.record(later)
    await reader.until(3)
    expect(refsOf(reader.events)).toEqual([quick.refId, slow.refId, later.refId])

    // The same after a reconnection, in another process.
    const other = await createStreamApi({ db: streams.db })
    const again = await other.open('', { lastEventId: reader.events[0]?.id ?? '' })
    await again.until(2)
    expect(refsOf(again.events)).toEqual([slow.refId, later.refId])
    await other.stop()
  })

  it('has one order in all processes', async () => {
    const other = await createStreamApi({ db: streams.db })
    const readers = [
      await streams.api.open(),
      await other.open(),
      await streams.api.open(),
      await other.open(),
    ]
    const rounds = Array.from({ length: 200 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 5))
      await streams.record(newEvent(), newEvent())
    })
    await Promise.all(rounds)
    const orders = await Promise.all(
      readers.map(async (reader) => (await reader.until(400)).map(({ id }) => id)),
    )
    expect(new Set(orders[0]).size).toBe(400)
    for (const order of orders) expect(order).toEqual(orders[0])
    await other.stop()
  })

  it('goes on while a transaction of somebody else stays open', async () => {
    const held = await begin((tx) => tx.query('create temp table held (n int)'))
    const reader = await streams.api.open()
    await streams.record(newEvent())
    await reader.until(1)
    await held.commit()
  })

  it('finds events that were recorded late, under an old day', async () => {
    const reader = await streams.api.open()
    await streams.record(
      newEvent({ eventAtMicros: newEvent().eventAtMicros - 3n * 86_400_000_000n }),
    )
    expect(await reader.until(1)).toHaveLength(1)
  })

  it.each([
    ['?event=MAIL_CLICKED', [1]],
    ['?email=Ada@Example.com', [2]],
    ['?mailer_id=smtp_2', [1]],
    ['?mailer_id=imap_1', [3]],
    ['?ref_id=nonsense', []],
  ])('filters by %s', async (query, places) => {
    const details = newEvent().details
    const events = [
      newEvent(),
      newEvent({ event: 'MAIL_CLICKED', details: { ...details, mailer_id: 'smtp_2' } }),
      newEvent({ details: { ...details, email: ['ADA@example.com'] } }),
      newEvent({ event: 'IMAP_ERROR', owner: 'imap_1', refId: '', details: {} }),
    ]
    const all = await streams.api.open()
    const some = await streams.api.open(query)
    await streams.record(...events)
    await all.until(4)
    await some.until(places.length)
    await quiet()
    const ids = all.events.map(({ id }) => id)
    expect(some.events.map(({ id }) => id)).toEqual(places.map((place) => ids[place]))
  })

  it('keeps the content of received mail from keys that may not read content', async () => {
    const reader = await streams.api.open('', { key: 'reader' })
    const inboundId = newId('in')
    const details = { inbound_id: inboundId, text: 'secret' }
    await streams.record(
      newEvent({ event: 'INCOMING_EMAIL', refId: inboundId, owner: 'imap_1', details }),
    )
    const [sent] = await reader.until(1)
    expect(sent?.data.details).toEqual({ inbound_id: inboundId })
  })
})

describe('a stream that comes back', () => {
  it('gets what it missed in the order in which others got it, and then what is new', async () => {
    const witness = await streams.api.open()
    const first = await streams.api.open()
    await streams.record(newEvent())
    const [{ id: lastEventId } = { id: '' }] = await first.until(1)
    first.close()
    for (let i = 0; i < 30; i++) {
      const held = await begin((tx) => recordEvents(tx, [newEvent()]))
      await streams.record(...Array.from({ length: 20 }, () => newEvent()))
      if (i % 10 === 0) await witness.until(i)
      await held.commit()
    }
    const again = await streams.api.open('', { lastEventId })
    await again.until(10)
    await streams.record(newEvent(), newEvent())
    await witness.until(633)
    await again.until(632)
    expect(again.events.map(({ id }) => id)).toEqual(witness.events.map(({ id }) => id).slice(1))
  })

  it('gets what slow transactions committed behind what others had got before', async () => {
    const witness = await streams.api.open()
    await streams.record(newEvent())
    const [first] = await witness.until(1)
    for (const round of [1, 2]) {
      const held = await begin((tx) => recordEvents(tx, [newEvent()]))
      await streams.record(newEvent())
      await witness.until(2 * round)
      await held.commit()
      await witness.until(2 * round + 1)
    }
    // Of several marks at once.
    const again = await streams.api.open('', { lastEventId: first?.id ?? '' })
    await again.until(4)
    expect(again.events.map(({ id }) => id)).toEqual(witness.events.map(({ id }) => id).slice(1))
  })

  it('gets events of a time in which nobody had a stream', async () => {
    const first = await streams.api.open()
    await streams.record(newEvent())
    const [{ id: lastEventId } = { id: '' }] = await first.until(1)
    await streams.api.stop()
    await streams.record(newEvent(), newEvent())
    streams.api = await createStreamApi({ db: streams.db })
    const again = await streams.api.open('', { lastEventId })
    expect(await again.until(2)).toHaveLength(2)
  })

  it.each([
    ['unknown', () => newId('evt')],
    ['malformed', () => 'nonsense'],
    ['too old', recordOld],
  ])('with an id that is %s is told a gap, and gets what there is', async (_, idOf) => {
    await streams.record(newEvent(), newEvent())
    const reader = await streams.api.open('', { lastEventId: await idOf() })
    const [gap, ...events] = await reader.until(3)
    expect(gap).toEqual({ id: '', event: 'gap', data: { reason: 'unknown_event', count: null } })
    expect(events).toHaveLength(2)
  })

  it("finds nothing by another tenant's event", async () => {
    const other = await streams.api.open('', { key: 'b' })
    await streams.record(newEvent({ tenantId: 'tn_b' }), newEvent({ tenantId: 'tn_b' }))
    const [{ id: lastEventId } = { id: '' }] = await other.until(2)
    const reader = await streams.api.open('', { lastEventId })
    await quiet()
    expect(reader.events.map(({ event }) => event)).toEqual(['gap'])
  })
})

describe('the end of a stream', () => {
  it('comes within seconds when its key is revoked', async () => {
    const reader = await streams.api.open()
    const other = await streams.api.open('', { key: 'b' })
    streams.api.keys.delete('a')
    await reader.ended()
    expect(other.isEnded).toBe(false)
  })

  it('comes within seconds when its session ends, or may read no content any more', async () => {
    const person = (content: boolean) => ({
      userId: 'us_1',
      sessionId: 'se_1',
      operatorRole: undefined,
      content: false,
      memberships: [{ tenantId: sessionTenant, role: 'viewer' as const, content }],
    })
    for (const cookie of ['ended', 'changed', 'kept']) streams.api.people.set(cookie, person(true))
    const [ended, changed, kept] = await Promise.all(
      ['ended', 'changed', 'kept'].map((cookie) => streams.api.openAsPerson(cookie)),
    )
    await streams.record(newEvent({ tenantId: sessionTenant }), newEvent())
    await kept?.until(1)
    streams.api.people.delete('ended')
    streams.api.people.set('changed', person(false))
    await Promise.all([ended?.ended(), changed?.ended()])
    expect([kept?.isEnded, kept?.events.length]).toEqual([false, 1])
  })

  it('comes when the marks are gone, as after a restore: readers find their place anew', async () => {
    const reader = await streams.api.open()
    await streams.record(newEvent())
    await reader.until(1)
    await streams.db.query('delete from webhooks_event_mark')
    await streams.record(newEvent())
    await reader.ended()
    const again = await streams.api.open('', { lastEventId: reader.events[0]?.id ?? '' })
    expect(await again.until(1)).toHaveLength(1)
  })

  it('comes at once when the server stops, also for one that does not read', async () => {
    const readers = [
      await streams.api.open(),
      await streams.api.open('', { lastEventId: newId('evt') }),
    ]
    readers[1]?.pause()
    const startedMs = performance.now()
    await streams.api.stop()
    await readers[0]?.ended()
    expect(performance.now() - startedMs).toBeLessThan(3_000)
    streams.api = await createStreamApi({ db: streams.db })
  })
})

describe('the limits of streams', () => {
  it('refuse by name, and free a place when a stream ends', async () => {
    const streamLimits = { perKeyMax: 1, perTenantMax: 2, max: 3 }
    const limited = await createStreamApi({ db: streams.db, streamLimits })
    const nameOf = async (key: string) => {
      const { status, headers } = await limited.open('', { key })
      return [status, String(headers['ratelimit-policy'] ?? '').split(';')[0]]
    }
    limited.keys.set('a2', { tenantId: 'tn_a', keyId: 'key_a2', scopes: [] })
    limited.keys.set('c', { tenantId: 'tn_c', keyId: 'key_c', scopes: [] })
    const first = await limited.open()
    expect(await nameOf('a')).toEqual([429, '"streams-per-key"'])
    await limited.open('', { key: 'a2' })
    expect(await nameOf('reader')).toEqual([429, '"streams-per-tenant"'])
    await limited.open('', { key: 'b' })
    expect(await nameOf('c')).toEqual([429, '"streams-per-process"'])
    first.close()
    let again = await limited.open()
    while (again.status === 429) again = await limited.open()
    expect(again.status).toBe(200)
    await limited.stop()
  })

  it('leave the requests under way of a key alone', async () => {
    expect((await streams.api.open('', { key: 'sender' })).status).toBe(403)
    expect((await streams.api.open('', { key: 'nobody' })).status).toBe(401)
    expect((await streams.api.open('?start=2026-01-01')).status).toBe(400)
    const head = await fetch(`${streams.api.origin}/v1/events/stream`, {
      method: 'HEAD',
      headers: { authorization: 'Bearer a' },
    })
    expect(head.status).toBe(200)
  })
})
