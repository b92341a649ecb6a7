import { expect, it } from 'vitest'
import { type BulkCount, type BulkPage, runBulk } from './run-bulk.ts'

const pages: Record<string, BulkPage> = {
  first: { matched: 10, changed: 9, uncertain: 2, nextPageToken: 'second' },
  second: { matched: 0, changed: 0, nextPageToken: 'third' },
  third: { matched: 4, changed: 4, uncertain: 1, nextPageToken: '' },
}
const call = (token: string | undefined) => Promise.resolve(pages[token ?? 'first'] as BulkPage)

it('goes on to the last page, over pages where nothing fitted', async () => {
  const seen: BulkCount[] = []
  const result = await runBulk({
    call,
    onProgress: (one) => seen.push(one),
    isStopped: () => false,
  })
  expect(result).toEqual({ matched: 14, changed: 13, uncertain: 3, isWhole: true })
  expect(seen.map(({ matched }) => matched)).toEqual([10, 10, 14])
})

it('stops before the next call, and tells what was done', async () => {
  let calls = 0
  const result = await runBulk({
    call(token) {
      calls += 1
      return call(token)
    },
    onProgress: () => undefined,
    isStopped: () => calls > 0,
  })
  expect(result).toEqual({ matched: 10, changed: 9, uncertain: 2, isWhole: false })
  expect(calls).toBe(1)
})

it('ends with the error of a call', async () => {
  const failing = () => Promise.reject(new Error('gone'))
  await expect(
    runBulk({ call: failing, onProgress: () => undefined, isStopped: () => false }),
  ).rejects.toThrow('gone')
})
