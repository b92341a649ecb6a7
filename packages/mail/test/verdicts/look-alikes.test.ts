/** Sentences that sound like "no such user" and are about something else: none may suppress an address. */
import { describe, expect, it } from 'vitest'
import { judgeBounce } from '../../src/judge-bounce.ts'
import { forms } from './bounce-forms.ts'
import { RECIPIENT } from './build-bounce.ts'
import { lookAlikes as lines, suppresses } from './look-alikes.ts'

/** Each sentence is tried in one form of so many here, and in every form by look-alikes.slow.test.ts. */
const FORMS_EACH = 16

describe('replies that sound like an unknown recipient and are about something else', () => {
  it('are many, and none is there twice', () => {
    expect(lines.length).toBeGreaterThan(780)
    expect(new Set(lines).size).toBe(lines.length)
  })

  it('suppress nobody', () => {
    const wrong = lines.filter(
      (diagnostic) =>
        judgeBounce({ recipient: RECIPIENT, status: undefined, diagnostic }).isOfAddress,
    )
    expect(wrong).toEqual([])
  })

  it('suppress nobody where a code says no more than that it failed', () => {
    const wrong = lines.filter(
      (diagnostic) =>
        judgeBounce({ recipient: RECIPIENT, status: '5.0.0', diagnostic }).isOfAddress,
    )
    expect(wrong).toEqual([])
  })

  it.each(Object.keys(forms).map((form, n) => ({ form, n })))(
    'suppress nobody in a bounce in the style of $form',
    ({ form, n }) => {
      const some = lines.filter((_, i) => (i + n) % FORMS_EACH === 0)
      expect(some.filter((line) => suppresses(form, line))).toEqual([])
    },
  )
})
