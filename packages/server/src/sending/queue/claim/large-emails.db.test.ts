import { expect, it } from 'vitest'
import { trackingUrls } from '../../../../test/sending.ts'
import type { Db } from '../../../platform/db/index.ts'
import type { EmailContent } from '../../record/email.ts'
import { createLargeEmails } from './large-emails.ts'

const MIB = 1024 * 1024
const claim = (refId: string, mib = 1) => ({
  tenantId: 'tn_a',
  refId,
  mailerId: 'smtp_a',
  createdAt: new Date(0),
  campaignId: null,
  contentBytes: mib * MIB,
})

function reading(load: (refId: string) => Promise<EmailContent>) {
  const reads: string[] = []
  const large = createLargeEmails({
    db: {} as Db,
    trackingUrls,
    load: (_, email) => {
      reads.push(email.refId)
      return load(email.refId)
    },
  })
  const get = (one: ReturnType<typeof claim>) => large.get(one)
  return { get, reads }
}
const content = async (refId: string): Promise<EmailContent> => ({
  from: { address: 'news@example.com' },
  to: [{ address: 'ada@example.com' }],
  cc: [],
  subject: refId,
  headers: [],
  attachments: [],
})

it('reads and encodes an email once for many concurrent and later readers', async () => {
  const { get, reads } = reading(content)
  const all = await Promise.all([1, 2, 3].map(() => get(claim('a'))))
  await get(claim('a'))
  expect(new Set(all).size).toBe(1)
  expect(reads).toEqual(['a'])
})

it('keeps the 64 MiB that were used last', async () => {
  const { get, reads } = reading(content)
  await get(claim('a', 30))
  await get(claim('b', 30))
  await get(claim('a', 30))
  await get(claim('c', 30))
  await get(claim('a', 30))
  await get(claim('b', 30))
  expect(reads).toEqual(['a', 'b', 'c', 'b'])
})

it('keeps emails of different tenants apart', async () => {
  const { get, reads } = reading(content)
  await get(claim('a'))
  await get({ ...claim('a'), tenantId: 'tn_b' })
  expect(reads).toEqual(['a', 'a'])
})

it('builds an email separately for a mail server and for a relay provider', async () => {
  const { get, reads } = reading(content)
  const ready = await get(claim('a'))
  const other = await get({ ...claim('a'), mailerId: 'domain_a' })
  expect([ready, other].map((one) => 'kind' in one && one.kind)).toEqual(['smtp', 'relay'])
  expect(reads).toEqual(['a', 'a'])
})

it('reads again after a failed read', async () => {
  let isAway = true
  const { get } = reading(async (refId) => {
    if (isAway) throw new Error('away')
    return content(refId)
  })
  await expect(get(claim('a'))).rejects.toThrow('away')
  isAway = false
  expect(await get(claim('a'))).toHaveProperty('message')
})
