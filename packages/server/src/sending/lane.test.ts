import { expect, it } from 'vitest'
import type { Ending } from './ending.ts'
import {
  canFly,
  claimableBy,
  createLane,
  type Held,
  isIdle,
  isUnreachable,
  noteLanded,
  noteSlow,
  takeSurplus,
} from './lane.ts'

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

it('a lane is idle only when nothing is held and nothing may be due', () => {
  expect(isIdle(laneOf({ hasSmall: false }))).toBe(true)
  for (const busy of [
    { hasSmall: true },
    { isClaiming: true },
    { inFlight: 1 },
    { waiting: rows(1) },
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
