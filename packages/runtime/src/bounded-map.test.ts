import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBoundedMap } from './bounded-map.ts'

it('keeps the entries that were set last, like a bounded list', () => {
  const command = fc.record({
    key: fc.nat(9),
    what: fc.constantFrom('set', 'set', 'set', 'delete'),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(command), (entriesMax, commands) => {
      const map = createBoundedMap<number, number>(entriesMax)
      let model: [number, number][] = []
      commands.forEach(({ key, what }, n) => {
        model = model.filter(([known]) => known !== key)
        if (what === 'set') model = [...model, [key, n] as [number, number]].slice(-entriesMax)
        if (what === 'set') map.set(key, n)
        else map.delete(key)
        expect(map.size).toBe(model.length)
        for (let k = 0; k <= 9; k += 1) expect(map.get(k)).toBe(new Map(model).get(k))
      })
      map.clear()
      expect(map.size).toBe(0)
    }),
  )
})
