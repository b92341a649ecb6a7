import { expect, it } from 'vitest'
import { createCopyMemory } from './memory.ts'

it('has room up to its bytes, and for what is larger by itself', () => {
  const memory = createCopyMemory(100)
  const first = memory.take(60)
  const second = memory.take(40)
  expect(memory.take(1)).toBeUndefined()
  first?.()
  expect(memory.take(61)).toBeUndefined()
  second?.()
  const large = memory.take(1_000)
  expect(large).toBeDefined()
  expect(memory.take(1)).toBeUndefined()
  large?.()
  expect(memory.take(1)).toBeDefined()
})
