import { expect, it } from 'vitest'
import { readSystemSearch } from './system-tabs.ts'

it('reads the part and what is looked for, and drops what it does not know', () => {
  expect(readSystemSearch({ tab: 'storage', find: 25 })).toEqual({ tab: 'storage', find: '25' })
  expect(readSystemSearch({ tab: 'secrets', find: '', other: 1 })).toEqual({})
})
