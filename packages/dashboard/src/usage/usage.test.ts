import type { Quotas } from '@postrider/client'
import { describe, expect, it } from 'vitest'
import { listsOf, nearQuotas, usedOf } from './usage.ts'

const none: Quotas = {
  ...{ emails_per_second: null, emails_per_day: null },
  ...{ queued_max: null, storage_bytes_max: null },
}
const usage = { emails_today: 80, queued: 7, storage_bytes: 1_000 }

describe('usedOf', () => {
  it.each([
    [79, { nearness: 'far', left: 21, share: 0.79 }],
    [80, { nearness: 'near', left: 20, share: 0.8 }],
    [99, { nearness: 'near', left: 1, share: 0.99 }],
    [100, { nearness: 'reached', left: 0, share: 1 }],
    [130, { nearness: 'reached', left: 0, share: 1.3 }],
  ])('says of %i recipients of 100 how near that is', (used, expected) => {
    const of = { quotas: { ...none, emails_per_day: 100 }, usage: { ...usage, emails_today: used } }
    expect(usedOf('emails_per_day', of)).toEqual({ used, max: 100, ...expected })
  })

  it('has not reached a quota of which the last part is left', () => {
    const quotas = { ...none, storage_bytes_max: 100_000 }
    const of = { quotas, usage: { ...usage, storage_bytes: 99_999 } }
    expect(usedOf('storage_bytes_max', of)).toMatchObject({ nearness: 'near', share: 0.999 })
  })

  it('is never near without a quota, and has reached a quota of nothing', () => {
    expect(usedOf('queued_max', { quotas: none, usage })).toMatchObject({
      ...{ used: 7, max: null, nearness: 'far' },
    })
    const nothing = { quotas: { ...none, queued_max: 0 }, usage: { ...usage, queued: 0 } }
    expect(usedOf('queued_max', nothing)).toMatchObject({ nearness: 'reached', share: 1 })
  })
})

describe('nearQuotas', () => {
  it('names those that are near or reached', () => {
    const quotas = { ...none, emails_per_day: 100, queued_max: 7, storage_bytes_max: 9e9 }
    expect(nearQuotas({ quotas, usage })).toEqual([
      { name: 'emails_per_day', nearness: 'near' },
      { name: 'queued_max', nearness: 'reached' },
    ])
    expect(nearQuotas({ quotas: none, usage })).toEqual([])
  })
})

describe('listsOf', () => {
  const now = new Date('2030-01-02T23:30:00-02:00')
  it('leads to the emails of the UTC day, to each status that waits, and to all that is stored', () => {
    expect(listsOf('emails_per_day', now).map(({ search }) => search)).toEqual([
      { from: '2030-01-03' },
    ])
    expect(listsOf('queued_max', now).map(({ search }) => search.status)).toEqual([
      ...['queued', 'deferred', 'held', 'scheduled'],
    ])
    expect(listsOf('storage_bytes_max', now)).toEqual([{ status: undefined, search: {} }])
  })
})
