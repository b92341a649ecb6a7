import { expect, it } from 'vitest'
import type { Db } from '../platform/db/index.ts'
import type { EmailContent } from './email.ts'
import { createLargeContents } from './large-contents.ts'

const MIB = 1024 * 1024
const claim = (refId: string, mib = 1) => ({ tenantId: 'tn_a', refId, contentBytes: mib * MIB })

function reading(load: (refId: string) => Promise<EmailContent>) {
  const reads: string[] = []
  const contents = createLargeContents({
    db: {} as Db,
    load: (_, email) => {
      reads.push(email.refId)
      return load(email.refId)
    },
  })
  return { contents, reads }
}
const content = async (refId: string) => ({ subject: refId }) as EmailContent

it('an email is read once, however many want it at once and afterwards', async () => {
  const { contents, reads } = reading(content)
  const all = await Promise.all([1, 2, 3].map(() => contents.get(claim('a'))))
  await contents.get(claim('a'))
  expect(new Set(all).size).toBe(1)
  expect(reads).toEqual(['a'])
})

it('no more than 64 MiB are kept, the last ones used', async () => {
  const { contents, reads } = reading(content)
  await contents.get(claim('a', 30))
  await contents.get(claim('b', 30))
  await contents.get(claim('a', 30))
  await contents.get(claim('c', 30))
  await contents.get(claim('a', 30))
  await contents.get(claim('b', 30))
  expect(reads).toEqual(['a', 'b', 'c', 'b'])
})

it('an email of one tenant is not that of another', async () => {
  const { contents, reads } = reading(content)
  await contents.get(claim('a'))
  await contents.get({ ...claim('a'), tenantId: 'tn_b' })
  expect(reads).toEqual(['a', 'a'])
})

it('a reading that failed is repeated', async () => {
  let isAway = true
  const { contents } = reading(async (refId) => {
    if (isAway) throw new Error('away')
    return content(refId)
  })
  await expect(contents.get(claim('a'))).rejects.toThrow('away')
  isAway = false
  expect(await contents.get(claim('a'))).toEqual({ subject: 'a' })
})
