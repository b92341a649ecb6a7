import { beforeEach, expect, it } from 'vitest'
import type { OverQuota } from './decide-quota.ts'
import { askedAnywayMax, createKnownRefusals, type KnownRefusals } from './known-refusals.ts'

const OVER: OverQuota = {
  ...{ quota: 'emails_per_day', max: 100, asked: 5, left: 2 },
  ...{ retryAfterS: 3_600, endsInMs: 3_600_000 },
}
const MANY = { emails: 3, bytes: 1 }
let nowMs: number
let refusals: KnownRefusals
beforeEach(() => {
  nowMs = 0
  refusals = createKnownRefusals({ monotonicMs: () => nowMs })
})

function refuse(times: number, over: Partial<OverQuota> = {}, tenantId = 'tn_a'): void {
  for (let i = 0; i < times; i += 1) refusals.begin(tenantId)({ ...OVER, ...over })
}

it('leaves the first refusals of a second to the database', () => {
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
  refuse(askedAnywayMax - 1)
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
  refuse(1)
  expect(refusals.find('tn_a', MANY)).toEqual({ ...OVER, asked: 3 })
})

it('refuses the tenant that floods, and no other', () => {
  refuse(askedAnywayMax)
  expect(refusals.find('tn_b', MANY)).toBeUndefined()
})

it('lets a request through that asks for no more than is left', () => {
  refuse(askedAnywayMax)
  expect(refusals.find('tn_a', { emails: 2, bytes: 1_000_000 })).toBeUndefined()
  refuse(1, { left: 1 })
  expect(refusals.find('tn_a', { emails: 2, bytes: 1 })).toBeDefined()
})

it('compares bytes with what is left of the storage', () => {
  refuse(askedAnywayMax, { quota: 'storage_bytes_max', left: 1_000 })
  expect(refusals.find('tn_a', { emails: 5, bytes: 1_000 })).toBeUndefined()
  expect(refusals.find('tn_a', { emails: 1, bytes: 1_001 })).toMatchObject({ asked: 1_001 })
})

it('forgets after a second, and then asks the database as often as at first', () => {
  refuse(askedAnywayMax)
  nowMs = 999
  expect(refusals.find('tn_a', MANY)).toBeDefined()
  nowMs = 1_000
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
  refuse(1)
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
})

it('forgets when the second or the day of the quota is over, counted from the question', () => {
  refuse(askedAnywayMax - 1, { endsInMs: 300 })
  const note = refusals.begin('tn_a')
  nowMs = 200
  note({ ...OVER, endsInMs: 300 })
  nowMs = 299
  expect(refusals.find('tn_a', MANY)).toBeDefined()
  nowMs = 300
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
})

it('remembers so many tenants at most: the one refused longest ago is forgotten', () => {
  refuse(askedAnywayMax)
  for (let n = 0; n < 10_000; n += 1) refuse(1, {}, `tn_${n}`)
  expect(refusals.find('tn_a', MANY)).toBeUndefined()
})
