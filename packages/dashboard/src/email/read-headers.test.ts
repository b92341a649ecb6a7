import { expect, it } from 'vitest'
import { readHeaders } from './read-headers.ts'

it('reads fields in their order, folded ones as one line', () => {
  const raw = 'Subject: Hello\r\n there\r\nX-A: 1\r\nX-A: 2: 3\r\n\r\nBody: no field\r\n'
  expect(readHeaders(raw)).toEqual([
    { name: 'Subject', value: 'Hello there' },
    { name: 'X-A', value: '1' },
    { name: 'X-A', value: '2: 3' },
  ])
})

it('reads a header without an end, and lines that are no field', () => {
  expect(readHeaders(' lost\r\nnothing\r\nX: y')).toEqual([{ name: 'X', value: 'y' }])
  expect(readHeaders('')).toEqual([])
})
