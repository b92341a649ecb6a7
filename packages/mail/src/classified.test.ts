import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifiedOf, classifierOf } from './classified.ts'
import { classifyFailure } from './classify-reply.ts'
import { FAILURES } from './failure-category.ts'
import { REPLY_CASES } from './reply-cases.fixture.ts'

const read = (text: string) => {
  const { category, providerError } = classifyFailure({
    reply: { code: Number(text.slice(0, 3)), text },
  })
  return classifiedOf(category, providerError)
}

describe('the evidence of a category', () => {
  it.each([
    ['550 5.1.1 no such user', 'invalid_recipient', 'enhanced_code', '5.1.1'],
    ['552 5.2.2 Account is over its share', 'mailbox_full', 'enhanced_code', '5.2.2'],
    ['550 no such user', 'invalid_recipient', 'words', 'no such'],
    ['551 ada@example.com is elsewhere', 'invalid_recipient', 'reply_code', '551'],
    ['554 Sorry', 'unknown', 'reply_code', '554'],
    ['421 Later', 'temporary', 'words', 'later'],
  ])('is found: %s', (text, category, by, evidence) => {
    expect(read(text)).toEqual({ category, by, evidence })
  })

  it('is the code or the words of the reply, for every known reply', () => {
    for (const [text, category] of REPLY_CASES) {
      const { by, evidence, ...found } = classifiedOf(category, text.replaceAll('\n', ' '))
      expect([text, found]).toEqual([text, { category }])
      if (by === 'words') expect(evidence).not.toBe('')
      else expect([text, text.includes(evidence)]).toEqual([text, true])
    }
  })

  it('is the system error without a reply, and empty without an error', () => {
    expect(classifiedOf('network', 'connect ECONNREFUSED')).toEqual({
      category: 'network',
      by: 'words',
      evidence: 'connect econnrefused',
    })
    expect(classifiedOf('expired', '')).toEqual({ category: 'expired', by: 'words', evidence: '' })
  })

  it('has the category unknown when only an earlier version knew its category', () => {
    expect(classifiedOf('gone_since', '550 Sorry')).toMatchObject({ category: 'unknown' })
  })

  it('is bounded, and fit for JSON, for any stored text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(FAILURES)),
        fc.string({ unit: 'binary', maxLength: 3_000 }),
        (category, text) => {
          const { evidence } = classifiedOf(category, text)
          expect(evidence.length).toBeLessThanOrEqual(200)
          expect(evidence.isWellFormed()).toBe(true)
        },
      ),
    )
  })
})

it('reads a bounded number of replies, and only the codes of the others', () => {
  const classify = classifierOf(2)
  const texts = [
    '550 Sorry, no such user a',
    '550 Sorry, no such user b',
    '550 Sorry, no such user c',
    '550 5.1.1 d',
  ]
  expect(texts.map((text) => classify('invalid_recipient', text).by)).toEqual([
    'words',
    'words',
    'reply_code',
    'enhanced_code',
  ])
  expect(classify('invalid_recipient', '550 Sorry, no such user a').by).toBe('words')
  expect(classify('invalid_recipient', '550 Sorry, no such user c').by).toBe('reply_code')
})
