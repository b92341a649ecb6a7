import type { Quotas } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { charged, decideQuota, type Limited, type QuotaUsage } from './decide-quota.ts'

const at = new Date('2026-11-20T23:59:58.500Z')
const second = Math.floor(at.getTime() / 1_000)
const nothing: QuotaUsage = {
  ...{ second: 0, inSecond: 0, secondBefore: 0, day: '1970-01-01', inDay: 0 },
  ...{ queued: 0, storageBytes: 0 },
}

function limited(quotas: Partial<Quotas>, usage: Partial<QuotaUsage> = {}): Limited {
  const none = { emails_per_second: null, emails_per_day: null, queued_max: null }
  return {
    quotas: { ...none, storage_bytes_max: null, ...quotas },
    usage: { ...nothing, ...usage },
  }
}

const decide = (of: Limited, emails: number, bytes = 100, when = at) =>
  decideQuota(of, { emails, bytes }, when)

describe('decideQuota', () => {
  it.each<[keyof Quotas, Partial<QuotaUsage>, number]>([
    ['emails_per_second', { second, inSecond: 7 }, 1],
    ['emails_per_second', { second: second + 1, inSecond: 9, secondBefore: 7 }, 1],
    ['emails_per_day', { day: '2026-11-20', inDay: 7 }, 2],
    ['queued_max', { queued: 7 }, 60],
  ])('lets %s be used up with %j, and no further', (quota, usage, retryAfterS) => {
    const of = limited({ [quota]: 10 }, usage)
    expect(decide(of, 3)).toBeUndefined()
    expect(decide(of, 4)).toMatchObject({ quota, max: 10, asked: 4, retryAfterS })
  })

  it('counts bytes for storage_bytes_max', () => {
    const of = limited({ storage_bytes_max: 1_000 }, { storageBytes: 900 })
    expect(decide(of, 50, 100)).toBeUndefined()
    expect(decide(of, 0, 101)).toMatchObject({ quota: 'storage_bytes_max', retryAfterS: 60 })
  })

  it('begins anew in another second and on another day', () => {
    const usage = { second: second - 1, inSecond: 10, day: '2026-11-19', inDay: 10 }
    expect(
      decide(limited({ emails_per_second: 10, emails_per_day: 10 }, usage), 10),
    ).toBeUndefined()
  })

  it('lets nothing into a second or a day of which nobody knows any more', () => {
    const later = limited({ emails_per_second: 10 }, { second: second + 2 })
    expect(decide(later, 1)).toMatchObject({ quota: 'emails_per_second' })
    const tomorrow = limited({ emails_per_day: 10 }, { day: '2026-11-21' })
    expect(decide(tomorrow, 1)).toMatchObject({ quota: 'emails_per_day' })
  })

  it('does not count suppressed recipients', () => {
    const of = limited({ emails_per_second: 0, emails_per_day: 0, queued_max: 0 })
    expect(decide(of, 0)).toBeUndefined()
    expect(decide(of, 1)).toMatchObject({ quota: 'queued_max' })
  })

  it('counts what was charged before, over the end of a second and of a day', () => {
    let of = limited(
      { emails_per_second: 5, emails_per_day: 8 },
      { second: second - 1, inSecond: 4 },
    )
    of = charged(of, { emails: 3, bytes: 10 }, at)
    expect(of.usage).toMatchObject({ second, inSecond: 3, secondBefore: 4, inDay: 3, queued: 3 })
    of = charged(of, { emails: 1, bytes: 10 }, new Date(at.getTime() - 1_000))
    expect(of.usage).toMatchObject({ second, inSecond: 3, secondBefore: 5, inDay: 4 })
    of = charged(of, { emails: 2, bytes: 10 }, new Date(at.getTime() + 2_000))
    expect(of.usage).toMatchObject({ second: second + 2, inSecond: 2, secondBefore: 0, inDay: 2 })
    expect(of.usage).toMatchObject({ queued: 6, storageBytes: 30, day: '2026-11-21' })
  })
})
