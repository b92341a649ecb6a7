import { failedReasonOf } from '@postrider/mail'
import { describe, expect, it, vi } from 'vitest'
import { groupedReason, groupsOfAddress, groupsOfRecipient, withReason } from './counter-groups.ts'

describe('groups of a recipient', () => {
  it('are its domain in wire form, and its campaign where there is one', () => {
    expect(groupsOfAddress('Ada@Example.COM', null)).toEqual({ recipient_domain: 'example.com' })
    expect(groupsOfRecipient('ada@Bücher.example', 'spring')).toEqual({
      recipient_domain: 'xn--bcher-kva.example',
      campaign_id: 'spring',
    })
  })

  it('have the reason of a failure alone', () => {
    expect(withReason({ recipient_domain: 'a.example' }, '')).toEqual({
      groups: { recipient_domain: 'a.example' },
    })
    expect(withReason(undefined, '')).toEqual({})
    expect(withReason(undefined, 'no')).toEqual({ groups: { failed_reason: 'no' } })
  })
})

describe('the reason of a failure', () => {
  it.each(['mailbox_full', 'auth_rejected', 'network', 'expired'] as const)(
    'stays the stable sentence of %s',
    (category) => {
      expect(groupedReason(failedReasonOf(category))).toBe(failedReasonOf(category))
    },
  )

  it.each([
    ['550 5.1.1 <ada@example.com> unknown', '550 5.1.1 <address> unknown'],
    ['451 4.7.1 try later, id 7f3a-99/x1', '451 4.7.1 try later, id #'],
    ['550 see https://example.com/?q=12 (203.0.113.9)', '550 see https://example.com/?# (#)'],
    ['550 5.7.606 Access denied', '550 5.7.606 Access denied'],
  ])('of %j is %j, without addresses and ids', (text, key) => {
    expect(groupedReason(text)).toBe(key)
  })

  it('takes a number of steps in proportion to its length, whatever a server says', () => {
    const replacing = vi.spyOn(String.prototype, 'replace')
    const testing = vi.spyOn(RegExp.prototype, 'test')
    const [patterns, chars] = [new Set<string>(), { read: 0 }]
    try {
      for (const text of [
        '1'.repeat(200),
        'a1 '.repeat(66),
        `${'x'.repeat(199)}@`,
        '@1'.repeat(99),
      ])
        groupedReason(text)
      for (const [at, [pattern]] of replacing.mock.calls.entries()) {
        patterns.add((pattern as RegExp).source)
        chars.read += String(replacing.mock.contexts[at]).length
      }
      for (const [at, [text]] of testing.mock.calls.entries()) {
        patterns.add((testing.mock.contexts[at] as RegExp).source)
        chars.read += text.length
      }
    } finally {
      vi.restoreAllMocks()
    }
    // Five times over all of it, at most; and an expression of one repeated class reads no character twice.
    expect(chars.read).toBeGreaterThan(4 * 199)
    expect(chars.read).toBeLessThanOrEqual(4 * 200 * 5)
    const ofBoundedLength = '^(?:\\d{3}|\\d\\.\\d{1,3}\\.\\d{1,3})$'
    for (const source of patterns)
      if (source !== ofBoundedLength) expect(source).toMatch(/^(?:\\\w|\[[^\]]+\])\+?$/)
  })

  it('is short, whatever a server says', () => {
    expect(groupedReason('a'.repeat(1_000_000)).length).toBe(200)
    expect(groupedReason('@'.repeat(1_000_000))).toBe('<address>')
  })
})
