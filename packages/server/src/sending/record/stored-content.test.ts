import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compress } from '../../platform/values/zstd.ts'
import type { EmailContent } from './email.ts'
import {
  makeReady,
  type ReadyContent,
  readSmall,
  readStored,
  readWithoutFiles,
  type StoredContent,
} from './stored-content.ts'

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
const REF = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const rowOf = async (ready: ReadyContent): Promise<StoredContent> =>
  'line' in ready ? { content: await compress(Buffer.from(ready.line)), attachments: null } : ready
const store = async (whole: EmailContent) => rowOf((await makeReady(REF, whole)).ready)
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
        const stored = await store(whole)
        expect(await readStored(stored, REF)).toEqual(whole)
        expect(readSmall(stored)(REF)).toEqual(whole)
      }),
    )
  })

  it('is compressed, and tells how much memory it takes', async () => {
    const { ready, octets } = await makeReady(REF, content({ html: html(20_000) }))
    expect(octets).toBeGreaterThan(19_000)
    expect((await rowOf(ready)).content.length).toBeLessThan(1_000)
  })

  it('shares a row where it is short and has no attachments', async () => {
    const isLine = async (whole: EmailContent) => 'line' in (await makeReady(REF, whole)).ready
    expect(await isLine(content({ html: html(15_000) }))).toBe(true)
    expect(await isLine(content({ html: html(17_000) }))).toBe(false)
    expect(await isLine(content({ attachments: [file(Buffer.from('a'))] }))).toBe(false)
  })

  it('is found among others whatever they hold, and nobody gets another one', async () => {
    const others = ['01JD4M8W6ZQ3V5T7X9Y2A4C6E9', '01JD4M8W6ZQ3V5T7X9Y2A4C6F0']
    const text = `\n${REF} {"subject":"not mine"}\n`
    const [first = '', second = ''] = await Promise.all(
      others.map(async (refId) => {
        const { ready } = await makeReady(refId, content({ text, subject: refId }))
        return 'line' in ready ? ready.line : ''
      }),
    )
    const { ready } = await makeReady(REF, content({ subject: 'mine' }))
    const mine = 'line' in ready ? ready.line : ''
    const row = await rowOf({ line: first + mine + second })
    expect(readSmall(row)(REF).subject).toBe('mine')
    for (const refId of others) expect((await readStored(row, refId)).text).toBe(text)
    const without = await rowOf({ line: first + second })
    expect(() => readSmall(without)(REF)).toThrow(`the content of ${REF} is not in its row`)
  })

  it('is compressed and read in a thread from 64 KiB on, with the same result', async () => {
    const whole = content({ html: randomBytes(100_000).toString('base64') })
    expect(await readStored(await store(whole), REF)).toEqual(whole)
  })

  it('has attachments as their bytes, and tells their lengths without them', async () => {
    const files = [
      file(Buffer.from('first'), 'a.txt'),
      file(Buffer.alloc(0)),
      file(Buffer.from('z')),
    ]
    const stored = await store(content({ attachments: files }))
    expect(stored.attachments?.toString()).toBe('firstz')
    const { attachments } = await readWithoutFiles(stored.content, REF)
    expect(attachments.map(({ bytes }) => bytes)).toEqual([5, 0, 1])
    expect((await store(content({ html: html(17_000) }))).attachments).toBeNull()
  })
})
