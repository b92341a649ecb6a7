/**
 * How often a login may fail (docs/reference/people.md#login-limits), in 15 minutes and in this process: 30
 * times from an address, ten times for an account from one network, and ten times for an account from all
 * networks by which its user has not logged in lately. So nobody locks a user out by failing elsewhere.
 *
 * An attempt counts from its start, so that many at once count, too. A success is taken back.
 */

import { ApiError } from '../../platform/errors.ts'
import { networkOf } from '../../platform/limits/address-network.ts'
import { createRateLimit, type RateLimit } from '../../platform/limits/rate-limit.ts'

export const failuresOfAccountMax = 10
export const failuresOfAddressMax = 30
const WINDOW_S = 15 * 60

export interface LoginLimits {
  /** Runs the work, unless there were too many failures; a 401 of the work is one. */
  attempt<T>(
    o: { readonly account: string; readonly address: string; readonly isUsual: boolean },
    work: () => Promise<T>,
  ): Promise<T>
}

export function createLoginLimits(): LoginLimits {
  const limit = (name: string, usesMax: number) =>
    createRateLimit({ name, usesMax, windowS: WINDOW_S })
  const ofAddress = limit('login-failures-of-address', failuresOfAddressMax)
  const ofAccountHere = limit('login-failures-of-account', failuresOfAccountMax)
  const ofAccount = limit('login-failures-of-account', failuresOfAccountMax)
  return {
    attempt({ account, address, isUsual }, work) {
      const network = networkOf(address)
      const here = () => countFailures(ofAccountHere, `${network} ${account}`, work)
      const all = () => (isUsual ? here() : countFailures(ofAccount, account, here))
      return countFailures(ofAddress, network, all)
    },
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** What is not the caller's failure, such as a database that is away, does not count. */
async function countFailures<T>(
  limit: RateLimit,
  caller: string,
  work: () => Promise<T>,
): Promise<T> {
  const outcome = await limit.useUnlessDone<Outcome<T>>(caller, async () => {
    try {
      return { value: await work() }
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthorized') throw error
      return { error }
    }
  })
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
