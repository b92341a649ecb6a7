import { expect, it } from 'vitest'
import { isSameSearch, readViews, savedViewsMax, withView } from './saved-views.ts'

it('reads back what was stored', () => {
  const views = [{ name: 'Late', search: { status: 'deferred', last: '24h' } as const }]
  expect(readViews(JSON.stringify(views))).toEqual(views)
})

it('reads nothing from what is no list of views', () => {
  for (const stored of [undefined, '', '{', '7', '{"name":"a"}', '[null, 3, {"name":""}]'])
    expect(readViews(stored)).toEqual([])
})

it('leaves out of a view what no address may hold', () => {
  const stored = JSON.stringify([{ name: 'x', search: { status: 'lost', q: 'a', evil: 1 } }])
  expect(readViews(stored)).toEqual([{ name: 'x', search: { q: 'a' } }])
})

it('replaces a view of the same name, and keeps the newest', () => {
  const many = Array.from({ length: savedViewsMax }, (_, i) => ({ name: `${i}`, search: {} }))
  const replaced = withView(many, { name: '0', search: { q: 'a' } })
  expect(replaced).toHaveLength(savedViewsMax)
  expect(replaced.at(-1)).toEqual({ name: '0', search: { q: 'a' } })
  const more = withView(many, { name: 'new', search: {} })
  expect(more).toHaveLength(savedViewsMax)
  expect(more.map(({ name }) => name)).not.toContain('0')
})

it('compares searches whatever the order of their parts', () => {
  expect(isSameSearch({ q: 'a', status: 'failed' }, { status: 'failed', q: 'a' })).toBe(true)
  expect(isSameSearch({ q: 'a' }, { q: 'a', status: 'failed' })).toBe(false)
})
