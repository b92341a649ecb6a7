import { describe, expect, it } from 'vitest'
import type { CalledBack } from '../../relays/index.ts'
import { createCallbackAccounts } from './callback-accounts.ts'

const ACCOUNT: CalledBack = { tenantId: 'tn_1', kind: 'sparkpost', secrets: {} }

/** Look-ups that end when they are told to. */
function setUp() {
  let nowMs = 0
  const underWay: (() => void)[] = []
  const asked: string[] = []
  const accounts = createCallbackAccounts({
    find: ({ token }) => {
      asked.push(token)
      return new Promise((resolve) =>
        underWay.push(() => resolve(token === 'right' ? ACCOUNT : undefined)),
      )
    },
    monotonicMs: () => nowMs,
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    accounts,
    asked,
    underWay,
    settle,
    pass: (ms: number) => {
      nowMs += ms
    },
    async endAll() {
      await settle()
      while (underWay.length > 0) {
        for (const end of underWay.splice(0)) end()
        await settle()
      }
    },
  }
}

describe('guessed callback tokens', () => {
  it('have few concurrent lookups, and delay no other address', async () => {
    const { accounts, asked, settle, endAll } = setUp()
    const guesses = Array.from({ length: 100 }, (_, i) =>
      accounts.find('sparkpost', `wrong-${i}`, '192.0.2.1'),
    )
    const right = accounts.find('sparkpost', 'right', '192.0.2.2')
    await settle()
    expect(asked).toEqual(['wrong-0', 'wrong-1', 'right'])
    await endAll()
    expect(await right).toBe(ACCOUNT)
    expect(await Promise.all(guesses)).toEqual(guesses.map(() => undefined))
  })

  it('are refused beyond a bounded number, with the name of the bound', async () => {
    const { accounts, endAll } = setUp()
    const guesses = Array.from({ length: 103 }, (_, i) =>
      accounts.find('sparkpost', `wrong-${i}`, '192.0.2.1'),
    )
    await expect(guesses.at(-1)).rejects.toMatchObject({ by: 'callback-lookups' })
    await endAll()
    await Promise.all(guesses.slice(0, -1))
  })

  it('do not block the account of a known token', async () => {
    const { accounts, endAll, pass } = setUp()
    const first = accounts.find('sparkpost', 'right', '192.0.2.1')
    await endAll()
    await first
    pass(2_000)
    const guesses = Array.from({ length: 100 }, (_, i) =>
      accounts.find('sparkpost', `wrong-${i}`, '192.0.2.1'),
    )
    const again = accounts.find('sparkpost', 'right', '192.0.2.1')
    await endAll()
    expect(await again).toBe(ACCOUNT)
    await Promise.all(guesses)
  })

  it('are answered from memory for two seconds', async () => {
    const { accounts, asked, endAll, pass } = setUp()
    const first = accounts.find('sparkpost', 'wrong', '192.0.2.1')
    await endAll()
    await first
    pass(1_999)
    await accounts.find('sparkpost', 'wrong', '192.0.2.1')
    expect(asked).toEqual(['wrong'])
  })
})
