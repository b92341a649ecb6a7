/** docs/ADDING_A_RELAY.md against the code: what it sends its reader to is there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const page = read('docs/ADDING_A_RELAY.md')

const rows = [...page.matchAll(/^\| `(packages\/[^`]+)` \| `([^`]+)` \|/gm)].map(
  ([, path = '', name = '']) => [path, name] as const,
)
const paths = [...page.matchAll(/`((?:packages|docs)\/[\w./-]+)`/g)].map(([, path = '']) => path)

it('ADDING_A_RELAY.md names many files', () => {
  expect(rows.length).toBeGreaterThan(12)
})

it.each(rows)('%s has the documented %s', (path, name) => {
  expect(read(path)).toContain(name)
})

it.each([...new Set(paths)])('the documented %s exists', (path) => {
  expect(existsSync(new URL(path, root))).toBe(true)
})

it('accounts have exactly the documented fields', () => {
  const { body } = /(?<body>export const configureRelayBody = .*?^\}\))/ms.exec(
    read('packages/contract/src/relays.ts'),
  )?.groups ?? { body: '' }
  const fields = [...(body ?? '').matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name)
  expect(fields).toEqual(['api_key', 'api_base', 'callback_secret', 'verification_key'])
})
