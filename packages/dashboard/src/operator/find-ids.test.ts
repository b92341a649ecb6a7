import { expect, it } from 'vitest'
import { findIds } from './find-ids.ts'

const tenant = 'tn_01M857QTT85JNMRMBZK7FQ7XYX'
const mailer = 'smtp_01M857QV6P3F0ME8P2QB5RMC0P'

it('finds ids between other words, and keeps all of the text', () => {
  const text = `mail of ${mailer} of ${tenant}, waits`
  expect(findIds(text)).toEqual([
    { text: 'mail of ', isId: false },
    { text: mailer, isId: true },
    { text: ' of ', isId: false },
    { text: tenant, isId: true },
    { text: ', waits', isId: false },
  ])
})

it('takes nothing else for an id', () => {
  const text = `PUBLIC_URL send_queue ${tenant}X tn_01m857qtt85jnmrmbzk7fq7xyx`
  expect(findIds(text)).toEqual([{ text, isId: false }])
  expect(findIds('')).toEqual([])
})
