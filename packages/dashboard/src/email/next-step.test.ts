import { expect, it } from 'vitest'
import type { TracedRecipient } from './build-timeline.ts'
import { nextStepOf } from './next-step.ts'
import { attemptOf, recipientOf, waiting } from './trace.fixture.ts'

const now = new Date('2026-03-02T12:05:00Z')
const of = (change: Partial<TracedRecipient>) => nextStepOf(recipientOf(change), now)
const failedAttempt = attemptOf({ outcome: 'failed', failed_reason: 'unknown user' })
const reason = 'unknown user'

it('tells when the next attempt follows', () => {
  expect(of({ status: 'deferred', waiting, failed_reason: 'greylisted' })).toEqual({
    kind: 'again',
    at: waiting.due_at,
    attempt: 2,
    maxAttempts: 5,
    isDue: false,
    reason: 'greylisted',
  })
})

it('tells that the next attempt is due', () => {
  const due = { ...waiting, due_at: '2026-03-02T12:04:59.000Z' }
  expect(of({ status: 'deferred', waiting: due })).toMatchObject({ kind: 'again', isDue: true })
})

it('tells that the mail expires before its next attempt', () => {
  const short = { ...waiting, expires_at: '2026-03-02T12:09:00.000Z' }
  expect(of({ status: 'deferred', waiting: short, failed_reason: reason })).toEqual({
    kind: 'too_late',
    expiresAt: short.expires_at,
    reason,
  })
})

it('tells that a rescued mail is tried again, not for the first time', () => {
  const rescued = { ...waiting, attempt: 6, max_attempts: 10 }
  expect(of({ status: 'queued', waiting: rescued })).toMatchObject({ kind: 'again', attempt: 6 })
  expect(of({ status: 'queued', waiting: { ...waiting, attempt: 1 } })).toEqual({ kind: 'first' })
})

it('tells refused for good from attempts that are used up', () => {
  expect(of({ status: 'failed', attempts: [failedAttempt], failed_reason: reason })).toEqual({
    kind: 'refused',
    attempt: 1,
    reason,
  })
  const last = attemptOf({ outcome: 'failed', attempt: 5 })
  expect(of({ status: 'failed', attempts: [last], failed_reason: reason })).toEqual({
    kind: 'used_up',
    maxAttempts: 5,
    reason,
  })
})

it('warns where the mail may have been delivered', () => {
  const cut = attemptOf({ outcome: 'uncertain', attempt: 5 })
  expect(of({ status: 'failed', attempts: [cut] })).toEqual({ kind: 'uncertain' })
})

it('tells a complaint about a delivered mail', () => {
  const complaint = {
    ...{ type: 'abuse', meaning: 'complained' as const, relay: null, reason: '', hard: null },
    ...{ error_code: null, num_retries: null, classified: null },
    at: '2026-03-02T13:00:00.000Z',
    received_at: '2026-03-02T13:00:01.000Z',
  }
  expect(of({ feedback: [complaint] })).toEqual({ kind: 'complained', at: complaint.at })
  expect(of({})).toMatchObject({ kind: 'delivered', attempt: 1 })
})

it('tells a mail that was cancelled from one that a provider refused', () => {
  expect(of({ status: 'rejected', attempts: [] })).toEqual({ kind: 'cancelled' })
  const refusal = {
    ...{ type: 'policy', meaning: 'policy_rejected' as const, relay: 'sparkpost' as const },
    ...{ reason: '', hard: null, error_code: null, num_retries: null, classified: null },
    at: '2026-03-02T13:00:00.000Z',
    received_at: '2026-03-02T13:00:01.000Z',
  }
  expect(of({ status: 'rejected', feedback: [refusal], failed_reason: reason })).toEqual({
    kind: 'rejected',
    reason,
  })
})

it.each([
  ['scheduled', { waiting: { ...waiting, attempt: 1 } }, { kind: 'scheduled', at: waiting.due_at }],
  ['sending', { waiting }, { kind: 'under_way', attempt: 2, maxAttempts: 5 }],
  ['held', { waiting }, { kind: 'held', mailerId: 'smtp_1', expiresAt: waiting.expires_at }],
  ['sent', {}, { kind: 'with_provider' }],
  ['bounced', { failed_reason: reason }, { kind: 'bounced', reason }],
  ['expired', {}, { kind: 'expired' }],
  ['blocked', {}, { kind: 'blocked' }],
  ['suppressed', {}, { kind: 'suppressed' }],
] as const)('tells what follows from %s', (status, change, step) => {
  expect(of({ status, ...change })).toEqual(step)
})
