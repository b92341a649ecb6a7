import { expect, it } from 'vitest'
import type { Ending } from '../results/ending.ts'
import {
  bulkShareOf,
  canFly,
  claimableBy,
  createLane,
  firstOf,
  type Held,
  isIdle,
  isUnreachable,
  noteClasses,
  noteLanded,
  noteSlow,
  takeClasses,
  takeSurplus,
} from './mailer-queue.ts'

const laneOf = (change: object) => ({
  ...createLane({ tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 0 }),
  hasSmall: true,
  connectionsMax: 5,
  ...change,
})
const rows = (count: number, isBulk = false) =>
  Array.from({ length: count }, () => ({ loaded: { claim: { isBulk } } }) as Held)

it('a lane claims ahead of its connections, when little is left and something may be due', () => {
  expect(claimableBy(laneOf({}))).toBe(20)
  expect(claimableBy(laneOf({ waiting: rows(10) }))).toBe(10)
  expect(claimableBy(laneOf({ waiting: rows(11) }))).toBe(0)
  expect(claimableBy(laneOf({ hasSmall: false }))).toBe(0)
  expect(claimableBy(laneOf({ isClaiming: true }))).toBe(0)
})

it('a lane whose server cannot be reached makes one attempt at a time', () => {
  const failing = { isFailing: true, waiting: rows(1) }
  expect(canFly(laneOf({ ...failing, inFlight: 0 }))).toBe(true)
  expect(canFly(laneOf({ ...failing, inFlight: 1 }))).toBe(false)
  expect(canFly(laneOf({ waiting: rows(1), inFlight: 4 }))).toBe(true)
  expect(canFly(laneOf({ waiting: rows(1), inFlight: 5 }))).toBe(false)
  expect(claimableBy(laneOf({ isFailing: true }))).toBe(4)
})

it('a lane with nothing but slow attempts holds no more than its connections can begin', () => {
  const lane = laneOf({ inFlight: 2, waiting: rows(10) })
  noteSlow(lane)
  expect(takeSurplus(lane)).toEqual([])
  noteSlow(lane)
  expect(takeSurplus(lane)).toHaveLength(7)
  expect(lane.waiting).toHaveLength(3)
  expect(claimableBy(lane)).toBe(0)
  lane.waiting.length = 0
  expect(claimableBy(lane)).toBe(3)
  lane.inFlight = 5
  expect(claimableBy(lane)).toBe(0)
})

it('a slow lane claims ahead again when an attempt has ended quickly', () => {
  const lane = laneOf({ inFlight: 2 })
  noteSlow(lane)
  noteSlow(lane)
  noteLanded(lane, true)
  expect(lane).toMatchObject({ isSlow: true, inFlight: 1, slow: 1 })
  lane.inFlight += 1
  noteLanded(lane, false)
  expect(lane).toMatchObject({ isSlow: false, inFlight: 1, slow: 1 })
  expect(claimableBy(lane)).toBe(20)
})

it('what is not bulk goes first, and every fourth place is for bulk mail', () => {
  const lane = laneOf({ waiting: [...rows(4, true), ...rows(6)] })
  const order = Array.from({ length: 10 }, () => {
    const first = firstOf(lane)
    lane.waiting.splice(lane.waiting.indexOf(first as Held), 1)
    lane.begun += 1
    return first?.loaded.claim.isBulk ? 'bulk' : 'small'
  })
  expect(order.join(' ')).toBe('small small small bulk small small small bulk bulk bulk')
  expect(firstOf(lane)).toBeUndefined()
})

it('mail that is not bulk is claimed at once where all that was claimed ahead is bulk', () => {
  const ahead = { waiting: rows(20, true) }
  expect(claimableBy(laneOf(ahead))).toBe(5)
  expect(takeClasses(laneOf({ ...ahead, hasBulk: true }))).toEqual({ small: true, bulk: false })
  expect(claimableBy(laneOf({ ...ahead, hasSmall: false, hasBulk: true }))).toBe(0)
  expect(claimableBy(laneOf({ waiting: [...rows(19, true), ...rows(1)] }))).toBe(0)
  expect(claimableBy(laneOf({ ...ahead, isPaced: true }))).toBe(0)
})

it('a claim takes its marks with it; of several, bulk mail has a quarter', () => {
  const lane = laneOf({ hasBulk: true })
  expect(takeClasses(lane)).toEqual({ small: true, bulk: true })
  expect(claimableBy(lane)).toBe(0)
  noteClasses(lane, { small: false, bulk: true })
  expect(claimableBy(lane)).toBe(20)
  expect([20, 1, 1, 1, 1, 2, 2].map((limit) => bulkShareOf(lane, limit))).toEqual([
    5, 0, 0, 0, 1, 0, 1,
  ])
})

it('a lane whose mailer has a rate claims only what can begin', () => {
  expect(claimableBy(laneOf({ isPaced: true, inFlight: 3 }))).toBe(2)
  expect(claimableBy(laneOf({ isPaced: true, inFlight: 5 }))).toBe(0)
})

it('a lane that rests claims nothing, and one that is slowed down uses fewer connections', () => {
  expect(claimableBy(laneOf({ rest: 'limited' }))).toBe(0)
  const slowing = { connections: 2, pauseMs: 2_000, sinceMs: 0 }
  expect(canFly(laneOf({ slowing, waiting: rows(1), inFlight: 1 }))).toBe(true)
  expect(canFly(laneOf({ slowing, waiting: rows(1), inFlight: 2 }))).toBe(false)
})

it('a lane is idle only when nothing is held and nothing may be due', () => {
  expect(isIdle(laneOf({ hasSmall: false }))).toBe(true)
  for (const busy of [
    { hasSmall: true },
    { isClaiming: true },
    { inFlight: 1 },
    { waiting: rows(1) },
    { hasBulk: true },
    { rest: 'inactive' },
  ])
    expect(isIdle(laneOf({ hasSmall: false, ...busy }))).toBe(false)
})

it.each([
  ['network', true],
  ['auth_rejected', true],
  ['tls_certificate', true],
  ['invalid_recipient', false],
  ['uncertain', false],
])('a failure of category %s says that the server cannot be reached: %s', (category, expected) => {
  const ending = { kind: 'finished', result: { kind: 'failed', category } } as unknown as Ending
  expect(isUnreachable(ending)).toBe(expected)
})
