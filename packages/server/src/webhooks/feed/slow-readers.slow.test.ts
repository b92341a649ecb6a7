/** Streams whose readers take less than they could: what they miss is told, and what is kept for them is bounded. */
import { describe, expect, it } from 'vitest'
import {
  createStreamApi,
  refsOf,
  type StreamReader,
  useStreams,
} from '../../../test/event-streams.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { newId } from '../../platform/ids.ts'

const streams = useStreams()

describe('a slow reader', () => {
  it('is told how many events it missed, and delays nobody', async () => {
    const slow = await streams.api.open()
    const quick = await streams.api.open()
    slow.pause()
    const text = 'x'.repeat(400_000)
    const count = 60
    for (let i = 0; i < count; i++)
      await streams.record(newEvent({ details: { ...newEvent().details, custom_args: { text } } }))
    await quick.until(count)
    slow.resume()
    while (!slow.events.some(({ event }) => event === 'gap'))
      await slow.until(slow.events.length + 1)
    await streams.record(newEvent())
    await quick.until(count + 1)
    const last = quick.events.at(-1)?.id
    while (slow.events.at(-1)?.id !== last) await slow.until(slow.events.length + 1)
    const missed = slow.events
      .filter(({ event }) => event === 'gap')
      .map(({ data }) => {
        expect(data.reason).toBe('slow_reader')
        return data.count
      })
    const sent = slow.events.filter(({ event }) => event !== 'gap')
    expect(missed.reduce((a, b) => a + b, 0) + sent.length).toBe(count + 1)
    expect(quick.events.map(({ event }) => event)).not.toContain('gap')
  })
})

describe('readers of large events that take nothing', () => {
  const OCTETS = 4_000_000
  const large = (octets = OCTETS) =>
    newEvent({ details: { ...newEvent().details, custom_args: { text: 'x'.repeat(octets) } } })
  const held = () => process.memoryUsage().arrayBuffers

  it('hold a bounded memory while they catch up, and delay no other tenant', async () => {
    // More than the network holds.
    const octets = 12_000_000
    await streams.record(large(octets))
    await streams.record(newEvent({ tenantId: 'tn_b' }), { ...large(), tenantId: 'tn_b' })
    const bytesOfTenantMax = 2 * octets
    const frameMemory = { bytesMax: 2 * bytesOfTenantMax, bytesOfTenantMax }
    const limited = await createStreamApi({ db: streams.db, frameMemory })
    const before = held()
    const stalled: StreamReader[] = []
    for (let i = 0; i < 30; i++) {
      const reader = await limited.open('', { lastEventId: newId('evt') })
      reader.pause()
      stalled.push(reader)
    }
    const other = await limited.open('', { key: 'b', lastEventId: newId('evt') })
    expect(refsOf((await other.until(3)).slice(1))).toHaveLength(2)
    // Without a bound, 30 streams hold 360 MB. Besides the bound there are the bytes that are being made.
    let most = 0
    for (let i = 0; i < 70; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      most = Math.max(most, held() - before)
    }
    expect(most).toBeLessThan(90_000_000)
    for (const reader of stalled.slice(1)) reader.close()
    stalled[0]?.resume()
    expect(await stalled[0]?.until(2)).toHaveLength(2)
    await limited.stop()
  })

  it('lose their connection after a while, and free their places', async () => {
    for (let i = 0; i < 4; i++) await streams.record(large())
    const limited = await createStreamApi({
      db: streams.db,
      streamLimits: { perKeyMax: 1, perTenantMax: 1, max: 1 },
      timeouts: { streamWriteMs: 300, checkEveryMs: 50 },
    })
    const stalled = await limited.open('', { lastEventId: newId('evt') })
    stalled.pause()
    let next = await limited.open('', { key: 'b' })
    while (next.status === 429) next = await limited.open('', { key: 'b' })
    expect(next.status).toBe(200)
    await limited.stop()
  })

  it('leave room for others at once when they take what they get', async () => {
    const frameMemory = { bytesMax: OCTETS, bytesOfTenantMax: OCTETS }
    const limited = await createStreamApi({ db: streams.db, frameMemory })
    const live = await limited.open()
    for (let i = 1; i <= 3; i++) {
      await streams.record(large())
      await live.until(i)
    }
    expect(live.events.map(({ event }) => event)).not.toContain('gap')
    const back = await limited.open('', { lastEventId: live.events[0]?.id ?? '' })
    await back.until(2)
    expect(refsOf(back.events)).toEqual(refsOf(live.events).slice(1))
    await limited.stop()
  })

  it('leave room for others once they are gone', async () => {
    const frameMemory = { bytesMax: OCTETS, bytesOfTenantMax: OCTETS }
    const limited = await createStreamApi({ db: streams.db, frameMemory })
    const [stalled, quick] = [await limited.open(), await limited.open()]
    stalled.pause()
    // The network holds the first ones.
    for (let i = 1; i <= 4; i++) {
      await streams.record(large())
      await quick.until(i)
    }
    expect(quick.events.at(-1)).toMatchObject({ event: 'gap', data: { reason: 'slow_reader' } })
    stalled.close()
    const seen = quick.events.length
    await streams.record(large())
    await quick.until(seen + 1)
    expect(quick.events.at(-1)?.event).toBe('MAIL_DELIVERED')
    await limited.stop()
  })
})
