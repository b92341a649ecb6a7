import { expect, it } from 'vitest'
import { fitQueries } from './table-fit.ts'

it('makes blocks of the rows of a table with few columns on a phone alone', () => {
  const columns = [{ isTitle: true }, { width: '120px' }, { width: 'minmax(0, 2fr)' }]
  expect(fitQueries(columns).narrow).toBe('(max-width: 760px)')
})

it('leaves minor columns out first, also beside the navigation', () => {
  const columns = [
    { isTitle: true },
    ...['150px', '130px', '130px', 'minmax(72px, 110px)'].map((width) => ({ width })),
    { width: 'minmax(0, 1fr)', isMinor: true },
  ]
  // 100 + 150 + 130 + 130 + 110, four gaps and the edges; with the minor one, which has an equal share, 116 more.
  expect(fitQueries(columns)).toEqual({
    narrow: '(max-width: 774px), (min-width: 1001px) and (max-width: 1006px)',
    minor: '(max-width: 890px), (min-width: 1001px) and (max-width: 1122px)',
  })
})

it('counts what the shares of all columns make of the least of one', () => {
  const columns = [
    { width: 'minmax(0, 1fr)', isTitle: true },
    { width: 'minmax(0, 2fr)' },
    { width: 'minmax(300px, 348px)' },
    { width: 'minmax(40px, 0.5fr)' },
  ]
  // 100 for one share of 3.5, 348, three gaps and the edges.
  expect(fitQueries(columns).narrow).toMatch(/^\(max-width: 836px\)/)
})

it('asks for no more than a page without navigation has', () => {
  const columns = Array.from({ length: 9 }, () => ({ width: '120px' }))
  expect(fitQueries(columns).narrow).toMatch(/^\(max-width: 1000px\)/)
})
