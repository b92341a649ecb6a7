/**
 * Every sentence that sounds like an unknown recipient, in every form of a bounce: 60,000 messages, of which
 * `npm test` tries a fifth.
 */
import { casesOf } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { forms } from './bounce-forms.ts'
import { lookAlikes, suppresses } from './look-alikes.ts'

const FORMS_EACH = casesOf(5, 1)

it.each(Object.keys(forms).map((form, n) => ({ form, n })))(
  'suppresses nobody in a bounce in the style of $form',
  ({ form, n }) => {
    const some = lookAlikes.filter((_, i) => (i + n) % FORMS_EACH === 0)
    expect(some.filter((line) => suppresses(form, line))).toEqual([])
  },
)
