/**
 * Replies of real servers in the wild, each judged by hand before it was classified. One in a line:
 * stage (`-`: not known), the categories that are right, whether another attempt can help (`any`:
 * either is right; `login`: it cannot, and the login was refused), and the reply.
 *
 * They are more than rules can be written for one by one, so they are held to a share: of the half
 * that no rule was written from, 94 % were right at first.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { classifyFailure } from './classify-reply.ts'
import type { SmtpStage } from './smtp/failure.ts'

const WRONG_SHARE_MAX = 0.02

const judged = readFileSync(new URL('judged-replies.fixture.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const [stage = '', categories = '', outcome = '', text = ''] = line.split('\t')
    const reply = { code: Number(text.slice(0, 3)), text }
    // The file is our own: its first column holds stages.
    const known = stage === '-' ? {} : { stage: stage as SmtpStage }
    return {
      text,
      categories: categories.split('|'),
      outcome,
      got: classifyFailure({ reply, ...known }),
    }
  })

describe('the labelled replies', () => {
  it('[6.4.5] are classified correctly, nearly all of them', () => {
    const wrong = judged.filter(
      ({ categories, outcome, got }) =>
        !categories.includes(got.category) ||
        (outcome !== 'any' && got.retryable !== (outcome === 'retry')),
    )
    expect(judged.length).toBeGreaterThan(300)
    const named = wrong.map(({ text, got }) => `${got.category} ${got.retryable}: ${text}`)
    expect(wrong.length / judged.length, named.join('\n')).toBeLessThanOrEqual(WRONG_SHARE_MAX)
  })

  it('count as refused logins exactly when they are', () => {
    const isLogin = ({ outcome, categories }: (typeof judged)[number]) =>
      outcome === 'login' || categories[0] === 'auth_required'
    const wrong = judged.filter((one) => one.got.authRejected !== isLogin(one))
    expect(wrong.map(({ text }) => text)).toEqual([])
  })
})
