import { failedReasonOf } from '@postrider/mail'
import { describe, expect, it } from 'vitest'
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

  it('is short, and read in no time, whatever a server says', () => {
    expect(groupedReason('a'.repeat(1_000_000)).length).toBe(200)
    expect(groupedReason('@'.repeat(1_000_000))).toBe('<address>')
  })
})
