/**
 * Access tokens of mailers that log in by OAuth: the one that is stored while it is good, else a new
 * one. One refresh at a time for a mailer, over all processes: a caller that finds another refresh under way
 * waits for its result. What keeps them apart is the row, nothing in memory.
 */
import { setTimeout } from 'node:timers/promises'
import type { Service } from '@postrider/runtime/service'
import { SealedValueError } from '../../../platform/secrets/index.ts'
import { type MailerKey, openToken } from './mailer-token.ts'
import {
  REFRESH_LEASE_MS,
  type RefreshDeps,
  type RefreshResult,
  refreshToken,
} from './refresh-token.ts'
import type { TokenFailure } from './request-token.ts'
import { claimRefresh, getToken, type TokenRow } from './token-store.ts'

export type AccessTokenResult =
  | { readonly kind: 'token'; readonly accessToken: string }
  /** None can be had now; its verdict says why. */
  | { readonly kind: 'failed'; readonly failure: TokenFailure }
  /** The grant was found to be revoked, and the mailer deactivated, by this call alone. */
  | { readonly kind: 'deactivated'; readonly failure: TokenFailure }
  /** The mailer is not active, or gone: somebody else found out. */
  | { readonly kind: 'inactive' }
  /** A refresh lasts longer than until the deadline, or the caller has to stop. */
  | { readonly kind: 'busy' }

export interface GetOptions {
  /** In the time of `performance.now()`, which no set clock moves. */
  readonly deadlineAt: number
  readonly signal?: AbortSignal | undefined
  /** The token that a server has just refused: another one is wanted. */
  readonly refused?: string | undefined
  /**
   * To find out whether the grant is good: the provider is asked in any case, also for a mailer that
   * is not active.
   */
  readonly isCheck?: boolean
}

export interface AccessTokens extends Service {
  /** Rejects only when the database does, or on a defect. */
  get(key: MailerKey, o: GetOptions): Promise<AccessTokenResult>
}

/** What is needed to log in with one. */
const LEAST_MS = 10_000
const WAIT_MS = 50
const WAIT_MS_MAX = 500

export function createAccessTokens(deps: RefreshDeps): AccessTokens {
  const underWay = new Set<Promise<unknown>>()

  /** To its end, whatever becomes of its caller: what the provider says once is not said again. */
  function refresh(key: MailerKey, row: TokenRow, fence: string) {
    const task = refreshToken(deps, key, row, fence)
    const tracked = task.catch(() => undefined).finally(() => underWay.delete(tracked))
    underWay.add(tracked)
    return task
  }

  async function obtain(
    key: MailerKey,
    o: GetOptions,
    signal: AbortSignal,
  ): Promise<AccessTokenResult> {
    const { isCheck = false } = o
    let seen: string | undefined
    for (let waitMs = WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
      const row = await getToken(deps.db, key)
      if (row === undefined || (row.state !== 'active' && !isCheck)) return { kind: 'inactive' }
      seen ??= row.version
      const stored = storedToken(deps, key, row, o.refused)
      const isNew = !isCheck || row.version !== seen
      if (stored !== undefined && row.isFresh && isNew) return tokenOf(stored)
      const spare =
        stored !== undefined && row.accessLeftMs > LEAST_MS && isNew ? stored : undefined
      if (row.blockedBy !== undefined && !isCheck)
        return spare === undefined ? failed(row.blockedBy) : tokenOf(spare)
      const result = row.isRefreshing ? undefined : await tryRefresh(key, row)
      if (result?.kind === 'refreshed') return tokenOf(result.accessToken)
      if (result?.kind === 'deactivated') return result
      if (spare !== undefined) return tokenOf(spare)
      if (result?.kind === 'failed') return result
      await setTimeout(waitMs, undefined, { signal })
    }
  }

  /** A refresh that the caller does not wait for any more goes on. */
  function get(key: MailerKey, o: GetOptions): Promise<AccessTokenResult> {
    const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(o.deadlineAt - performance.now())))
    const signal = o.signal === undefined ? timeout : AbortSignal.any([timeout, o.signal])
    const ended = new Promise<AccessTokenResult>((resolve) => {
      const end = () => resolve({ kind: 'busy' })
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
    })
    return Promise.race([ended, obtain(key, o, signal)])
  }

  /** Undefined when another was faster. */
  async function tryRefresh(key: MailerKey, row: TokenRow): Promise<RefreshResult | undefined> {
    const fence = await claimRefresh(deps.db, key, row.version, REFRESH_LEASE_MS)
    return fence === undefined ? undefined : refresh(key, row, fence)
  }

  return {
    name: 'oauth tokens',
    get,
    start: async () => undefined,
    async stop() {
      await Promise.all(underWay)
    },
  }
}

function tokenOf(accessToken: string): AccessTokenResult {
  return { kind: 'token', accessToken }
}

function failed(failure: TokenFailure): AccessTokenResult {
  return { kind: 'failed', failure }
}

/** One that cannot be opened is as good as none: a new one is sealed with a key that is there. */
function storedToken(
  { keyRing }: RefreshDeps,
  key: MailerKey,
  { accessToken }: TokenRow,
  refused: string | undefined,
): string | undefined {
  if (accessToken === undefined) return undefined
  try {
    const opened = openToken(keyRing, key, 'access_token', accessToken)
    return opened === refused ? undefined : opened
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    return undefined
  }
}
