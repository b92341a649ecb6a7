/** getHealth's look: one at a time, within a time limit, and with a fix for each check. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { loadConfig } from '../config.ts'
import type { Db } from '../platform/db/index.ts'
import { createServiceDoctor } from './create.ts'
import type { Finding } from './examine-work.ts'
import { fixes, fixOf } from './fixes.ts'

const config = loadConfig({})
const db = {} as Db
const OK: Finding = { check: 'node', state: 'ok', detail: '24' }

it('looks once for all who ask, and again after ten seconds', async () => {
  let looks = 0
  const examine = async () => {
    looks += 1
    return [OK]
  }
  const look = createServiceDoctor({ db, config, examine })
  const [first, second] = await Promise.all([look(), look()])
  expect(first).toBe(second)
  expect(await look()).toBe(first)
  expect(looks).toBe(1)
})

it('answers a failed check when the look takes too long, and begins no second look beside it', async () => {
  let looks = 0
  const { promise, resolve } = Promise.withResolvers<Finding[]>()
  const examine = () => {
    looks += 1
    return promise
  }
  const look = createServiceDoctor({ db, config, examine, timeoutMs: 20 })
  for (let i = 0; i < 3; i++)
    expect((await look()).checks).toMatchObject([{ check: 'database', state: 'failed' }])
  expect(looks).toBe(1)
  resolve([OK])
  await promise
  expect((await look()).checks).toEqual([{ ...OK, fix: null }])
})

it('answers a failed check when the look fails', async () => {
  const examine = () => Promise.reject(new Error('it is away', { cause: new Error('no route') }))
  const { checks } = await createServiceDoctor({ db, config, examine })()
  expect(checks).toMatchObject([{ state: 'failed', detail: 'it is away: no route' }])
})

it('knows what to do about every check', () => {
  const sources = ['examine', 'examine-work', 'examine-queue', 'examine-hits']
    .map((name) => readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8'))
    .join('\n')
  const named = [
    ...sources.matchAll(/\b(?:check(?:: | = )|attempt\(|checkRole\(\s*)'([a-z][a-z -]*)'/g),
  ].map(([, name = '']) => name)
  expect(new Set(named).size).toBeGreaterThan(20)
  for (const check of named) {
    expect({ check, fix: fixOf({ check, state: 'warning' }) }).toMatchObject({
      fix: expect.stringMatching(/^[A-Z].+\.$/),
    })
    expect(fixOf({ check, state: 'ok' })).toBe(null)
  }
  expect(Object.keys(fixes).sort()).toEqual([...new Set(named)].sort())
})
