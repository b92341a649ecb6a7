import { expect, it } from 'vitest'
import { type AttemptRow, isToldByRecipient } from './attempt-store.ts'

const accepted: AttemptRow = {
  tenantId: 'tn_a',
  refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  n: 0,
  attempt: 1,
  day: '2026-11-28',
  mailerId: 'smtp_a',
  maxAttempts: 5,
  startedAt: new Date('2026-11-28T23:59:58Z'),
  finishedAt: new Date('2026-11-28T23:59:59.999Z'),
  outcome: 'accepted',
  category: null,
  failedReason: '',
  providerError: '',
  retryScheduled: false,
  nextAttemptAt: null,
}

it('tells a first attempt by its recipient only if it was accepted on the day of the email', () => {
  expect(isToldByRecipient(accepted)).toBe(true)
  expect(isToldByRecipient({ ...accepted, attempt: 2 })).toBe(false)
  expect(isToldByRecipient({ ...accepted, outcome: 'failed' })).toBe(false)
  // By its day it is found among those that were late.
  expect(isToldByRecipient({ ...accepted, finishedAt: new Date('2026-11-29T00:00:00Z') })).toBe(
    false,
  )
})
