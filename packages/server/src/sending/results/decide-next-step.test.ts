import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideNextStep } from './decide-next-step.ts'

const schedule = [30_000, 120_000, 600_000]
const failure = { retryable: true, attempt: 1, maxAttempts: 5 }

describe('the step after a failed attempt', () => {
  it('[6.4.4] is final at attempt 1 when the failure is permanent', () => {
    expect(decideNextStep({ ...failure, retryable: false }, schedule, 0.5)).toEqual({
      kind: 'give-up',
      because: 'permanent',
    })
  })

  it('[6.4.4] is final when the budget is exhausted', () => {
    expect(decideNextStep({ ...failure, attempt: 5 }, schedule, 0.5)).toEqual({
      kind: 'give-up',
      because: 'budget-exhausted',
    })
  })

  it('[3] is a retry exactly when the failure is retryable and budget remains', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.integer({ min: 1, max: 25 }),
        fc.integer({ min: 1, max: 20 }),
        (retryable, attempt, maxAttempts) => {
          const step = decideNextStep({ retryable, attempt, maxAttempts }, schedule, 0)
          expect(step.kind === 'retry').toBe(retryable && attempt < maxAttempts)
        },
      ),
    )
  })

  it('waits by the schedule, whose last entry repeats, with 20 % jitter', () => {
    const wait = (attempt: number, random: number) =>
      decideNextStep({ retryable: true, attempt, maxAttempts: 20 }, schedule, random)
    expect(wait(1, 0)).toEqual({ kind: 'retry', waitMs: 24_000 })
    expect(wait(1, 0.5)).toEqual({ kind: 'retry', waitMs: 30_000 })
    expect(wait(2, 0.5)).toEqual({ kind: 'retry', waitMs: 120_000 })
    expect(wait(9, 0.5)).toEqual({ kind: 'retry', waitMs: 600_000 })
  })

  it('waits as long as the failure asks for, up to the longest wait of the schedule', () => {
    const wait = (retryAfterMsMin: number) =>
      decideNextStep({ ...failure, retryAfterMsMin }, schedule, 0.5)
    expect(wait(300_000)).toEqual({ kind: 'retry', waitMs: 300_000 })
    expect(wait(1_000)).toEqual({ kind: 'retry', waitMs: 30_000 })
    expect(wait(86_400_000)).toEqual({ kind: 'retry', waitMs: 600_000 })
  })
})
