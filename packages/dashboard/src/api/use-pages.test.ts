import { describe, expect, it } from 'vitest'
import { isFruitless } from './use-pages.ts'

const empty = (pages: number) => Array<number>(pages).fill(0)

describe('a list that is followed page after page', () => {
  it('stops after 20 pages without an entry, and after another 20', () => {
    const stops = Array.from({ length: 61 }, (_, pages) => pages).filter((pages) =>
      isFruitless(empty(pages)),
    )
    expect(stops).toEqual([20, 40, 60])
  })

  it('counts from the last page that had one', () => {
    expect(isFruitless([...empty(19), 1])).toBe(false)
    expect(isFruitless([...empty(19), 1, 0])).toBe(false)
    expect(isFruitless([50, ...empty(20)])).toBe(true)
    expect(isFruitless([50, 50])).toBe(false)
  })
})
