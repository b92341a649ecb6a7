import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAddressPolicy } from './address-policy.ts'
import { createConnector } from './connector.ts'
import { createHttpPools, type HttpPools } from './http-pools.ts'

const URL_A = new URL('https://a.example/')

let pools: HttpPools
beforeEach(() => {
  pools = createHttpPools({
    connector: createConnector({ policy: createAddressPolicy([]), lookup: async () => [] }),
    secureContext: () => {
      throw new Error('nothing is connected to')
    },
    idleMs: 60_000,
    poolsMax: 8,
  })
})
afterEach(() => pools.close())

const acquire = () => pools.acquire('a', URL_A, 1_000)
const acquireFresh = () => {
  pools.renew('a', URL_A)
  return acquire()
}

describe('a pool that is replaced', () => {
  it('is closed at once when no request is under way on it', () => {
    const old = acquire()
    pools.release(old)
    const fresh = acquireFresh()
    expect(old.pool.destroyed).toBe(true)
    expect(fresh.pool.destroyed).toBe(false)
    expect(acquire()).toBe(fresh)
  })

  it('is closed when the last request on it has ended', () => {
    const old = acquire()
    acquire()
    const fresh = acquireFresh()
    pools.release(old)
    expect(old.pool.destroyed).toBe(false)
    pools.release(old)
    expect(old.pool.destroyed).toBe(true)
    pools.release(fresh)
    expect(fresh.pool.destroyed).toBe(false)
    expect(pools.size()).toBe(1)
  })

  it('is closed with all others at the end, whatever is under way', async () => {
    const old = acquire()
    const fresh = acquireFresh()
    await pools.close()
    expect([old.pool.destroyed, fresh.pool.destroyed]).toEqual([true, true])
  })
})
