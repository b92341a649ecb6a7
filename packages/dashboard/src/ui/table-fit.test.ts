import { expect, it } from 'vitest'
import { narrowQuery } from './table-fit.ts'

it('makes blocks of the rows of a table with few columns on a phone alone', () => {
  const columns = [{ isTitle: true }, { width: '120px' }, { width: 'minmax(0, 2fr)' }]
  expect(narrowQuery(columns)).toBe('(max-width: 760px)')
})

it('makes blocks wherever a column would have no room, also beside the navigation', () => {
  const columns = [
    { isTitle: true },
    ...['150px', '130px', '130px', 'minmax(72px, 110px)'].map((width) => ({ width })),
    { width: 'minmax(0, 1fr)', isMinor: true },
  ]
  // 140 + 150 + 130 + 130 + 72, four gaps and the edges; with the minor one 88 more.
  expect(narrowQuery(columns)).toBe(
    '(max-width: 776px), (min-width: 1001px) and (max-width: 1096px)',
  )
})

it('asks for no more than a page without navigation has', () => {
  const columns = Array.from({ length: 9 }, () => ({ width: '120px' }))
  expect(narrowQuery(columns)).toMatch(/^\(max-width: 1000px\)/)
})
