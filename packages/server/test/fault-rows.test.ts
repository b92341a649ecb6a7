/** docs/testing.md names a test for each fault: it is there, and says so. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const rows = [...read('docs/testing.md').matchAll(/^\| ([A-Z]\d+) \|.*\| ([^|]+) \|$/gm)].map(
  ([, id = '', files = '']) =>
    [id, [...files.matchAll(/`([^`]+)`/g)].map(([, f = '']) => f)] as const,
)

it('docs/testing.md has a row for every fault of its list', () => {
  const numbered = (letter: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${letter}${i + 1}`)
  const wanted = [
    ...numbered('S', 10),
    ...numbered('R', 4),
    ...numbered('M', 13),
    ...numbered('O', 3),
    ...numbered('C', 5),
    ...numbered('H', 4),
    ...numbered('I', 12),
    'D7',
    'D8',
    ...numbered('P', 5),
    ...numbered('F', 3),
    ...numbered('B', 12),
    ...numbered('Q', 3),
    ...numbered('G', 5),
    ...numbered('E', 2),
    ...numbered('K', 2),
    ...numbered('T', 3),
  ]
  expect(rows.map(([id]) => id)).toEqual(wanted)
})

it.each(rows)('the tests of fault %s exist', (id, files) => {
  expect(files.length).toBeGreaterThan(0)
  const named = new RegExp(`(it|describe|\\.each\\([^;]*?\\))\\(\\s*['"\`]\\[${id}\\]`)
  expect(files.filter((file) => !named.test(read(file)))).toEqual([])
})
