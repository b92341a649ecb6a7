import { describe, expect, it } from 'vitest'
import {
  bytesOfUlid,
  createIdSource,
  dayOfUlid,
  isId,
  isUlid,
  newId,
  newUlid,
  ulidAtTime,
  ulidOfBytes,
} from './ids.ts'

describe('ids', () => {
  it('are ULIDs that sort in the order of their creation', () => {
    const ids = Array.from({ length: 1000 }, () => newUlid())
    expect(ids.every(isUlid)).toBe(true)
    expect([...ids].sort()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('stay in order over a small step back of the clock, and follow a large one', () => {
    const day = Date.parse('2026-01-02T12:00:00Z')
    let now = day
    const ids = createIdSource(() => now)
    const first = ids.ulid()
    now -= 1_000
    const second = ids.ulid()
    expect(second > first).toBe(true)
    now = day + 20 * 86_400_000
    expect(dayOfUlid(ids.ulid())).toBe('2026-01-22')
    now = day + 1
    expect(dayOfUlid(ids.ulid())).toBe('2026-01-02')
  })

  it('stay in order and unique for very many at one time', () => {
    const [one, other] = [
      createIdSource(() => 1_764_000_000_000),
      createIdSource(() => 1_764_000_000_000),
    ]
    const ids = Array.from({ length: 50_000 }, () => one.ulid())
    expect(ids.every(isUlid)).toBe(true)
    expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? ''))).toBe(true)
    // Two processes at one moment have nothing in common but the time.
    const begins = new Set([one, other].map((source) => source.ulid().slice(10, 20)))
    expect(begins.size).toBe(2)
  })

  it('use every symbol at every random position', () => {
    let ms = 1_764_000_000_000
    const source = createIdSource(() => ms++)
    const ids = Array.from({ length: 4_000 }, () => source.ulid())
    const symbolsAt = (place: number) => new Set(ids.map((id) => id[place])).size
    expect(Array.from({ length: 10 }, (_, i) => symbolsAt(10 + i))).toEqual(Array(10).fill(32))
    // The first of those that are counted has 29 random bits behind it, so that there is room above.
    expect(Array.from({ length: 6 }, (_, i) => symbolsAt(20 + i))).toEqual([
      16,
      ...Array(5).fill(32),
    ])
  })

  it('carry their prefix', () => {
    expect(isId('wh', newId('wh'))).toBe(true)
    expect(isId('wh', newId('tn'))).toBe(false)
    expect(isId('wh', 'wh_01ARZ3NDEKTSV4RRFFQ69G5FA')).toBe(false)
    expect(isId('wh', 'wh_81ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe(false)
  })

  it('name the day of their creation', () => {
    expect(dayOfUlid('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe('2016-07-30')
    expect(dayOfUlid(newId('evt'))).toBe(new Date().toISOString().slice(0, 10))
  })
  it('ids of one time lie between the bounds of that time and the next', () => {
    const ms = Date.parse('2026-01-02T12:00:00Z')
    const id = createIdSource(() => ms).ulid()
    expect(isUlid(ulidAtTime(ms))).toBe(true)
    expect(id >= ulidAtTime(ms) && id < ulidAtTime(ms + 1)).toBe(true)
  })

  it('are 128 bits, and convert to bytes and back', () => {
    for (const ulid of ['00000000000000000000000000', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', newUlid()])
      expect(ulidOfBytes(bytesOfUlid(ulid))).toBe(ulid)
    // The time is the first six bytes.
    const ms = Date.parse('2026-01-02T12:00:00Z')
    expect(bytesOfUlid(ulidAtTime(ms)).readUIntBE(0, 6)).toBe(ms)
    expect(() => bytesOfUlid('8ZZZZZZZZZZZZZZZZZZZZZZZZZ')).toThrow(RangeError)
    expect(() => ulidOfBytes(Buffer.alloc(15))).toThrow(RangeError)
  })
})
