import { describe, expect, it } from 'vitest'
import { createFairQueue, type FairQueue } from './fair-queue.ts'

interface Member {
  readonly tenantId: string
  readonly id: string
}
const member = (tenantId: string, n: string): Member => ({ tenantId, id: `${tenantId} ${n}` })

/** Takes turns, putting each member back, as those with much to do are. */
function take(turns: FairQueue<Member>, count: number): string[] {
  return Array.from({ length: count }, () => {
    const taken = turns.take()
    if (taken !== undefined) turns.add(taken)
    return taken?.id ?? 'none'
  })
}

describe('a fair queue', () => {
  it('serves tenants in turn, and the members of a tenant in turn', () => {
    const turns = createFairQueue<Member>()
    for (const n of ['1', '2', '3']) turns.add(member('a', n))
    turns.add(member('b', '1'))
    expect(take(turns, 8)).toEqual(['a 1', 'b 1', 'a 2', 'b 1', 'a 3', 'b 1', 'a 1', 'b 1'])
  })

  it('holds a member once that is added twice', () => {
    const turns = createFairQueue<Member>()
    const one = member('a', '1')
    turns.add(one)
    turns.add(one)
    expect(turns.size).toBe(1)
    expect(turns.take()).toBe(one)
    expect(turns.take()).toBeUndefined()
    expect(turns.size).toBe(0)
  })

  it('skips tenants and members that cannot start, which keep their position', () => {
    const turns = createFairQueue<Member>()
    for (const one of [member('a', '1'), member('b', '1'), member('b', '2')]) turns.add(one)
    const tenantCanGo = (tenantId: string) => tenantId !== 'a'
    const canGo = ({ id }: Member) => !id.endsWith('1')
    expect(turns.has({ tenantCanGo, canGo })).toBe(true)
    expect(turns.take({ tenantCanGo, canGo })?.id).toBe('b 2')
    expect(turns.has({ tenantCanGo, canGo })).toBe(false)
    expect(turns.take({ tenantCanGo, canGo })).toBeUndefined()
    expect(take(turns, 2)).toEqual(['a 1', 'b 1'])
  })

  it('is empty once cleared', () => {
    const turns = createFairQueue<Member>()
    turns.add(member('a', '1'))
    turns.clear()
    expect([turns.size, turns.take()]).toEqual([0, undefined])
  })
})
