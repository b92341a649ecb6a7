import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EmailContent } from './email.ts'
import { readSmall, readStored, readWithoutFiles, storeContent } from './stored-content.ts'

const content = (more: Partial<EmailContent> = {}): EmailContent => ({
  from: { address: 'shop@example.com', name: 'Shop' },
  to: [{ address: 'ada@example.com' }],
  cc: [],
  subject: 'Your order',
  headers: [['X-Order', '7']],
  attachments: [],
  ...more,
})
const file = (bytes: Buffer, filename = 'a.bin') => ({
  filename,
  content: bytes.toString('base64'),
})
const html = (bytes: number) => '<p>Your order is on its way.</p>\n'.repeat(bytes / 34)

describe('a stored content', () => {
  it('is read as it was written, whatever it holds', async () => {
    const files = fc.array(
      fc.record({
        filename: fc.string(),
        content: fc
          .uint8Array({ maxLength: 300 })
          .map((one) => Buffer.from(one).toString('base64')),
      }),
      { maxLength: 4 },
    )
    const text = fc.string({ maxLength: 2_000 })
    await fc.assert(
      fc.asyncProperty(files, text, async (attachments, subject) => {
        const whole = content({ attachments, subject, html: subject.repeat(3) })
        const stored = await storeContent(whole)
        expect(await readStored(stored)).toEqual(whole)
        expect(readSmall(stored)).toEqual(whole)
      }),
    )
  })

  it('is compressed, and tells how much memory it takes', async () => {
    const stored = await storeContent(content({ html: html(20_000) }))
    expect(stored.content.length).toBeLessThan(1_000)
    expect(stored.octets).toBeGreaterThan(19_000)
  })

  it('is compressed and read in a thread from 64 KiB on, with the same result', async () => {
    const whole = content({ html: randomBytes(100_000).toString('base64') })
    expect(await readStored(await storeContent(whole))).toEqual(whole)
  })

  it('has attachments as their bytes, and tells their lengths without them', async () => {
    const files = [
      file(Buffer.from('first'), 'a.txt'),
      file(Buffer.alloc(0)),
      file(Buffer.from('z')),
    ]
    const stored = await storeContent(content({ attachments: files }))
    expect(stored.attachments?.toString()).toBe('firstz')
    const { attachments } = await readWithoutFiles(stored.content)
    expect(attachments.map(({ bytes }) => bytes)).toEqual([5, 0, 1])
    expect((await storeContent(content())).attachments).toBeNull()
  })
})
