import { setTimeout } from 'node:timers/promises'
import { createOAuthServer, type OAuthServer, REFUSALS, type TokenReply } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../../test/blocked.ts'
import type { TestDatabase } from '../../../../test/database.ts'
import { emptyTables } from '../../../../test/empty-tables.ts'
import { createTestTokens } from '../../../../test/oauth.ts'
import { keyRing } from '../../../../test/sender.ts'
import { createSendingDatabase } from '../../../../test/sending.ts'
import { DatabaseUnavailableError, type Db } from '../../../platform/db/index.ts'
import { createEgress } from '../../../platform/egress/index.ts'
import { newId } from '../../../platform/ids.ts'
import { createKeyRing } from '../../../platform/secrets/index.ts'
import { type NewMailer, updateMailer } from '../../store.ts'
import { insertApp } from '../apps/app-store.ts'
import { sealClientSecret } from '../apps/oauth-app.ts'
import { insertWithGrant, keepGrant } from '../login/save-grant.ts'
import type { AccessTokens } from './access-tokens.ts'
import { openToken } from './mailer-token.ts'
import { claimRefresh, getToken } from './token-store.ts'

const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
let database: TestDatabase
let db: Db
let provider: OAuthServer
let tokens: AccessTokens
const seen: string[] = []
const isDeactivation = ({ msg }: { msg: string }) => msg === 'mailer.deactivated'

beforeAll(async () => {
  database = await createSendingDatabase({ poolMax: 12 })
  db = database.db
})
afterAll(async () => {
  await egress.close()
  await database.close()
})
beforeEach(async () => {
  await emptyTables(db, 'webhooks_event')
  await db.query('delete from mailers_mailer')
  await db.query('delete from mailers_oauth_app')
  provider = await createOAuthServer({ rotates: true })
  tokens = createTestTokens(db, egress, seen)
  const key = { tenantId: 'tn_a', appId: 'app' }
  await insertApp(
    db,
    {
      ...key,
      provider: 'custom',
      clientId: provider.clientId,
      clientSecret: sealClientSecret(keyRing, key, provider.clientSecret),
      redirectUris: [],
      authorizeUrl: provider.authorizeUrl,
      tokenUrl: provider.tokenUrl,
    },
    100,
  )
})
afterEach(async () => {
  await tokens.stop()
  await provider.close()
})

async function addMailer(change: Partial<NewMailer> = {}) {
  const mailerId = newId('smtp')
  const email = `${mailerId}@example.com`.toLowerCase()
  const mailer: NewMailer = {
    tenantId: 'tn_a',
    mailerId,
    name: 'M',
    email,
    configType: 'oauth_smtp',
    connectionType: 'oauth',
    config: { host: '127.0.0.1', port: 1, secure: 'None', tlsVerify: true, username: email },
    appId: 'app',
    uncertain: 'at_least_once',
    limits: {},
    hostEverWorked: false,
    ...change,
  }
  return db.transaction((tx) =>
    insertWithGrant(tx, keyRing, mailer, { refreshToken: provider.grant(email) }),
  )
}

type Key = { readonly tenantId: string; readonly mailerId: string }
const soon = () => performance.now() + 10_000
const get = (key: Key, o: object = {}, of = tokens) => of.get(key, { deadlineAt: soon(), ...o })
const stateOf = async ({ mailerId }: Key) =>
  (
    await db.query<{ state: string; state_reason: string | null; state_evidence: string | null }>(
      'select state, state_reason, state_evidence from mailers_mailer where mailer_id = $1',
      [mailerId],
    )
  ).rows[0]
const events = async () =>
  (await db.query<{ body: unknown; owner: string }>('select body, owner from webhooks_event')).rows
const expire = (interval = '1 s') =>
  db.query(`update mailers_oauth_token
    set access_expires_at = now() + interval '${interval}', refreshed_at = now() - interval '1 hour'`)
const unblock = () => db.query('update mailers_oauth_token set blocked_until = null')

/** The provider's first answer waits until it is let go; the others are given at once. */
function hold(reply?: TokenReply) {
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  provider.setScript(async ({ n }) => {
    if (n > 1) return undefined
    asked.resolve()
    await gate.promise
    return reply
  })
  return { asked: asked.promise, letGo: () => gate.resolve() }
}

describe('an access token', () => {
  it('is stored, sealed, for all processes until shortly before it expires', async () => {
    const mailer = await addMailer()
    const first = await get(mailer)
    const other = createTestTokens(db, egress)
    expect(await get(mailer, {}, other)).toEqual(first)
    expect(provider.tokenRequests).toHaveLength(1)
    const { rows } = await db.query<{ access_token: string; refresh_token: string }>(
      'select access_token, refresh_token from mailers_oauth_token',
    )
    expect(rows[0]?.access_token).toMatch(/^v1\.k\./)
    expect(rows[0]?.refresh_token).toMatch(/^v1\.k\./)
    await expire()
    expect(await get(mailer)).not.toEqual(first)
    expect(provider.tokenRequests).toHaveLength(2)
  })

  it('is renewed before it expires, and used on when the provider is away', async () => {
    const mailer = await addMailer()
    const first = await get(mailer)
    await expire('2 minutes')
    provider.setScript(() => 'drop')
    expect(await get(mailer)).toEqual(first)
    expect(await get(mailer)).toEqual(first)
    expect(provider.tokenRequests).toHaveLength(2)
    await unblock()
    provider.setScript(undefined)
    expect(await get(mailer)).not.toEqual(first)
  })

  it('is not renewed at once when it is valid for minutes only', async () => {
    const mailer = await addMailer()
    provider.setGrantFields({ expires_in: '60' })
    await get(mailer)
    await get(mailer)
    expect(provider.tokenRequests).toHaveLength(1)
  })

  it('is renewed once for all callers to whom a server has refused it', async () => {
    const mailer = await addMailer()
    const first = await get(mailer)
    if (first.kind !== 'token') throw new Error(first.kind)
    const refused = first.accessToken
    const others = Array.from({ length: 5 }, () => get(mailer, { refused }))
    const results = await Promise.all(others)
    expect(new Set(results.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(results[0]).not.toEqual(first)
    expect(provider.tokenRequests).toHaveLength(2)
  })

  it('is renewed when no key decrypts it', async () => {
    const mailer = await addMailer()
    await get(mailer)
    await db.query(`update mailers_oauth_token set access_token = 'v1.gone.AAAA'`)
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })
})

describe('[O1] two workers that refresh at the same time', () => {
  it('make one request to the provider', async () => {
    const mailer = await addMailer()
    const workers = [tokens, ...[1, 2, 3].map(() => createTestTokens(db, egress))]
    const results = await Promise.all(
      workers.flatMap((of) => [get(mailer, {}, of), get(mailer, {}, of)]),
    )
    expect(new Set(results.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(results[0]).toMatchObject({ kind: 'token' })
    expect(provider.tokenRequests).toHaveLength(1)
  })

  it('wait for each other until their deadline', async () => {
    const mailer = await addMailer()
    const { asked, letGo } = hold()
    const first = get(mailer)
    await asked
    expect(await get(mailer, { deadlineAt: performance.now() + 100 })).toEqual({ kind: 'busy' })
    letGo()
    expect(await first).toMatchObject({ kind: 'token' })
  })

  it("do not refresh again after reading the row before the other's refresh", async () => {
    const mailer = await addMailer()
    const before = await getToken(db, mailer)
    await get(mailer)
    expect(await claimRefresh(db, mailer, before?.version ?? '', 1_000)).toBeUndefined()
    const now = await getToken(db, mailer)
    expect(await claimRefresh(db, mailer, now?.version ?? '', 1_000)).toBeDefined()
  })

  it('do not keep a caller waiting that has to stop, and finish the refresh', async () => {
    const mailer = await addMailer()
    const { asked, letGo } = hold()
    const stopper = new AbortController()
    const own = get(mailer, { signal: stopper.signal })
    const late = get(mailer, { deadlineAt: performance.now() + 100 })
    await asked
    stopper.abort()
    expect(await own).toEqual({ kind: 'busy' })
    expect(await late).toEqual({ kind: 'busy' })
    letGo()
    await tokens.stop()
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
    expect(provider.tokenRequests).toHaveLength(1)
  })

  it('wait for a dead process until its claim expires', async () => {
    const mailer = await addMailer()
    await db.query(`update mailers_oauth_token
      set refreshing_until = now() - interval '1 ms', fence = fence + 1`)
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })

  it('do not store a result after their claim was taken over', async () => {
    const mailer = await addMailer()
    const { asked, letGo } = hold({ status: 400, body: { error: 'invalid_grant' } })
    const late = get(mailer)
    await asked
    await db.query(`update mailers_oauth_token set refreshing_until = now() - interval '1 ms'`)
    const fast = await get(mailer, {}, createTestTokens(db, egress))
    letGo()
    expect(fast).toMatchObject({ kind: 'token' })
    expect(await late).toEqual(fast)
    expect(await stateOf(mailer)).toMatchObject({ state: 'active' })
  })
})

describe('[O2] a refresh token that is replaced', () => {
  const storedRefreshToken = async (key: Key) => {
    const { rows } = await db.query<{ refresh_token: string }>(
      'select refresh_token from mailers_oauth_token where mailer_id = $1',
      [key.mailerId],
    )
    return openToken(keyRing, key, 'refresh_token', rows[0]?.refresh_token ?? '')
  }

  it('is stored before the access token that came with it is used', async () => {
    const mailer = await addMailer()
    let isStored = false
    const watched: Db = {
      ...db,
      async query(s, values) {
        const result = await db.query<never>(s, values)
        if (typeof s === 'object' && s.name === 'mailers.store_refreshed') isStored = true
        return result
      },
    }
    const of = createTestTokens(watched, egress)
    expect(await get(mailer, {}, of)).toMatchObject({ kind: 'token' })
    expect(isStored).toBe(true)
    const rotated = await storedRefreshToken(mailer)
    await expire()
    await get(mailer)
    expect(provider.tokenRequests.at(-1)?.parameters.refresh_token).toBe(rotated)
  })

  it('is stored by repetition while the database is away', async () => {
    const mailer = await addMailer()
    let failures = 2
    const flaky: Db = {
      ...db,
      query(s, values) {
        const isStore = typeof s === 'object' && s.name === 'mailers.store_refreshed'
        if (isStore && failures-- > 0) throw new DatabaseUnavailableError('away')
        return db.query<never>(s, values)
      },
    }
    expect(await get(mailer, {}, createTestTokens(flaky, egress))).toMatchObject({ kind: 'token' })
    expect(provider.tokenRequests).toHaveLength(1)
    await expire()
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })

  it('is lost when the process dies before storing it: one deactivation with one event', async () => {
    const mailer = await addMailer()
    const dying: Db = {
      ...db,
      query(s, values) {
        if (typeof s === 'object' && s.name === 'mailers.store_refreshed') throw new Error('killed')
        return db.query<never>(s, values)
      },
    }
    await expect(get(mailer, {}, createTestTokens(dying, egress))).rejects.toThrow('killed')
    await db.query(`update mailers_oauth_token set refreshing_until = now() - interval '1 ms'`)
    expect(await get(mailer)).toMatchObject({ kind: 'deactivated' })
    expect(await get(mailer)).toEqual({ kind: 'inactive' })
    expect(await events()).toHaveLength(1)
  })

  it('is used by the next process when this one dies right after storing it', async () => {
    const mailer = await addMailer()
    const dying: Db = {
      ...db,
      async query(s, values) {
        const result = await db.query<never>(s, values)
        if (typeof s === 'object' && s.name === 'mailers.store_refreshed') throw new Error('killed')
        return result
      },
    }
    await expect(get(mailer, {}, createTestTokens(dying, egress))).rejects.toThrow('killed')
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
    expect(provider.tokenRequests).toHaveLength(1)
    await expire()
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })

  it('is not lost when the caller has gone, as stop waits for it', async () => {
    const mailer = await addMailer()
    provider.setScript(async () => {
      await setTimeout(50)
      return undefined
    })
    const given = get(mailer)
    while (provider.tokenRequests.length === 0) await setTimeout(1)
    await tokens.stop()
    expect(await storedRefreshToken(mailer)).not.toBe(
      provider.tokenRequests[0]?.parameters.refresh_token,
    )
    await given
  })

  it('is kept when the provider returns no new one', async () => {
    const mailer = await addMailer()
    provider.setGrantFields({ refresh_token: undefined })
    const before = await storedRefreshToken(mailer)
    await get(mailer)
    expect(await storedRefreshToken(mailer)).toBe(before)
  })
})

describe('[O3] a refresh token that is revoked', () => {
  it('[interface 2.6] deactivates the mailer, with one event, for one caller', async () => {
    const mailer = await addMailer()
    provider.revoke(mailer.email)
    const workers = [tokens, createTestTokens(db, egress, seen)]
    const results = await Promise.all(
      workers.flatMap((of) => [get(mailer, {}, of), get(mailer, {}, of)]),
    )
    expect(results.map(({ kind }) => kind).sort()).toEqual([
      'deactivated',
      'inactive',
      'inactive',
      'inactive',
    ])
    const evidence = JSON.stringify(REFUSALS.googleRevoked.body)
    const noted = seen.map((line) => JSON.parse(line)).filter(isDeactivation)
    expect(noted.filter((line) => line.mailer_id === mailer.mailerId)).toMatchObject([
      { level: 'warn', tenant_id: 'tn_a', reason: 'oauth_revoked', evidence },
    ])
    expect(await stateOf(mailer)).toEqual({
      state: 'deactivated',
      state_reason: 'oauth_revoked',
      state_evidence: evidence,
    })
    const [event, ...more] = await events()
    expect(more).toEqual([])
    const body = typeof event?.body === 'string' ? JSON.parse(event.body) : event?.body
    expect(body).toEqual({
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: mailer.mailerId,
        config_type: 'oauth_smtp',
        failed_reason: 'oauth_revoked',
        provider_error: evidence,
      },
    })
    expect(provider.tokenRequests).toHaveLength(1)
  })

  it('[interface 6.3] reports a mailbox to the webhook of the mailbox', async () => {
    const mailer = await addMailer({ configType: 'smtp_imap' })
    provider.revoke(mailer.email)
    await get(mailer)
    expect(await events()).toMatchObject([{ owner: mailer.mailerId }])
  })

  it('does not discard a new grant that was stored meanwhile', async () => {
    const mailer = await addMailer()
    const { asked, letGo } = hold(REFUSALS.googleRevoked)
    const old = get(mailer)
    await asked
    await db.query(`update mailers_oauth_token set fence = fence + 1, version = version + 1,
      refreshing_until = null`)
    letGo()
    expect(await old).toMatchObject({ kind: 'token' })
    expect(await events()).toEqual([])
  })

  it('causes no deadlock with a new grant that is stored meanwhile', async () => {
    const mailer = await addMailer()
    provider.revoke(mailer.email)
    let refused: ReturnType<typeof get> | undefined
    await db.transaction(async (tx) => {
      await updateMailer(tx, mailer)
      refused = get(mailer)
      await untilBlocked(db)
      await keepGrant(tx, keyRing, mailer, { refreshToken: provider.grant(mailer.email) })
    })
    expect(await refused).toMatchObject({ kind: 'token' })
    expect(await stateOf(mailer)).toMatchObject({ state: 'active' })
  })

  it('does not overwrite a new grant with a late success', async () => {
    const mailer = await addMailer()
    const { asked, letGo } = hold({
      status: 200,
      body: { access_token: 'old', refresh_token: 'old', expires_in: 3600 },
    })
    const late = get(mailer)
    await asked
    await db.transaction((tx) =>
      keepGrant(tx, keyRing, mailer, {
        refreshToken: provider.grant(mailer.email),
        accessToken: 'new',
        expiresInS: 3600,
      }),
    )
    letGo()
    expect(await late).toEqual({ kind: 'token', accessToken: 'new' })
    await expire()
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })

  it('makes no request for a mailer that is not active', async () => {
    const mailer = await addMailer()
    await db.query(`update mailers_mailer set state = 'disabled'`)
    expect(await get(mailer)).toEqual({ kind: 'inactive' })
    expect(await get({ tenantId: 'tn_a', mailerId: 'smtp_gone' })).toEqual({ kind: 'inactive' })
    expect(await get({ ...mailer, tenantId: 'tn_b' })).toEqual({ kind: 'inactive' })
    expect(provider.tokenRequests).toEqual([])
  })
})

describe('[M13] a temporary failure', () => {
  it.each([
    ['a server error', REFUSALS.googleUnavailable],
    ['a connection that is closed', 'drop'],
    ['a page', { status: 200, body: '<html>' }],
    ['a grant without a token', { status: 200, body: { token_type: 'Bearer' } }],
    ['a token of another kind', { status: 200, body: { access_token: 'a', token_type: 'DPoP' } }],
    ['a token with a line break', { status: 200, body: { access_token: 'a\r\nb' } }],
    ['more than anybody reads', { status: 200, body: 'x'.repeat(200_000) }],
  ] as const)('deactivates nothing: %s', async (_, reply) => {
    const mailer = await addMailer()
    provider.setScript(() => reply)
    expect(await get(mailer)).toMatchObject({ kind: 'failed', failure: { verdict: 'transient' } })
    expect(await stateOf(mailer)).toMatchObject({ state: 'active' })
    expect(await events()).toEqual([])
  })

  it('is the answer to all callers for a moment, and to none after it', async () => {
    const mailer = await addMailer()
    provider.setScript(() => ({ status: 429, body: {}, headers: { 'retry-after': '60' } }))
    const first = await get(mailer)
    expect(await get(mailer, {}, createTestTokens(db, egress))).toEqual(first)
    expect(provider.tokenRequests).toHaveLength(1)
    const { rows } = await db.query<{ s: number }>(
      'select extract(epoch from blocked_until - now())::int as s from mailers_oauth_token',
    )
    expect(rows[0]?.s).toBeGreaterThan(50)
    provider.setScript(undefined)
    await unblock()
    expect(await get(mailer)).toMatchObject({ kind: 'token' })
  })

  it('is a fault of the app at an endpoint with a forbidden address, which is not connected to', async () => {
    const mailer = await addMailer()
    await db.query(`update mailers_oauth_app set token_url = 'https://169.254.169.254/token'`)
    const result = await get(mailer)
    expect(result).toMatchObject({ kind: 'failed', failure: { verdict: 'app', isAnswered: false } })
    expect(await stateOf(mailer)).toMatchObject({ state: 'active' })
  })

  it('is a redirect, which is not followed', async () => {
    const mailer = await addMailer()
    const { origin } = provider
    provider.setScript(() => ({ status: 307, body: '', headers: { location: `${origin}/x` } }))
    expect(await get(mailer)).toMatchObject({ kind: 'failed' })
    expect(provider.tokenRequests).toHaveLength(1)
  })

  it('keeps a refresh token that no key decrypts', async () => {
    const mailer = await addMailer()
    await db.query(`update mailers_oauth_token set refresh_token = 'v1.gone.AAAA'`)
    expect(await get(mailer)).toMatchObject({ kind: 'failed', failure: { verdict: 'app' } })
    expect(await stateOf(mailer)).toMatchObject({ state: 'active' })
  })

  it('is a secret that no key decrypts, for the operator to fix', async () => {
    const mailer = await addMailer()
    const lost = createKeyRing(`other:${Buffer.alloc(32, 7).toString('base64')}`)
    const key = { tenantId: 'tn_a', appId: 'app' }
    await db.query('update mailers_oauth_app set client_secret = $1', [
      sealClientSecret(lost, key, 'x'),
    ])
    expect(await get(mailer)).toMatchObject({ kind: 'failed', failure: { verdict: 'app' } })
  })
})

describe('many mailboxes of one app', () => {
  it('[interface 3] are not deactivated for a broken secret of their app', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => addMailer()))
    provider.setScript(() => REFUSALS.googleWrongSecret)
    const results = await Promise.all(all.map((mailer) => get(mailer)))
    for (const one of results)
      expect(one).toMatchObject({ kind: 'failed', failure: { verdict: 'app' } })
    expect(await events()).toEqual([])
  })

  it('are not all deactivated when all are revoked at once: after a few it is a fault of the app', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => addMailer()))
    provider.setScript(() => REFUSALS.googleRevoked)
    const workers = [tokens, createTestTokens(db, egress)]
    const results = await Promise.all(all.map((mailer, i) => get(mailer, {}, workers[i % 2])))
    const kinds = results.map(({ kind }) => kind).sort()
    expect(kinds.filter((kind) => kind === 'deactivated')).toHaveLength(5)
    expect(kinds.filter((kind) => kind === 'failed')).toHaveLength(7)
    expect(await events()).toHaveLength(5)
    expect(seen.join('')).toContain('oauth_app.suspected')
  })

  it('are deactivated one by one as each is refused for longer', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => addMailer()))
    provider.setScript(() => REFUSALS.googleRevoked)
    const kinds = async () => {
      await unblock()
      return (await Promise.all(all.map((mailer) => get(mailer)))).map(({ kind }) => kind).sort()
    }
    expect((await kinds()).filter((kind) => kind === 'failed')).toHaveLength(3)
    expect((await kinds()).filter((kind) => kind === 'failed')).toHaveLength(3)
    await db.query(`update mailers_oauth_token set refused_at = refused_at - interval '11 minutes'
      where mailer_id = (select mailer_id from mailers_mailer where state = 'active' limit 1)`)
    const later = await kinds()
    expect(later.filter((kind) => kind === 'failed')).toHaveLength(2)
    expect(later.filter((kind) => kind === 'deactivated')).toHaveLength(1)
    expect(await events()).toHaveLength(6)
  })

  it('are protected again after they have worked in between', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => addMailer()))
    const kinds = async () => {
      await unblock()
      return (await Promise.all(all.map((mailer) => get(mailer)))).map(({ kind }) => kind).sort()
    }
    const inactive = Array(5).fill('inactive')
    provider.setScript(() => REFUSALS.googleRevoked)
    await kinds()
    await db.query(`update mailers_oauth_token set refused_at = refused_at - interval '11 minutes'`)
    provider.setScript(undefined)
    expect(await kinds()).toEqual([...inactive, 'token', 'token', 'token'])
    await db.query(`update mailers_oauth_token set refused_at = now() where mailer_id in
      (select mailer_id from mailers_mailer where state = 'deactivated')`)
    await expire('-1 s')
    provider.setScript(() => REFUSALS.googleRevoked)
    expect(await kinds()).toEqual(['failed', 'failed', 'failed', ...inactive])
  })

  it('are deactivated when they are revoked and most others work', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => addMailer()))
    await Promise.all(all.map((mailer) => get(mailer)))
    await expire()
    provider.setScript(() => REFUSALS.googleRevoked)
    // Refreshed lately, but for these.
    await db.query(
      `update mailers_oauth_token set refreshed_at = now() where refreshed_at is not null`,
    )
    const results = []
    for (const mailer of all.slice(0, 7))
      results.push(await get(mailer, { refused: 'x', isCheck: true }))
    expect(results.map(({ kind }) => kind)).toEqual(Array(7).fill('deactivated'))
  })
})

it('writes no token and no secret into any log line', () => {
  expect(seen.length).toBeGreaterThan(20)
  expect(seen.join('\n')).not.toMatch(/(access|refresh)-[0-9a-f]{8}|client-secret-1|v1\.k\./)
})
