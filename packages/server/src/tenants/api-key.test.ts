import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashApiKey, isSoundApiKey, newApiKey } from './api-key.ts'

describe('an API key', () => {
  it('[contract 2] consists of pr_, 32 bytes in base62 and a checksum', () => {
    expect(newApiKey()).toMatch(/^pr_[0-9A-Za-z]{49}$/)
    expect(newApiKey('test')).toMatch(/^pr_test_[0-9A-Za-z]{49}$/)
    expect(newApiKey()).not.toBe(newApiKey())
  })

  it('has the same length for all bytes, and its own checksum', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const key = newApiKey('live', () => Buffer.from(bytes))
        expect(key).toHaveLength(52)
        expect(isSoundApiKey(key)).toBe(true)
      }),
    )
    expect(newApiKey('live', () => Buffer.alloc(32, 255))).toHaveLength(52)
    expect(newApiKey('live', () => Buffer.alloc(32))).toMatch(/^pr_0{43}/)
  })

  it('differs for different secrets', () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        const [first, second] = [a, b].map((x) => newApiKey('live', () => Buffer.from(x)))
        expect(first === second).toBe(Buffer.compare(a, b) === 0)
      }),
    )
  })

  it('is invalid with any character changed, or two of them swapped', () => {
    const key = newApiKey()
    for (let at = 3; at < key.length; at++) {
      const other = key[at] === 'x' ? 'y' : 'x'
      expect(isSoundApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
      const next = key[at + 1]
      if (next === undefined || next === key[at]) continue
      const swapped = key.slice(0, at) + next + key[at] + key.slice(at + 2)
      expect(isSoundApiKey(swapped)).toBe(false)
    }
  })

  it('is stored as its SHA-256', () => {
    expect(hashApiKey('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })
})
