import { afterAll, expect, it } from 'vitest'
import { createJsonReader, readJson } from './json-reader.ts'

const reader = createJsonReader()
afterAll(() => reader.stop())

const LONG = 2 * 1024 * 1024
const read = async (text: string): Promise<unknown> => reader.read('tn_a', Buffer.from(text))

it('refuses an object with more than 10,000 names by its path, before schema validation', () => {
  const withNames = (count: number) => {
    const names = Array.from({ length: count }, (_, i) => [`v${i}`, 0] as const)
    return Buffer.from(JSON.stringify({ template_data: [Object.fromEntries(names)] }))
  }
  expect(readJson(withNames(10_000))).toMatchObject({ kind: 'value' })
  expect(readJson(withNames(10_001))).toMatchObject({
    kind: 'refused',
    code: 'validation_failed',
    errors: [{ path: '/template_data/0', message: 'must not have more than 10000 names' }],
  })
})

it('reads a long body in a thread, with the same result', async () => {
  const value = { a: ['é☀', 1, null, true], b: 'x'.repeat(LONG) }
  expect(reader.read('tn_a', Buffer.from('{"a":1}'))).toEqual({ a: 1 })
  expect(await read(JSON.stringify(value))).toEqual(value)
})

it.each([
  ['what is no JSON', `[${' '.repeat(LONG)}`, { code: 'invalid_json' }],
  [
    'NUL',
    `{"a":"${'x'.repeat(LONG)}\\u0000"}`,
    { errors: [{ path: '/a', message: 'must not contain NUL' }] },
  ],
  [
    'a name given twice',
    `{"a":1,"a":"${'x'.repeat(LONG)}"}`,
    { errors: [{ path: '/a', message: 'is given twice' }] },
  ],
])('refuses %s in a long body like in a short one', async (_, text, refusal) => {
  await expect(read(text)).rejects.toMatchObject(refusal)
})

it('refuses names that are long in sum, before parsing the values', async () => {
  const names = Array.from({ length: 3_000 }, (_, i) => `"${i}${'x'.repeat(800)}":1`)
  await expect(read(`{${names.join(',')}}`)).rejects.toMatchObject({
    errors: [{ path: '', message: expect.stringMatching(/^must not hold names of more than/) }],
  })
})

it('leaves a body in shared memory as it is', async () => {
  const shared = Buffer.alloc(2 * LONG, '1')
  await expect(reader.read('tn_a', shared.subarray(0, LONG))).rejects.toThrow()
  expect(shared.length).toBe(2 * LONG)
})
