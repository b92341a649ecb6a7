import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAdmissionLimiter } from './admission-limiter.ts'

const limits = {
  messagesMax: 8,
  ofTenantMax: 3,
  largeBytesMin: 100,
  largeMax: 4,
  largeBytesMax: 1_000,
  largeBytesOfTenantMax: 500,
}
const due = (tenantId: string, inboundId: string, bytes: number, isSuspect = false) => ({
  tenantId,
  inboundId,
  bytes,
  isSuspect,
})

it('admits one message of each tenant before a second of any tenant', () => {
  const admission = createAdmissionLimiter({ ...limits, messagesMax: 4 })
  const line = ['a', 'b', 'c'].flatMap((tenant) =>
    [1, 2, 3].map((i) => due(tenant, `${tenant}${i}`, 1)),
  )
  expect(admission.admit(line).map(({ inboundId }) => inboundId)).toEqual(['a1', 'b1', 'c1', 'a2'])
  expect(admission.isFull).toBe(true)
})

it('keeps space for small messages while large ones fill the rest', () => {
  const admission = createAdmissionLimiter(limits)
  const large = ['a', 'b', 'c', 'd', 'e'].map((tenant) => due(tenant, tenant, 250))
  expect(admission.admit(large)).toHaveLength(4)
  expect(admission.admit([due('f', 'large', 250), due('f', 'small', 99)])).toEqual([
    due('f', 'small', 99),
  ])
})

it('admits a message above the limit alone', () => {
  const admission = createAdmissionLimiter(limits)
  const huge = due('a', 'huge', 50_000)
  expect(admission.admit([huge, due('a', 'two', 100), due('b', 'three', 100)])).toEqual([huge])
  admission.leave(huge)
  expect(admission.admit([due('b', 'three', 100), huge])).toEqual([due('b', 'three', 100)])
})

it('admits one suspect of all tenants at a time, beside other messages', () => {
  const admission = createAdmissionLimiter(limits)
  const [first, second] = [due('a', 'first', 1, true), due('b', 'second', 1, true)]
  const line = [first, second, due('a', 'a', 1), due('b', 'b', 1)]
  const idsOf = (admitted: readonly (typeof first)[]) => admitted.map(({ inboundId }) => inboundId)
  expect(idsOf(admission.admit(line))).toEqual(['first', 'a', 'b'])
  expect(admission.admit([second])).toEqual([])
  admission.leave(first)
  expect(admission.admit([second])).toEqual([second])
})

it('never exceeds its limits, and is empty when all messages have left', () => {
  const message = fc.record({
    tenantId: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.integer({ min: 1, max: 700 }),
  })
  fc.assert(
    fc.property(fc.array(fc.array(message, { maxLength: 12 }), { maxLength: 12 }), (rounds) => {
      const admission = createAdmissionLimiter(limits)
      const inside: ReturnType<typeof due>[] = []
      for (const [i, round] of rounds.entries()) {
        inside.push(...admission.admit(round.map((m, n) => due(m.tenantId, `${i}.${n}`, m.bytes))))
        expect(inside.length).toBeLessThanOrEqual(limits.messagesMax)
        for (const own of Map.groupBy(inside, (m) => m.tenantId).values()) {
          expect(own.length).toBeLessThanOrEqual(limits.ofTenantMax)
          const large = own.filter(({ bytes }) => bytes >= limits.largeBytesMin)
          const bytes = large.reduce((sum, one) => sum + one.bytes, 0)
          if (large.length > 1) expect(bytes).toBeLessThanOrEqual(limits.largeBytesOfTenantMax)
        }
        for (const left of inside.splice(0, i % 4)) admission.leave(left)
      }
      for (const left of inside.splice(0)) admission.leave(left)
      const three = ['a', 'b', 'c'].map((tenant) => due(tenant, tenant, 300))
      expect(admission.admit(three)).toHaveLength(3)
    }),
  )
})
