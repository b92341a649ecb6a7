import type { ThreadOutcome } from '@postrider/runtime/thread-pool'
import { afterEach, describe, expect, it } from 'vitest'
import type { ScannedContent, ScanResult } from './content.ts'
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

it('gives the same result for small and large content', async () => {
  const scanner = scannerOf()
  const contents = [PHISH, PHISH + LARGE, LARGE + PHISH].map(contentOf)
  // More at once than there are threads.
  const all = [...contents, ...contents, ...contents]
  const results = await Promise.all(all.map((content) => scanner.scan('tn_a', content)))
  for (const result of results) expect(result).toMatchObject(FOUND)
})

describe('scanning of hostile HTML', () => {
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
  ])('ends within the limits: 2 MB of %s', async (_, piece) => {
    const html = PHISH + piece.repeat((2 * MB) / piece.length)
    expect(await scannerOf().scan('tn_a', contentOf(html))).toMatchObject(FOUND)
  })
})

describe('content that exceeds the limits of a thread', () => {
  type Outcome = ThreadOutcome<ScanResult>
  /** A scanner whose threads answer in this order. */
  function scriptedOf(...outcomes: Outcome[]): PhishingScanner {
    const pool = {
      name: 'scripted',
      start: async () => undefined,
      stop: async () => undefined,
      run: async () => outcomes.shift() ?? Promise.reject(new Error('asked too often')),
    }
    return createPhishingScanner({ pools: { small: pool, large: pool } })
  }
  const tooMuch = { kind: 'too-much' }

  it.each(['cpu', 'memory'] as const)('is flagged at the limit of %s', async (limit) => {
    const scanner = scriptedOf({ kind: 'overran', limit })
    expect(await scanner.scan('tn_a', contentOf(LARGE))).toEqual(tooMuch)
  })

  it('is scanned once more at the time limit, as the machine may have been suspended', async () => {
    const late: Outcome = { kind: 'overran', limit: 'time' }
    const done: Outcome = {
      kind: 'done',
      output: { kind: 'scanned', scan: { signs: [], hosts: [] } },
    }
    const content = contentOf(LARGE)
    expect(await scriptedOf(late, done).scan('tn_a', content)).toMatchObject({ kind: 'scanned' })
    expect(await scriptedOf(late, late).scan('tn_a', content)).toEqual(tooMuch)
  })
})

describe('[P4] one tenant with 24 large contents', () => {
  const huge = contentOf(`${PHISH}${'<b>&lt;</b>'.repeat(50_000)}`)

  it('delays no ordinary content of another tenant', async () => {
    const scanner = scannerOf()
    const order: string[] = []
    const large = Array.from({ length: 24 }, () =>
      scanner.scan('hostile', huge).then(() => order.push('large')),
    )
    await scanner.scan('other', contentOf(PHISH + LARGE))
    order.push('small')
    expect(order.length).toBeLessThan(24)
    await Promise.all(large)
  })

  it('takes turns with large content of another tenant', async () => {
    const scanner = scannerOf()
    const order: string[] = []
    const first = Array.from({ length: 6 }, (_, i) =>
      scanner.scan('hostile', huge).then(() => order.push(`hostile ${i}`)),
    )
    const other = scanner.scan('other', huge).then(() => order.push('other'))
    const third = scanner.scan('third', huge).then(() => order.push('third'))
    await Promise.all([...first, other, third])
    // Two are scanned at a time, and a busy machine may take long for one of them. Without turns they are the last.
    expect(order.indexOf('other')).toBeLessThan(5)
    expect(order.indexOf('third')).toBeLessThan(6)
  })
})

it('scans the largest content that a request may have in a thread', async () => {
  const html = `ж${'a&lt;'.repeat((30 * 2 ** 20) / 5)}${PHISH}`
  expect(await scannerOf().scan('tn_a', contentOf(html))).toMatchObject(FOUND)
})

it('rejects waiting scans when it is stopped', async () => {
  const scanner = scannerOf()
  const all = Array.from({ length: 8 }, () => scanner.scan('tn_a', contentOf(PHISH + LARGE)))
  const settled = Promise.allSettled(all)
  await scanner.stop()
  expect((await settled).map(({ status }) => status)).toContain('rejected')
  await expect(scanner.scan('tn_a', contentOf(LARGE))).rejects.toMatchObject({
    name: 'RefusedError',
  })
  await scanner.stop()
})
