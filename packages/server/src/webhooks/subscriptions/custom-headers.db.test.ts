import { reservedWebhookHeaders } from '@postrider/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { testKeyRing } from '../../../test/webhook-api.ts'
import { ApiError } from '../../platform/errors.ts'
import { checkHeaders, openHeaders, sealHeaders } from './custom-headers.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const owner = { tenantId: 'tn_a', webhookId: 'wh_1' }

function problems(headers: Record<string, string>): string[] {
  try {
    checkHeaders(headers)
    return []
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.errors?.map((one) => one.path) ?? []
  }
}

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.stringMatching(TOKEN),
  fc.constantFrom(...reservedWebhookHeaders, 'HOST', 'Proxy-X', 'X-A', 'x-a'),
)
const value = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme-ascii' }))

describe('custom headers', () => {
  it('can be sent as they are when accepted: tokens, printable ASCII, no reserved or double name', () => {
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        if (problems(headers).length > 0) return
        const names = Object.keys(headers)
        const lower = names.map((one) => one.toLowerCase())
        expect(names.every((one) => TOKEN.test(one))).toBe(true)
        expect(new Set(lower).size).toBe(names.length)
        for (const one of lower) {
          expect(reservedWebhookHeaders).not.toContain(one)
          expect(one.startsWith('proxy-')).toBe(false)
        }
        for (const text of Object.values(headers)) {
          expect(text).toMatch(/^[\t\x20-\x7e]*$/)
          expect(text.trim()).toBe(text)
        }
      }),
    )
  })

  it('are accepted when they are valid', () => {
    const good = fc
      .stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,60}$/)
      .filter((one) => !reservedWebhookHeaders.some((r) => r === one.toLowerCase()))
      .filter((one) => !/^proxy-/i.test(one))
    const text = fc.stringMatching(/^[\x21-\x7e]([\t\x20-\x7e]{0,40}[\x21-\x7e])?$/)
    fc.assert(fc.property(good, text, (key, held) => problems({ [key]: held }).length === 0))
  })

  it('are refused by their path, escaped as in RFC 6901', () => {
    expect(problems({ 'a/b': 'x', 'c~d': 'x', Host: 'x', 'e f~/': 'x', ok: 'x' })).toEqual([
      '/headers/a~1b',
      '/headers/Host',
      '/headers/e f~0~1',
    ])
  })

  it('custom headers of an inbound configuration are refused under its path', () => {
    expect(() => checkHeaders({ Host: 'x' }, { at: '/webhook' })).toThrow(
      expect.objectContaining({
        errors: [{ path: '/webhook/headers/Host', message: 'is a reserved header name' }],
      }),
    )
  })

  it('[contract 4] have values of at most 4 KiB, and bounded names', () => {
    const name = 'X'.repeat(256)
    expect(problems({ 'X-A': 'x'.repeat(4096), [name]: 'x'.repeat(4096) })).toEqual([])
    expect(problems({ 'X-A': 'x'.repeat(4097) })).toEqual(['/headers/X-A'])
    expect(problems({ [`${name}X`]: 'x' })).toEqual([`/headers/${'X'.repeat(100)}…`])
  })

  it('are unsealed in their order and spelling, and only for their webhook', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (headers) => {
        const sealed = sealHeaders(testKeyRing, owner, headers)
        expect(openHeaders(testKeyRing, owner, sealed)).toEqual(headers)
        const other = { ...owner, webhookId: 'wh_2' }
        expect(() => openHeaders(testKeyRing, other, sealed)).toThrow(/cannot be opened/)
      }),
    )
  })
})
