import { describe, expect, it } from 'vitest'
import { expectedQuestions, withWalks } from './expected-questions.ts'

const namesOf = (o: Partial<Parameters<typeof expectedQuestions>[0]>) =>
  expectedQuestions({ senderDomain: undefined, author: '', headers: [], ...o }).map(
    ({ name }) => name,
  )

describe('the first questions of a message', () => {
  it('are about its sender, its signatures, and the policy of its author', () => {
    const headers = [
      { name: 'DKIM-Signature', value: 'v=1; D=signer.test; h=from;\ts=k1 ; b=x' },
      { name: 'ARC-Seal', value: 'i=1; s=k2; d=list.test' },
      { name: 'Subject', value: 's=no; d=no.test' },
    ]
    const o = { senderDomain: 'bounces.test', author: 'ada@news.sender.test', headers }
    expect(namesOf(o)).toEqual([
      'bounces.test',
      'k1._domainkey.signer.test',
      'k2._domainkey.list.test',
      '_dmarc.news.sender.test',
      '_dmarc.sender.test',
      '_dmarc.test',
    ])
  })

  it('are few, whatever the message says', () => {
    const signature = { name: 'dkim-signature', value: 's=k; d=a.test' }
    const headers = Array.from({ length: 1_000 }, () => signature)
    const author = `a@${'x.'.repeat(10_000)}test`
    expect(namesOf({ headers, author }).length).toBeLessThan(20)
  })

  it('leave out malformed names', () => {
    const headers = [
      { name: 'dkim-signature', value: `s=${' '.repeat(100)}; d=a.test` },
      { name: 'dkim-signature', value: `s=k; d=${'a'.repeat(300)}.test` },
      { name: 'dkim-signature', value: 's=k; d=a..test' },
      { name: 'dkim-signature', value: 's' },
    ]
    expect(namesOf({ senderDomain: '[192.0.2.1]', author: 'nobody', headers })).toEqual([
      '_dmarc.nobody',
    ])
  })
})

it('asks for a policy at all parent domains at once', () => {
  const questions = [
    { name: '_dmarc.a.b.test', type: 'TXT' },
    { name: 'c.test', type: 'MX' },
  ] as const
  expect(withWalks(questions).map(({ name }) => name)).toEqual([
    '_dmarc.a.b.test',
    '_dmarc.b.test',
    '_dmarc.test',
    'c.test',
  ])
})
