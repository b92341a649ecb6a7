import { describe, expect, it } from 'vitest'
import { progressOf, watchReplay } from './replay-progress.ts'

const idle = { state: 'idle', backlog: 0, replaying: 0, oldest_pending_at: null } as const
const at = (ms: number) => new Date(ms).toISOString()
const busy = { state: 'active', backlog: 7, replaying: 3, oldest_pending_at: at(1_000) } as const

describe('the progress of a replay', () => {
  it('counts what no webhook of it has waiting any more', () => {
    expect(progressOf(10, [busy, idle], undefined)).toEqual({
      ...{ gone: 7, isOver: false, heldUpBy: undefined },
    })
    expect(progressOf(2, [busy], undefined).gone).toBe(0)
  })

  it('is over when nothing waits, or only what came later', () => {
    expect(progressOf(10, [idle], 5_000).isOver).toBe(true)
    const live = { ...busy, replaying: 0 }
    expect(progressOf(10, [live], 500).isOver).toBe(true)
    // In a request that is not answered yet.
    expect(progressOf(10, [live], 5_000)).toMatchObject({ gone: 10, isOver: false })
  })

  it('is not over while as much waits as it queued, whatever the clocks say', () => {
    const failing = { ...busy, state: 'failing', backlog: 10, replaying: 0 } as const
    expect(progressOf(10, [failing], 500)).toMatchObject({ isOver: false, heldUpBy: 'failing' })
    expect(progressOf(10, [{ ...failing, backlog: 9 }], 500).isOver).toBe(true)
    expect(progressOf(5, [failing], 500, 10).isOver).toBe(false)
  })

  it.each(['paused', 'inactive', 'dormant', 'failing'] as const)(
    'says that a webhook that is %s holds it up',
    (state) => {
      expect(progressOf(10, [idle, { ...busy, state }], undefined).heldUpBy).toBe(state)
      expect(progressOf(10, [{ ...idle, state }], 1_000).heldUpBy).toBeUndefined()
    },
  )
})

describe('a replay that is watched', () => {
  type Status = Parameters<typeof progressOf>[1][number]

  function watch(replayed: number, statuses: Record<string, Status>) {
    let [asked, atOnce, atOnceMax]: [string[], number, number] = [[], 0, 0]
    const server = { nowMs: 0 }
    const look = watchReplay(replayed, Object.keys(statuses), async (webhookId: string) => {
      asked.push(webhookId)
      atOnce += 1
      atOnceMax = Math.max(atOnceMax, atOnce)
      await Promise.resolve()
      atOnce -= 1
      return { status: statuses[webhookId] as Status, atMs: server.nowMs }
    })
    return {
      server,
      atOnceMax: () => atOnceMax,
      async look() {
        asked = []
        return { ...(await look({})), asked }
      },
    }
  }

  it('asks for one webhook at a time, and for those that have nothing waiting only once', async () => {
    const statuses: Record<string, Status> = { a: busy, b: idle, c: busy, d: busy }
    const { look, atOnceMax } = watch(10, statuses)
    expect(await look()).toMatchObject({ asked: ['a', 'b', 'c', 'd'], gone: 1 })
    expect((await look()).asked).toEqual(['a'])
    expect((await look()).asked).toEqual(['c'])
    statuses.d = idle
    expect(await look()).toMatchObject({ asked: ['d'], gone: 4 })
    expect((await look()).asked).toEqual(['a'])
    statuses.c = idle
    expect((await look()).asked).toEqual(['c'])
    statuses.a = idle
    expect(await look()).toMatchObject({ asked: ['a'], isOver: true })
    expect(atOnceMax()).toBe(1)
  })

  it('asks less often for a webhook of which much is counted', async () => {
    const { look } = watch(20_000, { a: { ...busy, backlog: 10_001 }, b: busy })
    expect((await look()).afterMs).toBe(5_000)
    expect((await look()).afterMs).toBe(1_000)
    expect((await look()).afterMs).toBe(5_000)
  })

  it('is over by the clock of the server, when what waits came later and less does', async () => {
    const statuses: Record<string, Status> = { a: { ...busy, replaying: 0 } }
    const { look, server } = watch(2, statuses)
    server.nowMs = 5_000
    // In a request that began in the second of this answer.
    statuses.a = { ...busy, replaying: 0, oldest_pending_at: at(5_900) }
    expect((await look()).isOver).toBe(false)
    statuses.a = { ...busy, replaying: 0, oldest_pending_at: at(6_001) }
    expect((await look()).isOver).toBe(false)
    statuses.a = { ...busy, backlog: 6, replaying: 0, oldest_pending_at: at(5_900) }
    expect((await look()).isOver).toBe(false)
    statuses.a = { ...busy, backlog: 6, replaying: 0, oldest_pending_at: at(6_001) }
    expect((await look()).isOver).toBe(true)
  })
})
