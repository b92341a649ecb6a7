import { expect, it } from 'vitest'
import type { Ending } from '../results/ending.ts'
import {
  bulkShareOf,
  canStart,
  claimableBy,
  createMailerQueue,
  firstOf,
  isIdle,
  isUnreachable,
  type LeasedRecipient,
  noteClasses,
  noteFinished,
  noteSlow,
  takeClasses,
  takeSurplus,
} from './mailer-queue.ts'

const queueOf = (change: object) => ({
  ...createMailerQueue({ tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 0 }),
  hasSmall: true,
  connectionsMax: 5,
  ...change,
})
const rows = (count: number, isBulk = false) =>
  Array.from({ length: count }, () => ({ loaded: { claim: { isBulk } } }) as LeasedRecipient)

it('claims ahead of its connections when little is left and something may be due', () => {
  expect(claimableBy(queueOf({}))).toBe(20)
  expect(claimableBy(queueOf({ waiting: rows(10) }))).toBe(10)
  expect(claimableBy(queueOf({ waiting: rows(11) }))).toBe(0)
  expect(claimableBy(queueOf({ hasSmall: false }))).toBe(0)
  expect(claimableBy(queueOf({ isClaiming: true }))).toBe(0)
})

it('makes one attempt at a time when its server cannot be reached', () => {
  const failing = { isFailing: true, waiting: rows(1) }
  expect(canStart(queueOf({ ...failing, inFlight: 0 }))).toBe(true)
  expect(canStart(queueOf({ ...failing, inFlight: 1 }))).toBe(false)
  expect(canStart(queueOf({ waiting: rows(1), inFlight: 4 }))).toBe(true)
  expect(canStart(queueOf({ waiting: rows(1), inFlight: 5 }))).toBe(false)
  expect(claimableBy(queueOf({ isFailing: true }))).toBe(4)
})

it('leases no more than its connections can begin while all attempts are slow', () => {
  const queue = queueOf({ inFlight: 2, waiting: rows(10) })
  noteSlow(queue)
  expect(takeSurplus(queue)).toEqual([])
  noteSlow(queue)
  expect(takeSurplus(queue)).toHaveLength(7)
  expect(queue.waiting).toHaveLength(3)
  expect(claimableBy(queue)).toBe(0)
  queue.waiting.length = 0
  expect(claimableBy(queue)).toBe(3)
  queue.inFlight = 5
  expect(claimableBy(queue)).toBe(0)
})

it('claims ahead again when an attempt has ended quickly', () => {
  const queue = queueOf({ inFlight: 2 })
  noteSlow(queue)
  noteSlow(queue)
  noteFinished(queue, true)
  expect(queue).toMatchObject({ isSlow: true, inFlight: 1, slow: 1 })
  queue.inFlight += 1
  noteFinished(queue, false)
  expect(queue).toMatchObject({ isSlow: false, inFlight: 1, slow: 1 })
  expect(claimableBy(queue)).toBe(20)
})

it('serves other mail first, and gives every fourth turn to bulk mail', () => {
  const queue = queueOf({ waiting: [...rows(4, true), ...rows(6)] })
  const order = Array.from({ length: 10 }, () => {
    const first = firstOf(queue)
    queue.waiting.splice(queue.waiting.indexOf(first as LeasedRecipient), 1)
    queue.begun += 1
    return first?.loaded.claim.isBulk ? 'bulk' : 'small'
  })
  expect(order.join(' ')).toBe('small small small bulk small small small bulk bulk bulk')
  expect(firstOf(queue)).toBeUndefined()
})

it('claims other mail at once when everything that was claimed ahead is bulk', () => {
  const ahead = { waiting: rows(20, true) }
  expect(claimableBy(queueOf(ahead))).toBe(5)
  expect(takeClasses(queueOf({ ...ahead, hasBulk: true }))).toEqual({ small: true, bulk: false })
  expect(claimableBy(queueOf({ ...ahead, hasSmall: false, hasBulk: true }))).toBe(0)
  expect(claimableBy(queueOf({ waiting: [...rows(19, true), ...rows(1)] }))).toBe(0)
  expect(claimableBy(queueOf({ ...ahead, hasRateLimit: true }))).toBe(0)
})

it('clears the due marks of what it claims, and gives bulk mail a quarter of a claim', () => {
  const queue = queueOf({ hasBulk: true })
  expect(takeClasses(queue)).toEqual({ small: true, bulk: true })
  expect(claimableBy(queue)).toBe(0)
  noteClasses(queue, { small: false, bulk: true })
  expect(claimableBy(queue)).toBe(20)
  expect([20, 1, 1, 1, 1, 2, 2].map((limit) => bulkShareOf(queue, limit))).toEqual([
    5, 0, 0, 0, 1, 0, 1,
  ])
})

it('claims only what can begin when the mailer has a rate limit', () => {
  expect(claimableBy(queueOf({ hasRateLimit: true, inFlight: 3 }))).toBe(2)
  expect(claimableBy(queueOf({ hasRateLimit: true, inFlight: 5 }))).toBe(0)
})

it('claims nothing while it backs off, and uses fewer connections while throttled', () => {
  expect(claimableBy(queueOf({ pause: 'limited' }))).toBe(0)
  const slowing = { connections: 2, pauseMs: 2_000, sinceMs: 0 }
  expect(canStart(queueOf({ slowing, waiting: rows(1), inFlight: 1 }))).toBe(true)
  expect(canStart(queueOf({ slowing, waiting: rows(1), inFlight: 2 }))).toBe(false)
})

it('is idle only when nothing is leased and nothing may be due', () => {
  expect(isIdle(queueOf({ hasSmall: false }))).toBe(true)
  for (const busy of [
    { hasSmall: true },
    { isClaiming: true },
    { inFlight: 1 },
    { waiting: rows(1) },
    { hasBulk: true },
    { pause: 'inactive' },
  ])
    expect(isIdle(queueOf({ hasSmall: false, ...busy }))).toBe(false)
})

it.each([
  ['network', true],
  ['auth_rejected', true],
  ['tls_certificate', true],
  ['invalid_recipient', false],
  ['uncertain', false],
])(
  'tells whether a failure of category %s means that the server is unreachable: %s',
  (category, expected) => {
    const ending = { kind: 'finished', result: { kind: 'failed', category } } as unknown as Ending
    expect(isUnreachable(ending)).toBe(expected)
  },
)
