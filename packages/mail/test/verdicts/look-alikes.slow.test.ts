/** Every sentence that sounds like an unknown recipient, in every form of a bounce: 60,000 messages. */
import { expect, it } from 'vitest'
import { forms } from './bounce-forms.ts'
import { lookAlikes, suppresses } from './look-alikes.ts'

it.each(Object.keys(forms))('suppresses nobody in a bounce in the style of %s', (form) => {
  expect(lookAlikes.filter((line) => suppresses(form, line))).toEqual([])
})
