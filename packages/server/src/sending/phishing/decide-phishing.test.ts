import type { Scan } from '@postrider/mail'
import { expect, it } from 'vitest'
import { decidePhishing } from './decide-phishing.ts'
import { defaultSettings } from './settings.ts'

const sign = (weight: number, reason: string) => ({ kind: 'numeric_host' as const, weight, reason })
const decide = (scan: Partial<Scan>, set: Partial<typeof defaultSettings> = {}) =>
  decidePhishing(
    { kind: 'scanned', scan: { signs: [], hosts: [], ...scan } },
    { ...defaultSettings, ...set },
  )

it('passes a score below the threshold, and flags one that reaches it', () => {
  expect(decide({ signs: [sign(40, 'a'), sign(19, 'b')] })).toEqual({ kind: 'passed', score: 59 })
  expect(decide({ signs: [sign(40, 'a'), sign(20, 'b')] })).toMatchObject({ because: 'score' })
  expect(decide({ signs: [sign(1, 'a')] }, { threshold: 1 })).toMatchObject({ because: 'score' })
  expect(decide({}, { threshold: 1 })).toEqual({ kind: 'passed', score: 0 })
})

it('names the score, the threshold and the three heaviest signs as the reason', () => {
  const signs = [sign(70, 'one'), sign(65, 'two'), sign(20, 'three'), sign(5, 'four')]
  expect(decide({ signs })).toEqual({
    kind: 'flagged',
    because: 'score',
    failedReason: 'Stopped by phishing protection: one; two; three (score 100, threshold 60)',
  })
})

it('flags a blocked domain and its subdomains at any score', () => {
  const blockedDomains = new Set(['bad.example'])
  for (const host of ['bad.example', 'www.bad.example', 'a.b.bad.example'])
    expect(decide({ hosts: ['good.example', host] }, { blockedDomains })).toEqual({
      kind: 'flagged',
      because: 'blocked_domain',
      failedReason:
        'Stopped by phishing protection: the content names bad.example, a blocked domain',
    })
  for (const host of ['notbad.example', 'bad.example.com', 'example', 'd.example'])
    expect(decide({ hosts: [host] }, { blockedDomains })).toEqual({ kind: 'passed', score: 0 })
  const suffix = { blockedDomains: new Set(['zip']) }
  expect(decide({ hosts: ['a.zip'] }, suffix)).toMatchObject({ because: 'blocked_domain' })
})

it('flags mail that cannot be scanned', () => {
  expect(decidePhishing({ kind: 'too-much' }, defaultSettings)).toEqual({
    kind: 'flagged',
    because: 'too_much',
    failedReason: 'Stopped by phishing protection: the content cannot be checked within the limits',
  })
})
