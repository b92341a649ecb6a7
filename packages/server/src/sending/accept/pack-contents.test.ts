import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dayOfUlid, newUlid, ulidAtTime } from '../../platform/ids.ts'
import type { EmailContent } from '../record/email.ts'
import { makeReady, readStored } from '../record/stored-content.ts'
import { type EmailToPack, packContents } from './pack-contents.ts'

const content = (text: string, file?: string): EmailContent => ({
  from: { address: 'shop@example.com' },
  to: [{ address: 'ada@example.com' }],
  cc: [],
  subject: 'Your order',
  text,
  headers: [],
  attachments: file === undefined ? [] : [{ filename: 'a.txt', content: file }],
})

async function emailOf(
  text: string,
  o: { readonly tenantId?: string; readonly refId?: string; readonly file?: string } = {},
): Promise<EmailToPack> {
  const { tenantId = 'tn_a', refId = newUlid() } = o
  const { ready } = await makeReady(refId, content(text, o.file))
  return { tenantId, refId, ready }
}

it('finds every content again, in a row of its own tenant and day', async () => {
  const dayMs = 86_400_000
  const email = fc.record({
    tenantId: fc.constantFrom('tn_a', 'tn_b'),
    day: fc.nat(1),
    chars: fc.oneof(fc.nat(300), fc.nat(40_000)),
    file: fc.option(fc.constant('QUJD'), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(email, { maxLength: 12 }), async (wanted) => {
      const emails = await Promise.all(
        wanted.map(({ tenantId, day, chars, file }, i) => {
          const refId = ulidAtTime(day * dayMs + i)
          const more = file === undefined ? {} : { file }
          return emailOf(`${i} `.repeat(chars / 2), { tenantId, refId, ...more })
        }),
      )
      const { rows, packOf } = packContents(emails)
      expect(new Set(rows.map(({ refId }) => refId)).size).toBe(rows.length)
      for (const [i, { tenantId, refId }] of emails.entries()) {
        const row = rows.find((one) => one.refId === packOf.get(refId))
        expect(row).toMatchObject({ tenantId, day: dayOfUlid(refId) })
        if (row === undefined) continue
        const { chars = 0, file } = wanted[i] ?? {}
        expect(await readStored(row, refId)).toEqual(content(`${i} `.repeat(chars / 2), file))
      }
    }),
  )
})

it('puts short ones together, up to 32 KiB, and what is long or has files by itself', async () => {
  const short = await Promise.all(
    Array.from({ length: 9 }, (_, i) => emailOf(`${i}`.repeat(7_000))),
  )
  const long = await emailOf('x'.repeat(17_000))
  const withFile = await emailOf('x', { file: 'QUJD' })
  const { rows, packOf } = packContents([...short, long, withFile])
  expect(rows).toHaveLength(2 + 3)
  const sizes = Map.groupBy(packOf.values(), (refId) => refId)
  expect([...sizes.values()].map((ones) => ones.length)).toEqual([4, 4, 1, 1, 1])
  expect(packOf.get(long.refId)).toBe(long.refId)
  expect(rows.find(({ refId }) => refId === withFile.refId)?.attachments?.toString()).toBe('ABC')
})

it('keeps of mail that has nearly all in common little more than one', async () => {
  const html = Array.from({ length: 400 }, (_, i) => `<p>${(i * 7919) % 1009}</p>`).join('')
  const [one] = packContents([await emailOf(html)]).rows
  const four = await Promise.all(['a', 'b', 'c', 'd'].map((name) => emailOf(`Dear ${name}${html}`)))
  const { rows } = packContents(four)
  expect(rows).toHaveLength(1)
  expect(rows[0]?.content.length).toBeLessThan((one?.content.length ?? 0) * 1.5)
})
