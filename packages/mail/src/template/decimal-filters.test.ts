import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimalFilters, sumOf } from './decimal-filters.ts'

const apply = (name: string, ...args: unknown[]) => decimalFilters[name]?.(...args)

describe('arithmetic in decimals', () => {
  it.each([
    ['minus', 10.1, 2.2, 7.9],
    ['plus', 0.1, 0.2, 0.3],
    ['plus', '1.1', '2.2', 3.3],
    ['plus', 'a', 2, 2],
    ['minus', undefined, 2, -2],
    ['times', 19.99, 3, 59.97],
    ['times', 1.1, 1.1, 1.21],
    ['times', 1e21, 10, 1e22],
    ['times', 1e-7, 1e-7, 1e-14],
    ['times', 0, -5, 0],
    ['divided_by', 0.3, 0.1, 3],
    ['divided_by', 10, 4, 2.5],
    ['divided_by', 1, 3, 1 / 3],
    ['divided_by', 2e-300, 1e300, 0],
    ['divided_by', -7, 2, -3.5],
    ['modulo', 5.5, 0.1, 0],
    ['modulo', 24.5, 7, 3.5],
    ['modulo', -7, 3, 2],
    ['modulo', 7, -3, -2],
  ])('computes %s of %s and %s', (name, value, by, expected) => {
    expect(apply(name, value, by)).toBe(expected)
  })

  it('rounds a quotient down on request', () => {
    expect(apply('divided_by', 10, 4, true)).toBe(2)
    expect(apply('divided_by', -7, 2, true)).toBe(-4)
  })

  it('adds up', () => {
    expect(sumOf([0.1, '0.2', null, 0.3, 'x'])).toBe(0.6)
    expect(sumOf([])).toBe(0)
  })

  it.each([
    ['divided_by', 1, 0],
    ['divided_by', 0, 0],
    ['divided_by', 1, 'a'],
    ['modulo', 1, 0],
  ])('refuses %s of %s and %s', (name, value, by) => {
    expect(() => apply(name, value, by)).toThrow('divided by 0')
  })

  it.each([
    ['times', 1e308, 10],
    ['plus', '1e999', 1],
    ['divided_by', 1e308, 1e-308],
  ])('refuses a result that no number can hold: %s of %s and %s', (name, value, by) => {
    expect(() => apply(name, value, by)).toThrow('too large')
  })

  it('is exact for whole numbers and amounts, with quotients close to binary ones', () => {
    const int = fc.integer({ min: -1_000_000, max: 1_000_000 })
    fc.assert(
      fc.property(int, int, (a, b) => {
        expect(apply('plus', a, b)).toBe(a + b)
        expect(apply('times', a, b)).toBe(a * b + 0)
        // As cents and thousandths.
        expect(apply('minus', apply('plus', a / 100, b / 1000), b / 1000)).toBe(a / 100)
        if (b !== 0) expect(apply('divided_by', a / 100, b / 1000)).toBeCloseTo((a * 10) / b, 6)
      }),
    )
  })
})
