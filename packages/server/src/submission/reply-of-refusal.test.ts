import { describe, expect, it } from 'vitest'
import { ApiError, validationError } from '../platform/errors.ts'
import { replyOfRefusal } from './reply-of-refusal.ts'

const overQuota = (name: string) =>
  new ApiError('quota_exceeded', { errors: [{ path: name, message: 'is used up' }] })

describe('[contract 8] a refusal of sendEmail', () => {
  it.each([
    ['a quota of what waits', overQuota('/quotas/queued_max'), 452, '4.3.1'],
    ['a quota of what is stored', overQuota('/quotas/storage_bytes_max'), 452, '4.3.1'],
    ['a quota of a day', overQuota('/quotas/emails_per_day'), 451, '4.7.1'],
    ['a rate', new ApiError('rate_limited'), 451, '4.7.1'],
    [
      'a key whose message is being accepted',
      new ApiError('idempotency_in_progress'),
      451,
      '4.7.1',
    ],
    ['a key of another message', new ApiError('idempotency_mismatch'), 550, '5.6.0'],
    ['no mailer', new ApiError('no_mailer'), 550, '5.7.1'],
    ['a mailer that is not active', new ApiError('mailer_inactive'), 550, '5.7.1'],
    ['a suspended tenant', new ApiError('tenant_suspended'), 550, '5.7.1'],
    ['a key that is none', new ApiError('unauthorized'), 535, '5.7.8'],
    ['too much', new ApiError('payload_too_large'), 552, '5.3.4'],
    ['a service that is away', new ApiError('unavailable'), 451, '4.3.0'],
  ])('is told by its code: %s', (_, error, code, enhanced) => {
    const reply = replyOfRefusal(error)
    expect([reply?.code, reply?.text.split(' ')[0]]).toEqual([code, enhanced])
  })

  it('names the fields at fault', () => {
    const error = validationError({ path: 'X-Postrider-Args', message: 'must be a JSON object' })
    expect(replyOfRefusal(error)).toEqual({
      code: 550,
      text: '5.6.0 X-Postrider-Args must be a JSON object',
    })
  })

  it('is none where something else went wrong', () => {
    expect(replyOfRefusal(new Error('a defect'))).toBeUndefined()
  })
})
