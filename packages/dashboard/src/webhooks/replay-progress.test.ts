import { describe, expect, it } from 'vitest'
import { progressOf } from './replay-progress.ts'

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

  it.each(['paused', 'inactive', 'dormant', 'failing'] as const)(
    'says that a webhook that is %s holds it up',
    (state) => {
      expect(progressOf(10, [idle, { ...busy, state }], undefined).heldUpBy).toBe(state)
      expect(progressOf(10, [{ ...idle, state }], 1_000).heldUpBy).toBeUndefined()
    },
  )
})
