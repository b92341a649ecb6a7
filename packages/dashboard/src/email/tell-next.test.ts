import { describe, expect, it } from 'vitest'
import { createFormat } from '../words/format.ts'
import type { NextStep } from './next-step.ts'
import { tellNext } from './tell-next.ts'
import { words } from './words.ts'

const now = new Date('2030-01-02T12:00:00Z')
const inAnHour = '2030-01-02T13:00:00Z'
const tell = (step: NextStep, language: 'en' | 'de' = 'en') =>
  tellNext(step, {
    ...{ text: words[language].next, format: createFormat(language), now },
    nameOf: (mailerId) => (mailerId === 'smtp_1' ? 'News' : mailerId),
  })

describe('tellNext', () => {
  it('says when the next attempt is, and which of how many', () => {
    const again = { kind: 'again', attempt: 2, maxAttempts: 5, at: inAnHour, reason: '' } as const
    const sentence = tell({ ...again, isDue: false })
    expect(sentence).toContain('in 1 hour')
    expect(sentence).toMatch(/2\D+5/)
    expect(tell({ ...again, isDue: false }, 'de')).toContain('in 1 Stunde')
    expect(tell({ ...again, isDue: true })).not.toContain('in 1 hour')
  })

  it('names the mailer for which mail is held', () => {
    const held = { kind: 'held', expiresAt: undefined } as const
    expect(tell({ ...held, mailerId: 'smtp_1' })).toContain('until the mailer News is active')
    expect(tell({ ...held, mailerId: undefined })).toContain('until its mailer is active')
  })

  it('says of a delivery at which attempt it was, unless it was the first', () => {
    const delivered = { kind: 'delivered', at: inAnHour } as const
    expect(tell({ ...delivered, attempt: 1 })).toBe(words.en.next.delivered)
    expect(tell({ ...delivered, attempt: 3 })).toContain('at attempt 3')
  })
})
