import { describe, expect, it } from 'vitest'
import { dayOfUlid, isId, isUlid, newId, newUlid } from './ids.ts'

describe('ids', () => {
  it('are ULIDs that sort in the order in which they were made', () => {
    const ids = Array.from({ length: 1000 }, () => newUlid())
    expect(ids.every(isUlid)).toBe(true)
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('carry their prefix', () => {
    expect(isId('wh', newId('wh'))).toBe(true)
    expect(isId('wh', newId('tn'))).toBe(false)
    expect(isId('wh', 'wh_01ARZ3NDEKTSV4RRFFQ69G5FA')).toBe(false)
    expect(isId('wh', 'wh_81ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(false)
  })

  it('name the day in which they were made', () => {
    expect(dayOfUlid('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe('2016-07-30')
    expect(dayOfUlid(newId('evt'))).toBe(new Date().toISOString().slice(0, 10))
  })
})
