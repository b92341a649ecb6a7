import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hideAddresses } from './hide-addresses.ts'

const RECIPIENT = 'ada.lovelace@example.com'

describe('the text of a reply in the log', () => {
  it.each([
    ['550 5.1.1 <ada.lovelace@example.com>: unknown', '550 5.1.1 <…@example.com>: unknown'],
    ['550 mailbox ADA.Lovelace unavailable', '550 mailbox … unavailable'],
    ['450 see bob@example.net, eve@example.net', '450 see …@example.net, …@example.net'],
    ['550 "two words"@example.com: no', '550 …@example.com: no'],
    ['550 bounces+ada=example.com@example.net', '550 …@example.net'],
    ['550 user%host@relay.test', '550 …@relay.test'],
    ['421\tTry\r\nagain  later', '421 Try again later'],
    ['550 @', '550 …@'],
    ['', ''],
  ])('turns %j into %j', (text, logged) => {
    expect(hideAddresses(text, RECIPIENT)).toBe(logged)
  })

  it('keeps ordinary words when the local part is very short', () => {
    expect(hideAddresses('550 a mailbox', 'a@example.com')).toBe('550 a mailbox')
  })

  it('treats special characters in a local part literally', () => {
    expect(hideAddresses('550 x.*(y unknown', 'x.*(y@example.com')).toBe('550 … unknown')
    for (const local of ['a-b/c', 'a{2}b', '[a]|b', 'a\\b', 'a^$b'])
      expect(hideAddresses(`550 ${local} unknown`, `${local}@example.com`)).toBe('550 … unknown')
  })

  it('hides an address where the text is cut', () => {
    const text = `550 ${'x '.repeat(995)}ada.lovelace@example.com`
    expect(hideAddresses(text, RECIPIENT)).not.toContain('ada')
    expect(hideAddresses(`${'y'.repeat(1_995)}ada.lovelace@example.com`, RECIPIENT)).toBe('…')
  })

  it('is bounded, and never shows the local part, whatever surrounds it', () => {
    const noise = fc.string({ unit: fc.constantFrom('@', '"', '<', '>', ' ', 'x', '.', 'é') })
    fc.assert(
      fc.property(noise, noise, fc.boolean(), (before, after, isWhole) => {
        const address = isWhole ? RECIPIENT : 'ada.lovelace'
        const logged = hideAddresses(`${before} ${address} ${after}`, RECIPIENT)
        return logged.length <= 501 && !logged.includes('lovelace')
      }),
      { seed: 15 },
    )
  })

  it('takes CPU time linear in the length of a hostile reply', () => {
    for (const unit of ['@', '"', 'a', '"@', '<a', 'a@']) {
      const before = process.cpuUsage()
      for (let i = 0; i < 20; i++) hideAddresses(unit.repeat(500_000), RECIPIENT)
      const { user } = process.cpuUsage(before)
      expect({ unit, isBounded: user < 2_000_000 }).toEqual({ unit, isBounded: true })
    }
  })
})
