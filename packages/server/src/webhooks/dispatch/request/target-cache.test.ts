import { describe, expect, it } from 'vitest'
import { createTargetCache, type OpenTarget } from './target-cache.ts'

const key = { tenantId: 'tn_a', webhookId: 'wh_1' }
const target = { url: 'https://hooks.example.test/', headersSealed: 'v1.k1.a' }
const mask = { octets: 0, hide: (text: string) => text }
const opened = () => ({ url: new URL(target.url), before: [], after: [], names: [], mask })

describe('a cached request target', () => {
  it('is made once, and anew for another URL, other headers or another tenant', () => {
    const cache = createTargetCache()
    let made = 0
    const get = (k = key, t = target) =>
      cache.get(k, t, () => {
        made += 1
        return opened()
      })
    expect(get()).toBe(get())
    expect(made).toBe(1)
    get(key, { ...target, url: 'https://hooks.example.test/new' })
    get(key, { ...target, headersSealed: 'v1.k1.b' })
    get({ ...key, tenantId: 'tn_b' })
    get()
    expect(made).toBe(5)
  })

  it('is not cached when it could not be made', () => {
    const cache = createTargetCache()
    const fail = () => {
      throw new Error('no key')
    }
    expect(() => cache.get(key, target, fail)).toThrow('no key')
    const good = opened()
    expect(cache.get(key, target, () => good)).toBe(good)
  })

  it('is evicted when it was used longest ago', () => {
    const cache = createTargetCache()
    const first = opened()
    const second = opened()
    cache.get({ ...key, webhookId: 'wh_a' }, target, () => first)
    cache.get({ ...key, webhookId: 'wh_b' }, target, () => second)
    for (let i = 0; i < 4_999; i += 1) {
      cache.get({ ...key, webhookId: `wh_${i}` }, target, opened)
      cache.get({ ...key, webhookId: 'wh_a' }, target, opened)
    }
    expect(cache.get({ ...key, webhookId: 'wh_a' }, target, opened)).toBe(first)
    expect(cache.get({ ...key, webhookId: 'wh_b' }, target, opened)).not.toBe(second)
  })

  it.each<[string, () => OpenTarget]>([
    ['the mask of header values', () => ({ ...opened(), mask: { ...mask, octets: 40_000 } })],
    ['headers', () => ({ ...opened(), after: [['X-Large', 'x'.repeat(40_000)]] })],
  ])('counts its size towards the bound: %s', (_, open) => {
    const cache = createTargetCache(100_000)
    const first = open()
    cache.get({ ...key, webhookId: 'wh_a' }, target, () => first)
    cache.get({ ...key, webhookId: 'wh_b' }, target, open)
    expect(cache.get({ ...key, webhookId: 'wh_a' }, target, open)).toBe(first)
    // In the place of the other one, which was used longer ago.
    cache.get({ ...key, webhookId: 'wh_c' }, target, open)
    expect(cache.get({ ...key, webhookId: 'wh_a' }, target, open)).toBe(first)
    const again = open()
    expect(cache.get({ ...key, webhookId: 'wh_b' }, target, () => again)).toBe(again)
  })
})
