import { describe, expect, it } from 'vitest'
import { PostriderError } from './errors.ts'
import { eachEntry, emptyPagesMax, type Page } from './pages.ts'

/** Pages by their token; the first has none. Notes which were asked for. */
function list(pages: Record<string, Page<number>>) {
  const asked: (string | undefined)[] = []
  const fetchPage = async (token: string | undefined): Promise<Page<number>> => {
    asked.push(token)
    return pages[token ?? ''] ?? { entries: [] }
  }
  return { asked, fetchPage }
}

async function collect(entries: AsyncIterable<number>): Promise<number[]> {
  const all: number[] = []
  for await (const entry of entries) all.push(entry)
  return all
}

describe('eachEntry', () => {
  it('yields the entries of all pages in order, over empty pages too', async () => {
    const { asked, fetchPage } = list({
      '': { entries: [1, 2], nextPageToken: 'a' },
      a: { entries: [], nextPageToken: 'b' },
      b: { entries: [3] },
    })
    expect(await collect(eachEntry(undefined, fetchPage))).toStrictEqual([1, 2, 3])
    expect(asked).toStrictEqual([undefined, 'a', 'b'])
  })

  it.each([undefined, null, ''])('ends at a page whose token is %j', async (nextPageToken) => {
    const { asked, fetchPage } = list({
      '': { entries: [1], nextPageToken: 'a' },
      a: { entries: [2], nextPageToken },
    })
    expect(await collect(eachEntry(undefined, fetchPage))).toStrictEqual([1, 2])
    expect(asked).toStrictEqual([undefined, 'a'])
  })

  it.each([7, true, {}])('refuses a token that is no text: %j', async (nextPageToken) => {
    const { asked, fetchPage } = list({ '': { entries: [], nextPageToken } })
    await expect(collect(eachEntry(undefined, fetchPage))).rejects.toMatchObject({
      code: 'unexpected_response',
    })
    expect(asked).toStrictEqual([undefined])
  })

  it('ends with an error after very many empty pages', async () => {
    let asked = 0
    const fetchPage = async () => {
      asked += 1
      return { entries: [], nextPageToken: String(asked) }
    }
    await expect(collect(eachEntry(undefined, fetchPage))).rejects.toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('empty'),
    })
    expect(asked).toBe(emptyPagesMax)
  })

  it('ends with the signal, also within a page', async () => {
    const { fetchPage } = list({ '': { entries: [1, 2, 3] } })
    const controller = new AbortController()
    const seen: number[] = []
    const all = async () => {
      for await (const entry of eachEntry(undefined, fetchPage, controller)) {
        seen.push(entry)
        if (entry === 2) controller.abort('enough')
      }
    }
    await expect(all()).rejects.toMatchObject({ code: 'aborted' })
    expect(seen).toStrictEqual([1, 2])
  })

  it('begins at a given page', async () => {
    const { asked, fetchPage } = list({ b: { entries: [3] } })
    expect(await collect(eachEntry('b', fetchPage))).toStrictEqual([3])
    expect(asked).toStrictEqual(['b'])
  })

  it('requests a page when its entries are wanted, and not before', async () => {
    const { asked, fetchPage } = list({ '': { entries: [1, 2], nextPageToken: 'a' } })
    for await (const entry of eachEntry(undefined, fetchPage)) if (entry === 2) break
    expect(asked).toStrictEqual([undefined])
  })

  it('ends with an error when a token repeats', async () => {
    const { asked, fetchPage } = list({
      '': { entries: [1], nextPageToken: 'a' },
      a: { entries: [2], nextPageToken: 'a' },
    })
    await expect(collect(eachEntry(undefined, fetchPage))).rejects.toBeInstanceOf(PostriderError)
    expect(asked).toStrictEqual([undefined, 'a'])
  })

  it('finds a cycle of tokens of any length', async () => {
    const asked: (string | undefined)[] = []
    const fetchPage = async (token: string | undefined) => {
      asked.push(token)
      const n = token === undefined ? 0 : Number(token)
      return { entries: [n], nextPageToken: String(n === 9 ? 4 : n + 1) }
    }
    await expect(collect(eachEntry(undefined, fetchPage))).rejects.toBeInstanceOf(PostriderError)
    expect(asked.length).toBeLessThan(30)
  })

  it('ends with the error of a page', async () => {
    const fail = () => Promise.reject(new Error('no'))
    await expect(collect(eachEntry(undefined, fail))).rejects.toThrow('no')
  })
})
