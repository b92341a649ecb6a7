import { describe, expect, it } from 'vitest'
import { createLane, type Lane } from './lane.ts'
import { createLaneTurns } from './lane-turns.ts'

const lane = (tenantId: string, mailerId: string) => createLane({ tenantId, mailerId, bucket: 0 })

/** Takes turns, putting each lane back, as lanes with much to do are. */
function take(turns: ReturnType<typeof createLaneTurns>, count: number): string[] {
  return Array.from({ length: count }, () => {
    const taken = turns.take({})
    if (taken !== undefined) turns.add(taken)
    return taken?.id ?? 'none'
  })
}

describe('turns', () => {
  it('go to tenants in turn, and within a tenant to its mailers in turn', () => {
    const turns = createLaneTurns()
    for (const mailer of ['1', '2', '3']) turns.add(lane('a', mailer))
    turns.add(lane('b', '1'))
    expect(take(turns, 8)).toEqual(['a 1', 'b 1', 'a 2', 'b 1', 'a 3', 'b 1', 'a 1', 'b 1'])
  })

  it('are one for a lane that is added twice', () => {
    const turns = createLaneTurns()
    const one = lane('a', '1')
    turns.add(one)
    turns.add(one)
    expect(turns.take({})).toBe(one)
    expect(turns.take({})).toBeUndefined()
  })

  it('pass over tenants and lanes that cannot go, which keep their places', () => {
    const turns = createLaneTurns()
    for (const [tenantId, mailerId] of [
      ['a', '1'],
      ['b', '1'],
      ['b', '2'],
    ] as const)
      turns.add(lane(tenantId, mailerId))
    const tenantCanGo = (tenantId: string) => tenantId !== 'a'
    const canGo = ({ mailerId }: Lane) => mailerId !== '1'
    expect(turns.take({ tenantCanGo, canGo })?.id).toBe('b 2')
    expect(turns.take({ tenantCanGo, canGo })).toBeUndefined()
    expect(take(turns, 2)).toEqual(['a 1', 'b 1'])
  })
})
