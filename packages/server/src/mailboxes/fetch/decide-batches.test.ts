import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decideBatches } from './decide-batches.ts'

const MIB = 1024 * 1024

it('keeps all messages in order, within the bounds of a batch', () => {
  const message = fc.record({ uid: fc.nat(), bytes: fc.integer({ min: 0, max: 30 * MIB }) })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 300 }), (messages) => {
      const batches = decideBatches(messages)
      expect(batches.flat()).toEqual(messages)
      for (const batch of batches) {
        expect(batch.length).toBeGreaterThan(0)
        expect(batch.length).toBeLessThanOrEqual(50)
        const bytes = batch.reduce((sum, one) => sum + one.bytes, 0)
        // One that is larger goes alone.
        expect(batch.length === 1 || bytes <= 4 * MIB).toBe(true)
      }
    }),
  )
})
