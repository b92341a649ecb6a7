import { afterEach, describe, expect, it } from 'vitest'
import type { ScannedContent } from './content.ts'
import { createPhishingScanner, type PhishingScanner } from './scanner.ts'

const scanners: PhishingScanner[] = []
afterEach(async () => {
  for (const scanner of scanners.splice(0)) await scanner.stop()
})

function scannerOf(o?: Parameters<typeof createPhishingScanner>[0]): PhishingScanner {
  const scanner = createPhishingScanner(o)
  scanners.push(scanner)
  return scanner
}

const contentOf = (html: string): ScannedContent => ({
  from: { address: 'news@acme.example' },
  subject: '',
  html: [html],
})
const PHISH = '<a href="http://0x7f.1/">x</a>'
const FOUND = {
  kind: 'scanned',
  scan: { signs: expect.arrayContaining([expect.objectContaining({ kind: 'disguised_address' })]) },
}
const LARGE = ' '.repeat(100_000)

it('content is scanned alike, small or large', async () => {
  const scanner = scannerOf()
  const contents = [PHISH, PHISH + LARGE, LARGE + PHISH].map(contentOf)
  // More at once than there are threads.
  const results = await Promise.all([...contents, ...contents, ...contents].map(scanner.scan))
  for (const result of results) expect(result).toMatchObject(FOUND)
})

describe('hostile HTML is scanned within the limits, whatever it is made of', () => {
  const MB = 2 ** 20
  it.each([
    ['nesting', '<div>'],
    ['wrong nesting', '<div></span>'],
    ['tags that are not', '<'],
    ['quotes that do not end', '<a href="'],
    ['entities', '&lt;'],
    ['half entities', '&am'],
    ['comments that do not end', '<!--'],
    ['comments of Outlook', '<!--[if x]>a'],
    ['attributes', '<a b=1 c=2 '],
    ['dots', 'a.'],
    ['schemes', 'http:'],
    ['at signs', 'http://a@'],
  ])('2 MB of %s', async (_, piece) => {
    const html = PHISH + piece.repeat((2 * MB) / piece.length)
    expect(await scannerOf().scan(contentOf(html))).toMatchObject(FOUND)
  })
})

describe('content that a thread does not manage', () => {
  it('in time, is not passed', async () => {
    const scanner = scannerOf({ timeoutMs: 1 })
    expect(await scanner.scan(contentOf('<b>&lt;</b>'.repeat(2_000_000)))).toEqual({
      kind: 'too-much',
    })
  })

  it('is no pass for what waits behind it either', async () => {
    const scanner = scannerOf({ timeoutMs: 1 })
    const huge = contentOf('<b>&lt;</b>'.repeat(2_000_000))
    const results = await Promise.all([huge, huge, huge].map(scanner.scan))
    expect(results).toEqual([{ kind: 'too-much' }, { kind: 'too-much' }, { kind: 'too-much' }])
  })
})

it('the largest content that a request can bring fits into a thread', async () => {
  const html = `ж${'a&lt;'.repeat((30 * 2 ** 20) / 5)}${PHISH}`
  expect(await scannerOf().scan(contentOf(html))).toMatchObject(FOUND)
})

it('once stopped, nothing is known of what was still to be scanned', async () => {
  const scanner = scannerOf()
  const all = Array.from({ length: 8 }, () => scanner.scan(contentOf(PHISH + LARGE)))
  const settled = Promise.allSettled(all)
  await scanner.stop()
  expect((await settled).map(({ status }) => status)).toContain('rejected')
  await expect(scanner.scan(contentOf(LARGE))).rejects.toThrow('stopped')
  await scanner.stop()
})
