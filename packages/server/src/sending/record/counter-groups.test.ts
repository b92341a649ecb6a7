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
    expect(withReason({ recipient_domain: 'a.example' }, '', '')).toEqual({
      groups: { recipient_domain: 'a.example' },
    })
    expect(withReason(undefined, '', '')).toEqual({})
    expect(withReason(undefined, 'no', '')).toEqual({ groups: { failed_reason: 'no' } })
    expect(withReason(undefined, 'no ada', 'ada@a.example')).toEqual({
      groups: { failed_reason: 'no <address>' },
    })
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

  it.each([
    ['"maria mustermann"@example.org unknown', '<address> unknown'],
    ['554 <"maria \\"m\\" mustermann"@example.org> no', '554 <address> no'],
    ['554 {\\"maria mustermann\\"@example.org} no', '554 <address> no'],
    ['the "outer policy" of mx@example.org', 'the "outer policy" of <address>'],
    ['" @', '" <address>'],
    ['"@', '<address>'],
  ])('of %j is %j, without quoted local parts', (text, group) => {
    expect(groupedReason(text)).toBe(group)
  })

  it.each([
    ['user maria.mustermann unknown', 'maria.mustermann@example.org', 'user <address> unknown'],
    ['No MARIA.M99, sorry', 'maria.m99@example.org', 'No <address>, sorry'],
    ['no maria m here', '"Maria M"@example.org', 'no <address> here'],
    ['xa.a.a', 'a.a@example.org', 'xa.<address>'],
    ['no box of ann at Annaberg', 'ann@example.org', 'no box of <address> at Annaberg'],
    // Of ordinary words, short ones, and what is not that person's, the reason's meaning stays.
    ['user unknown', 'user@example.org', 'user unknown'],
    ['do not go', 'do@example.org', 'do not go'],
    ['user maria unknown', 'ada@example.org', 'user maria unknown'],
    [failedReasonOf('mailbox_full'), 'full@example.org', failedReasonOf('mailbox_full')],
    ['no maria', 'no address', 'no maria'],
  ])('of %j to %s is %j', (text, email, group) => {
    expect(groupedReason(text, email)).toBe(group)
  })

  it('has no part of an address, wherever one is cut', () => {
    const addresses = ['<maria.mustermann@example.org>', '"maria mustermann"@example.org']
    for (const address of addresses)
      for (const before of ['', 'Ada.Lovelace@example.org '.repeat(19)])
        for (let chars = 0; chars < 530; chars++)
          for (const blank of ['x', ' ']) {
            const text = `554 ${before}${blank.repeat(chars)} ${address} ${'x'.repeat(520)}`
            expect(groupedReason(text)).not.toMatch(/mar|must/)
          }
    const text = `554 ${'x'.repeat(173)} rejected <maria.mustermann@example.org>`
    expect(groupedReason(text)).toBe(`554 ${'x'.repeat(173)} rejected <address>`)
    const own = `${'x '.repeat(243)} maria.mustermann unknown`
    expect(groupedReason(own, 'maria.mustermann@example.org')).not.toContain('maria')
  })

  it('takes a number of steps in proportion to its length, whatever a server says', () => {
    const replacing = vi.spyOn(String.prototype, 'replace')
    const testing = vi.spyOn(RegExp.prototype, 'test')
    const [patterns, chars] = [new Set<string>(), { read: 0 }]
    try {
      for (const text of [
        '1 '.repeat(10_000),
        'a1 '.repeat(7_000),
        `${'x '.repeat(200)}@${' x'.repeat(10_000)}`,
        '@1 '.repeat(7_000),
        '" '.repeat(10_000),
        '"@ '.repeat(7_000),
        '\\"@ '.repeat(5_000),
        'ada '.repeat(5_000),
      ])
        groupedReason(text, 'ada@example.com')
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
    // Five times over what is read of it, at most; and an expression of one class reads no character twice.
    expect(chars.read).toBeGreaterThan(8 * 200)
    expect(chars.read).toBeLessThanOrEqual(8 * 500 * 5)
    const ofBoundedLength = '^(?:\\d{3}|\\d\\.\\d{1,3}\\.\\d{1,3})$'
    for (const source of patterns)
      if (source !== ofBoundedLength) expect(source).toMatch(/^(?:\\\w|\[[^\]]+\])\+?$/)
  })

  it('is short, whatever a server says', () => {
    expect(groupedReason('a'.repeat(400))).toBe('a'.repeat(200))
    expect(groupedReason('no '.repeat(400_000))).toBe('no '.repeat(67).trim())
    expect(groupedReason('a'.repeat(1_000_000))).toBe('…')
    expect(groupedReason('@'.repeat(1_000_000))).toBe('…')
    expect(groupedReason('"'.repeat(1_000_000))).toBe('…')
  })
})
