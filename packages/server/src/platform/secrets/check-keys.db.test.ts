import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { checkKeys, KeysDoNotFitError } from './index.ts'
import { toKeys } from './secrets-file.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.db.query('delete from platform_secret_key')
})

const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const check = (secretKeys: string) => checkKeys(database.db, toKeys({ secretKeys }), [])

describe('the keys of a database', () => {
  it('are stored at the first start, and known at the next', async () => {
    const key = keyOf('a')
    await check(key)
    await expect(check(key)).resolves.toEqual([])
  })

  it('are refused when another key has the same id', async () => {
    await check(keyOf('a'))
    await expect(check(keyOf('a'))).rejects.toThrow(KeysDoNotFitError)
  })

  it('are refused when none of them is known', async () => {
    await check(keyOf('a'))
    await expect(check(keyOf('b'))).rejects.toThrow('sealed with the secret key "a"')
  })

  it('may have a new one first while the old one is kept, and not without it', async () => {
    const [old, current] = [keyOf('a'), keyOf('b')]
    await check(old)
    await check(`${current},${old}`)
    await expect(check(current)).rejects.toThrow('secret key "a" (links in mail that was sent)')
  })

  it('do not appear in the refusal', async () => {
    await check(keyOf('a'))
    const wrong = keyOf('a')
    const error = await check(wrong).catch((e: unknown) => e)
    expect(String(error)).not.toContain(wrong.slice(2, 12))
  })
})
