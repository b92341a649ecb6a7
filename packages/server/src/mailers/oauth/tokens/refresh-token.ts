/**
 * One refresh (RFC 6749 §6), begun under a claim: ask the provider, then store what it said.
 *
 * A new refresh token is committed before the access token that came with it is used, for the old
 * one may be dead already. While the database is away it is tried again until the claim runs out.
 * A refusal that is the mailbox's own fault deactivates the mailer in the same transaction.
 */
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../../../platform/clock.ts'
import {
  DatabaseUnavailableError,
  type Db,
  type Queryable,
  type Tx,
} from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/log.ts'
import { SealedValueError } from '../../../platform/secrets/index.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../../../webhooks/index.ts'
import { changeState } from '../../state/change-state.ts'
import { BLAME_WINDOW_MS, detectSharedOutage } from '../../state/detect-shared-outage.ts'
import type { Deactivated, NoteDeactivated } from '../../state/log-deactivation.ts'
import { lockMailer } from '../../state/state-store.ts'
import { getApp, lockApp } from '../apps/app-store.ts'
import { loginTypeOf } from '../apps/oauth-app.ts'
import { type MailerKey, openToken, sealToken } from './mailer-token.ts'
import {
  type Grant,
  requestRefresh,
  type TokenFailure,
  type TokenRequestDeps,
} from './request-token.ts'
import { countRefreshes, storeFailure, storeRefreshed, type TokenRow } from './token-store.ts'

export interface RefreshDeps extends TokenRequestDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly wakeups: Wakeups
  readonly observe: (outcome: RefreshResult['kind']) => void
  readonly noteDeactivated: NoteDeactivated
}

/** Longer than the request and a database that is away for a while. */
export const REFRESH_LEASE_MS = 30_000
const STORE_FOR_MS = 18_000
const STORE_RETRY_MS = 250
/** How long a failure is the answer to everybody: a provider in trouble is not asked for each mail. */
const BLOCK_MS = { transient: 5_000, app: 30_000, revoked: 30_000 } as const

export type RefreshResult =
  | { readonly kind: 'refreshed'; readonly accessToken: string }
  /** It stays as it was, and may be tried again. */
  | { readonly kind: 'failed'; readonly failure: TokenFailure }
  /** This refresh has deactivated the mailer. */
  | { readonly kind: 'deactivated'; readonly failure: TokenFailure }
  /** Another grant came in between, or the mailer was not active: nothing was written. */
  | { readonly kind: 'lost' }

export async function refreshToken(
  deps: RefreshDeps,
  key: MailerKey,
  row: TokenRow,
  fence: string,
): Promise<RefreshResult> {
  const startedAt = performance.now()
  const asked = await ask(deps, key, row)
  const result = asked.ok
    ? await store(deps, key, fence, asked.grant)
    : await storeRefusal(deps, key, row, fence, asked.failure)
  deps.observe(result.kind)
  const failure = 'failure' in result ? result.failure : undefined
  deps.log[failure === undefined ? 'info' : 'warn'](
    {
      tenant_id: key.tenantId,
      mailer_id: key.mailerId,
      app_id: row.appId,
      outcome: result.kind,
      verdict: failure?.verdict,
      provider_error: failure?.providerError,
      is_rotated: asked.ok && asked.grant.refreshToken !== undefined,
      duration_ms: Math.round(performance.now() - startedAt),
    },
    'oauth_refresh.finished',
  )
  return result
}

async function ask(deps: RefreshDeps, key: MailerKey, row: TokenRow) {
  const app = await getApp(deps.db, key.tenantId, row.appId)
  if (app === undefined) throw new Error(`the OAuth app ${row.appId} of a mailer is gone`)
  let token: string
  try {
    token = openToken(deps.keyRing, key, 'refresh_token', row.refreshToken)
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    const providerError = `refresh token of mailer ${key.mailerId} cannot be opened`
    return {
      ok: false as const,
      failure: { verdict: 'app' as const, providerError, isAnswered: false },
    }
  }
  return requestRefresh(deps, app, loginTypeOf(row.configType), token)
}

async function store(
  deps: RefreshDeps,
  key: MailerKey,
  fence: string,
  { accessToken, expiresInS, refreshToken: rotated }: Grant,
): Promise<RefreshResult> {
  const sealed = {
    accessToken: sealToken(deps.keyRing, key, 'access_token', accessToken),
    refreshToken:
      rotated === undefined ? undefined : sealToken(deps.keyRing, key, 'refresh_token', rotated),
    expiresInS,
  }
  const isStored = await whileAway(() => storeRefreshed(deps.db, key, fence, sealed))
  return isStored ? { kind: 'refreshed', accessToken } : { kind: 'lost' }
}

function storeRefusal(
  deps: RefreshDeps,
  key: MailerKey,
  row: TokenRow,
  fence: string,
  failure: TokenFailure,
): Promise<RefreshResult> {
  return whileAway(async () => {
    const written =
      failure.verdict === 'revoked' && row.state === 'active'
        ? await deps.db.transaction((tx) => judge(tx, deps, key, row, fence, failure))
        : await keep(deps.db, key, fence, failure)
    deps.wakeups.wake(written.touched)
    if (written.deactivated !== undefined) deps.noteDeactivated(written.deactivated)
    return written.result
  })
}

interface Written {
  readonly result: RefreshResult
  readonly touched: readonly TouchedStream[]
  readonly deactivated?: Deactivated
}

async function keep(
  q: Queryable,
  key: MailerKey,
  fence: string,
  failure: TokenFailure,
): Promise<Written> {
  const blockMs = Math.max(BLOCK_MS[failure.verdict], failure.retryAfterMs ?? 0)
  const isRefused = failure.verdict === 'revoked'
  const isKept = await storeFailure(q, key, fence, { failure, blockMs, isRefused })
  return { result: isKept ? { kind: 'failed', failure } : { kind: 'lost' }, touched: [] }
}

/** The mailbox's own fault, or the app's: of an app, one refusal is looked at after the other. */
async function judge(
  tx: Tx,
  deps: RefreshDeps,
  key: MailerKey,
  row: TokenRow,
  fence: string,
  failure: TokenFailure,
): Promise<Written> {
  await lockApp(tx, key.tenantId, row.appId)
  // In the same order as a change of the mailer that stores a new grant.
  await lockMailer(tx, key)
  const kept = await keep(tx, key, fence, failure)
  if (kept.result.kind === 'lost') return kept
  const record = await countRefreshes(tx, key, row.appId, BLAME_WINDOW_MS)
  // One that is refused for longer than an app's trouble lasts is believed.
  if (record.isRecent && detectSharedOutage(record) === 'shared') {
    const { refused, worked } = record
    const ids = { tenant_id: key.tenantId, app_id: row.appId }
    deps.log.error({ ...ids, refused, worked }, 'oauth_app.suspected')
    return kept
  }
  const why = { reason: 'oauth_revoked', evidence: failure.providerError } as const
  const { configVersion } = row
  const changed = await changeState(tx, deps.clock, key, {
    kind: 'rejected',
    ...why,
    configVersion,
  })
  if (changed?.event === undefined) return { result: { kind: 'lost' }, touched: [] }
  const { touched } = await recordEvents(tx, [changed.event])
  const { tenantId, mailerId } = key
  const deactivated = { tenantId, mailerId, ...why }
  return { result: { kind: 'deactivated', failure }, touched, deactivated }
}

/** What was learnt is known here and nowhere else. */
async function whileAway<T>(write: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + STORE_FOR_MS
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) || performance.now() > giveUpAt) throw error
      await setTimeout(STORE_RETRY_MS)
    }
  }
}
