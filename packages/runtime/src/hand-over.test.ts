import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createHandOver } from './hand-over.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const create = () => createHandOver<string>({ bytesMax: 10, keptMs: 1_000 })

it('hands a value over once', () => {
  const handOver = create()
  handOver.put('a', 'first', 1)
  expect(handOver.take('b')).toBeUndefined()
  expect(handOver.take('a')).toBe('first')
  expect(handOver.take('a')).toBeUndefined()
})

it('keeps so many bytes, and of more what came first', () => {
  const handOver = create()
  handOver.put('a', 'first', 6)
  handOver.put('b', 'second', 5)
  handOver.put('c', 'third', 4)
  expect(handOver.take('b')).toBeUndefined()
  expect(handOver.take('a')).toBe('first')
  handOver.put('d', 'fourth', 6)
  expect([handOver.take('c'), handOver.take('d')]).toEqual(['third', 'fourth'])
})

it('drops each value when its time is over, with one timer for all', () => {
  const handOver = create()
  handOver.put('a', 'first', 5)
  vi.advanceTimersByTime(600)
  handOver.put('b', 'second', 5)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(400)
  expect(handOver.take('a')).toBeUndefined()
  vi.advanceTimersByTime(599)
  handOver.put('c', 'third', 5)
  vi.advanceTimersByTime(1)
  expect([handOver.take('b'), handOver.take('c')]).toEqual([undefined, 'third'])
  vi.advanceTimersByTime(1_000)
  expect(vi.getTimerCount()).toBe(0)
  handOver.put('d', 'fourth', 10)
  vi.advanceTimersByTime(1_000)
  handOver.put('e', 'fifth', 10)
  expect(handOver.take('e')).toBe('fifth')
})
