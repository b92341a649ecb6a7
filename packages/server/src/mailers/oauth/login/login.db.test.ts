import { createHash } from 'node:crypto'
import { oauthLoginAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../../test/empty-tables.ts'
import {
  CALLBACK_URL,
  createOAuthApi,
  type OAuthApi,
  REDIRECT_URI,
} from '../../../../test/oauth.ts'

let api: OAuthApi
let appId: string
beforeAll(async () => {
  api = await createOAuthApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  api.provider.setScript(undefined)
  api.provider.setIdTokenClaims({})
  api.provider.setUserinfo(undefined)
  api.provider.setGrantFields(undefined)
  await emptyTables(api.db, 'webhooks_event')
  await api.db.query('delete from mailers_mailer')
  await api.db.query('delete from mailers_oauth_app')
  appId = (await api.createApp()).app_id
})

const login = (change: object = {}, key?: string) =>
  api.call('POST', '/v1/oauth/login', { app_id: appId, ...change }, key)
async function urlOf(change: object = {}): Promise<URL> {
  const { status, body } = await login(change)
  expect({ status, body }).toMatchObject({ status: 200 })
  return new URL(body.authorization_url)
}
/** Where the browser ends up. */
async function browse(change: object = {}) {
  const { status, headers, body } = await api.browse((await urlOf(change)).href)
  const location = headers.location === undefined ? undefined : new URL(String(headers.location))
  return {
    status,
    headers,
    body,
    location,
    query: Object.fromEntries(location?.searchParams ?? []),
  }
}
const mailers = async () => (await api.db.query('select * from mailers_mailer')).rows
const tokenRow = async (id: string) =>
  (
    await api.db.query<{ version: string; refresh_token: string }>(
      'select * from mailers_oauth_token where mailer_id = $1',
      [id],
    )
  ).rows[0]
const deactivate = (id: string) =>
  api.db.query(
    `update mailers_mailer set state = 'deactivated', state_reason = 'oauth_revoked'
      where mailer_id = $1`,
    [id],
  )

describe('oauthLogin without a token', () => {
  it('[contract 5] answers a URL with state, nonce and PKCE, and stores the state hashed', async () => {
    const url = await urlOf({ redirect_uri: REDIRECT_URI })
    expect(url.origin + url.pathname).toBe(api.provider.authorizeUrl)
    const query = Object.fromEntries(url.searchParams)
    expect(query).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: CALLBACK_URL,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{22}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    const { rows } = await api.db.query<{ state_hash: Buffer; secret: string }>(
      'select state_hash, secret from mailers_oauth_login',
    )
    const hash = createHash('sha256')
      .update(query.state ?? '')
      .digest()
    expect(rows).toHaveLength(1)
    expect(rows[0]?.state_hash.equals(hash)).toBe(true)
    expect(rows[0]?.secret).toMatch(/^v1\.k\./)
  })

  it.each([
    [
      'google',
      {
        access_type: 'offline',
        prompt: 'consent',
        scope: 'https://mail.google.com/ openid email',
      },
      'smtp',
    ],
    [
      'microsoft',
      {
        response_mode: 'query',
        scope: 'https://outlook.office.com/SMTP.Send offline_access openid email',
      },
      'smtp',
    ],
    [
      'microsoft',
      {
        scope:
          'https://outlook.office.com/SMTP.Send https://outlook.office.com/IMAP.AccessAsUser.All offline_access openid email',
      },
      'smtp_imap',
    ],
  ] as const)('asks %s for its scopes: %j', async (provider, expected, type) => {
    const { app_id } = await api.createApp({ provider })
    const url = await urlOf({ app_id, type })
    expect(Object.fromEntries(url.searchParams)).toMatchObject(expected)
  })

  it('asks for the scopes of the app, and hints at the address of the mailer', async () => {
    const { app_id } = await api.createApp({ scopes: ['mail.send', 'openid'] })
    const { mailer_id } = await api.connect('hint@example.com', app_id)
    const url = await urlOf({ app_id, mailer_id })
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      scope: 'mail.send openid',
      login_hint: 'hint@example.com',
    })
  })

  it.each([
    ['/app_id', { app_id: 'unknown' }],
    ['/redirect_uri', { redirect_uri: 'https://evil.example.com/' }],
    ['/redirect_uri', { redirect_uri: `${REDIRECT_URI}/` }],
    ['/mailer_id', { mailer_id: 'smtp_unknown' }],
    ['/type', { type: 'pop3' }],
    ['/token', { token: 'a\r\nb' }],
  ])('answers 400 and refuses %s of %j', async (path, change) => {
    expect(await login(change)).toMatchObject({ status: 400, body: { errors: [{ path }] } })
  })

  it('does not find an app or a mailer of another tenant', async () => {
    expect((await login({}, 'b')).status).toBe(400)
    const { mailer_id } = await api.connect('ada@example.com', appId)
    const other = await api.call('POST', '/v1/oauth/apps', api.appBody(), 'b')
    const body = { app_id: other.body.app.app_id, mailer_id }
    expect(await login(body, 'b')).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/mailer_id' }] },
    })
  })
})

describe('the redirect back from the provider', () => {
  it('[contract 5] makes a mailer, and redirects the browser as the login asked', async () => {
    const { status, headers, location, query } = await browse({ redirect_uri: REDIRECT_URI })
    expect(status).toBe(303)
    expect(`${location?.origin}${location?.pathname}`).toBe('https://shop.example.com/connected')
    expect(query).toEqual({ from: 'mail', success: 'true', mailer_id: expect.any(String) })
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    const { body } = await api.call('GET', `/v1/smtp/${query.mailer_id}`)
    expect(body.mailer).toMatchObject({
      email: 'ada@example.com',
      config_type: 'oauth_smtp',
      connection_type: 'oauth',
      state: 'active',
      config: {
        host: '127.0.0.1',
        port: api.smtp.port,
        secure: 'None',
        username: 'ada@example.com',
        app_id: appId,
      },
    })
  })

  it('shows a page when the login has no redirect', async () => {
    const { status, headers, body } = await browse()
    expect({ status, body }).toMatchObject({
      status: 200,
      body: expect.stringContaining('Connected'),
    })
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(await mailers()).toHaveLength(1)
  })

  it('uses a state once', async () => {
    const { href } = await urlOf()
    const back = new URL((await fetch(href, { redirect: 'manual' })).headers.get('location') ?? '')
    const answers = await Promise.all(
      [1, 2, 3].map(() => api.call('GET', back.pathname + back.search, undefined, '')),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    expect(await mailers()).toHaveLength(1)
    expect(api.provider.tokenRequests.at(-1)?.parameters.grant_type).toBe('authorization_code')
  })

  it('keeps the state after a HEAD request', async () => {
    const url = await urlOf()
    const { headers } = await fetch(url.href, { redirect: 'manual' })
    const back = new URL(headers.get('location') ?? '')
    const looked = await api.call('HEAD', back.pathname + back.search, undefined, '')
    expect(looked.status).not.toBe(200)
    expect((await api.call('GET', back.pathname + back.search, undefined, '')).status).toBe(200)
  })

  it('refuses a state that has expired, was made up, or is used again', async () => {
    const url = await urlOf({ redirect_uri: REDIRECT_URI })
    await api.db.query("update mailers_oauth_login set expires_at = now() - interval '1 s'")
    expect(await api.browse(url.href)).toMatchObject({ status: 400 })
    const state = 'a'.repeat(43)
    for (const query of [`state=${state}&code=x`, 'code=x', '', `state=${state}&state=${state}`])
      expect((await api.call('GET', `/oauth/callback?${query}`, undefined, '')).status).toBe(400)
    expect(await mailers()).toEqual([])
  })

  it('deletes logins that nobody finished', async () => {
    await urlOf()
    await api.db.query("update mailers_oauth_login set expires_at = now() - interval '1 s'")
    await urlOf()
    expect((await api.db.query('select 1 from mailers_oauth_login')).rows).toHaveLength(1)
  })

  it('shows the error of the provider, and no other text', async () => {
    for (const [error, expected] of [
      ['access_denied', 'access_denied'],
      ['<script>', '<script>'],
      ['a"b', 'invalid_request'],
    ] as const) {
      const url = await urlOf({ redirect_uri: REDIRECT_URI })
      const query = new URLSearchParams({ error, state: url.searchParams.get('state') ?? '' })
      const { status, headers } = await api.call('GET', `/oauth/callback?${query}`, undefined, '')
      expect(status).toBe(303)
      expect(Object.fromEntries(new URL(String(headers.location)).searchParams)).toEqual({
        from: 'mail',
        success: 'false',
        error: expected,
      })
    }
  })

  it.each<[string, string, () => void]>([
    [
      'a refused code',
      'token_request_failed',
      () => api.provider.setScript(() => ({ status: 400, body: { error: 'invalid_grant' } })),
    ],
    [
      'an endpoint that is away',
      'token_request_failed',
      () => api.provider.setScript(() => 'drop'),
    ],
    [
      'no refresh token',
      'no_refresh_token',
      () => api.provider.setGrantFields({ refresh_token: undefined }),
    ],
    ['another audience', 'address_unverified', () => api.provider.setIdTokenClaims({ aud: 'x' })],
    [
      'several audiences without azp',
      'address_unverified',
      () => api.provider.setIdTokenClaims({ aud: ['client-1', 'x'] }),
    ],
    ['an old id token', 'address_unverified', () => api.provider.setIdTokenClaims({ exp: 1 })],
    [
      'an id token without an end',
      'address_unverified',
      () => api.provider.setIdTokenClaims({ exp: undefined }),
    ],
    ['another nonce', 'address_unverified', () => api.provider.setIdTokenClaims({ nonce: 'x' })],
    ['no nonce', 'address_unverified', () => api.provider.setIdTokenClaims({ nonce: undefined })],
    [
      'an id token that is none',
      'address_unverified',
      () => api.provider.setGrantFields({ id_token: 'a.b.c' }),
    ],
    [
      'an address that is none',
      'address_unverified',
      () => api.provider.setIdTokenClaims({ email: 'a b' }),
    ],
    [
      'an address that is not verified',
      'address_unknown',
      () => api.provider.setIdTokenClaims({ email_verified: false }),
    ],
    ['no address', 'address_unknown', () => api.provider.setIdTokenClaims({ email: undefined })],
  ])('%s answers %s, and makes no mailer', async (_, error, prepare) => {
    prepare()
    const { query } = await browse({ redirect_uri: REDIRECT_URI })
    expect(query).toEqual({ from: 'mail', success: 'false', error })
    expect(await mailers()).toEqual([])
  })

  it.each([
    ['google', 'https://evil.example.com'],
    ['microsoft', 'https://login.microsoftonline.evil.example.com/x/v2.0'],
  ])('refuses id tokens of another issuer for %s with %s', async (provider, iss) => {
    const { app_id } = await api.createApp({ provider })
    api.provider.setIdTokenClaims({ iss })
    const body = { app_id, redirect_uri: REDIRECT_URI }
    expect((await browse(body)).query).toMatchObject({ error: 'address_unverified' })
    api.provider.setIdTokenClaims({})
    expect((await browse(body)).query).toMatchObject({ success: 'true' })
  })

  it('refuses a login without the scope for mail', async () => {
    const { app_id } = await api.createApp({ provider: 'google' })
    api.provider.setGrantFields({ scope: 'openid email' })
    const { query } = await browse({ app_id, redirect_uri: REDIRECT_URI })
    expect(query).toMatchObject({ error: 'scope_missing' })
  })

  it('asks userinfo without an id token', async () => {
    api.provider.setGrantFields({ id_token: undefined })
    const { app_id } = await api.createApp({ userinfo_url: api.provider.userinfoUrl })
    const body = { app_id, redirect_uri: REDIRECT_URI }
    expect((await browse(body)).query).toMatchObject({ success: 'true' })
    api.provider.setUserinfo({ status: 500, body: {} })
    expect((await browse(body)).query).toMatchObject({ error: 'address_unverified' })
    api.provider.setUserinfo({ status: 403, body: {} })
    expect((await browse(body)).query).toMatchObject({ error: 'address_unknown' })
    api.provider.setUserinfo({ status: 200, body: { email: 'a@b.test', email_verified: false } })
    expect((await browse(body)).query).toMatchObject({ error: 'address_unknown' })
  })

  it('makes one mailer for concurrent logins of one mailbox', async () => {
    const urls = await Promise.all([urlOf(), urlOf(), urlOf()])
    const answers = await Promise.all(urls.map(({ href }) => api.browse(href)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await mailers()).toHaveLength(1)
  })

  it('[7.4] says that the address has a mailer by another app, unless allow_duplicate is set', async () => {
    await api.connect('ada@example.com', (await api.createApp()).app_id)
    const back = { redirect_uri: REDIRECT_URI }
    expect((await browse(back)).query).toMatchObject({ success: 'false', error: 'mailer_exists' })
    expect(await mailers()).toHaveLength(1)
    const { query } = await browse({ ...back, allow_duplicate: true })
    expect(query).toMatchObject({ success: 'true' })
    expect(await mailers()).toHaveLength(2)
  })

  it('[7.4] makes one mailer for concurrent logins to two apps', async () => {
    const other = (await api.createApp()).app_id
    const answers = await Promise.all(
      [appId, other, appId, other].map((app_id) =>
        login({ app_id, token: api.provider.grant('eve@example.com') }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
    expect(await mailers()).toHaveLength(1)
  })

  it('refuses a login whose app was deleted meanwhile', async () => {
    const url = await urlOf()
    await api.call('DELETE', `/v1/oauth/apps/${appId}`)
    expect((await api.browse(url.href)).status).toBe(400)
  })
})

describe('authenticating a mailer again', () => {
  it('[interface 3] activates a deactivated mailer without an event', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    await deactivate(mailer_id)
    const before = await tokenRow(mailer_id)
    api.woken.splice(0)
    const { query } = await browse({ mailer_id, redirect_uri: REDIRECT_URI })
    expect(query).toEqual({ from: 'mail', success: 'true', mailer_id })
    expect(api.woken).toEqual([mailer_id])
    const { body } = await api.call('GET', `/v1/smtp/${mailer_id}`)
    expect(body.mailer).toMatchObject({ state: 'active', state_reason: null })
    expect((await tokenRow(mailer_id))?.refresh_token).not.toBe(before?.refresh_token)
    expect((await api.db.query('select 1 from webhooks_event')).rows).toEqual([])
  })

  it('keeps a disabled mailer disabled', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    await api.call('PUT', `/v1/oauth/${mailer_id}/active`, { active: false })
    const { body } = await login({ mailer_id, token: api.provider.grant('ada@example.com') })
    expect(body.mailer.state).toBe('disabled')
  })

  it('refuses another mailbox, however the address arrives', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    api.provider.setIdTokenClaims({ email: 'eve@example.com' })
    expect((await browse({ mailer_id, redirect_uri: REDIRECT_URI })).query).toMatchObject({
      error: 'address_mismatch',
    })
    const token = api.provider.grant('eve@example.com')
    expect(await login({ mailer_id, token })).toMatchObject({
      status: 422,
      body: { code: 'oauth_failed', message: expect.stringContaining('eve@example.com') },
    })
  })

  it('compares addresses without case, and trusts the mailer where the provider names none', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    api.provider.setIdTokenClaims({ email: 'Ada@Example.COM' })
    expect((await browse({ mailer_id, redirect_uri: REDIRECT_URI })).query.success).toBe('true')
    api.provider.setGrantFields({ id_token: undefined })
    expect((await browse({ mailer_id, redirect_uri: REDIRECT_URI })).query.success).toBe('true')
  })

  it('refuses another type', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    expect(await login({ mailer_id, type: 'imap' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/type' }] },
    })
  })
})

describe('oauthLogin with a token', () => {
  it('[contract 3] makes the mailer, and authenticates it again the second time', async () => {
    const first = await login({ token: api.provider.grant('ada@example.com') })
    expect(first).toMatchObject({ status: 200, body: { mailer: { email: 'ada@example.com' } } })
    expect(Check(oauthLoginAnswer, first.body)).toBe(true)
    const { mailer_id } = first.body.mailer
    await deactivate(mailer_id)
    const second = await login({ token: api.provider.grant('ada@example.com') })
    expect(second.body.mailer).toMatchObject({ mailer_id, state: 'active' })
    expect(await mailers()).toHaveLength(1)
  })

  it.each([
    ['smtp', 'oauth_smtp', /^smtp_/],
    ['basic_smtp', 'oauth_smtp', /^smtp_/],
    ['imap', 'oauth_imap', /^imap_/],
    ['basic_imap', 'oauth_imap', /^imap_/],
    ['smtp_imap', 'smtp_imap', /^smtp_/],
  ])('[contract 3.3] makes of type %s the mailer %s', async (type, configType, id) => {
    const { body } = await login({ type, token: api.provider.grant('ada@example.com') })
    expect(body.mailer).toMatchObject({
      mailer_id: expect.stringMatching(id),
      config_type: configType,
    })
    const servers = { port: body.mailer.config.port, imap: body.mailer.config.imap?.port }
    const { port } = api.smtp
    expect(servers).toEqual(
      { oauth_smtp: { port }, oauth_imap: { port: 1993 }, smtp_imap: { port, imap: 1993 } }[
        configType
      ],
    )
  })

  it('[7.4] answers 409 where the address has a mailer of the kind, unless allow_duplicate is set', async () => {
    const first = await api.connect('ada@example.com', appId)
    const { app_id } = await api.createApp()
    const token = api.provider.grant('Ada@example.com')
    const second = { app_id, token }
    const refused = await login(second)
    expect([refused.status, refused.body.code]).toEqual([409, 'mailer_exists'])
    expect(refused.body.message).toContain(first.mailer_id)
    const { mailer } = (await login({ ...second, allow_duplicate: true })).body
    expect(mailer.mailer_id).not.toBe(first.mailer_id)
    // The same mailbox by the same app is no second one.
    expect((await login(second)).body.mailer.mailer_id).toBe(mailer.mailer_id)
  })

  it('does not offer a mailbox without sending as an SMTP mailer', async () => {
    const { body } = await login({ type: 'imap', token: api.provider.grant('ada@example.com') })
    const { mailer_id } = body.mailer
    for (const method of ['GET', 'DELETE'] as const)
      expect((await api.call(method, `/v1/smtp/${mailer_id}`)).status).toBe(404)
    expect((await api.call('PUT', `/v1/smtp/${mailer_id}`, { name: 'x' })).status).toBe(404)
  })

  it.each([
    ['google', undefined],
    ['microsoft', 'https://outlook.office.com/SMTP.Send offline_access openid email'],
  ])('sends the scopes of a refresh to %s: %s', async (provider, scope) => {
    const { app_id } = await api.createApp({ provider })
    await api.connect('ada@example.com', app_id)
    expect(api.provider.tokenRequests.at(-1)?.parameters.scope).toBe(scope)
  })

  it('stores a new refresh token where the provider returns one', async () => {
    const token = api.provider.grant('ada@example.com')
    api.provider.setGrantFields({ refresh_token: 'rotated-1' })
    const { body } = await login({ token })
    api.provider.setGrantFields(undefined)
    await api.tokens.get(
      { tenantId: 'tn_a', mailerId: body.mailer.mailer_id },
      { deadlineAt: performance.now() + 5_000, isCheck: true },
    )
    expect(api.provider.tokenRequests.at(-1)?.parameters.refresh_token).toBe('rotated-1')
  })

  it.each([
    ['as in a form', new URLSearchParams({ s: '1//0a~b!' }).toString().slice(2)],
    ['as in a URL', encodeURIComponent('1//0a~b!')],
    ['in JSON that escapes slashes', '1\\/\\/0a~b!'],
  ])('answers 422 and hides the token where it is quoted %s', async (_, quoted) => {
    const body = `{"error":"invalid_grant","error_description":"bad ${quoted}."}`
    api.provider.setScript(() => ({ status: 400, body }))
    expect((await login({ token: '1//0a~b!' })).body.message).toContain('bad [redacted].')
  })

  it('answers 422 with the words of the provider, without the token', async () => {
    const token = 'refresh-that-is-no-token'
    const refused = await login({ token })
    expect(refused).toMatchObject({ status: 422, body: { code: 'mailer_auth_failed' } })
    expect(refused.body.message).toContain('Token has been expired or revoked.')
    api.provider.setScript(({ parameters }) => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: `bad ${parameters.refresh_token}` },
    }))
    expect((await login({ token })).body.message).toContain('bad [redacted]')
    api.provider.setScript(() => 'drop')
    expect(await login({ token })).toMatchObject({
      status: 422,
      body: {
        code: 'mailer_unreachable',
        message: 'The OAuth provider gave no access token at the moment',
      },
    })
    expect(await mailers()).toEqual([])
  })

  it('answers 422 without the page of a host that is no token endpoint', async () => {
    api.provider.setScript(() => ({ status: 404, body: '<h1>internal</h1>' }))
    const { body } = await login({ token: 'x' })
    expect(JSON.stringify(body)).not.toContain('internal<')
  })
})

describe('setOAuthActive', () => {
  const setActive = (id: string, body?: object, key?: string) =>
    api.call('PUT', `/v1/oauth/${id}/active`, body, key)

  it('[interface 3] disables a mailer, and activates it again', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    expect((await setActive(mailer_id, { active: false })).body.mailer.state).toBe('disabled')
    expect((await setActive(mailer_id)).body.mailer.state).toBe('active')
    expect((await api.db.query('select 1 from webhooks_event')).rows).toEqual([])
  })

  it('activates a deactivated mailer when its grant is valid again, else answers 422', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    await deactivate(mailer_id)
    api.provider.setScript(() => ({ status: 400, body: { error: 'invalid_grant' } }))
    expect(await setActive(mailer_id)).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed' },
    })
    api.provider.setScript(undefined)
    api.woken.splice(0)
    expect((await setActive(mailer_id)).body.mailer).toMatchObject({
      state: 'active',
      state_reason: null,
    })
    expect(api.woken).toEqual([mailer_id])
  })

  it('checks the grant also of a mailer that was disabled after its deactivation', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    await deactivate(mailer_id)
    await setActive(mailer_id, { active: false })
    api.provider.setScript(() => ({ status: 400, body: { error: 'invalid_grant' } }))
    expect((await setActive(mailer_id)).status).toBe(422)
    api.provider.setScript(undefined)
    expect((await setActive(mailer_id)).body.mailer.state).toBe('active')
  })

  it('[7.3] does the same as setMailerActive', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    const set = (active: boolean) => api.call('PUT', `/v1/mailers/${mailer_id}/active`, { active })
    expect((await set(false)).body.mailer.state).toBe('disabled')
    api.provider.setScript(() => ({ status: 400, body: { error: 'invalid_grant' } }))
    expect((await set(true)).status).toBe(422)
    api.provider.setScript(undefined)
    expect((await set(true)).body.mailer.state).toBe('active')
  })

  it('activates the mailer when the provider is away', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    await deactivate(mailer_id)
    api.provider.setScript(() => ({ status: 503, body: '' }))
    expect((await setActive(mailer_id)).body.mailer.state).toBe('active')
  })

  it('answers 404 for an unknown mailer, one with a password, and one of another tenant', async () => {
    const { mailer_id } = await api.connect('ada@example.com', appId)
    expect((await setActive('smtp_x')).status).toBe(404)
    expect((await setActive(mailer_id, {}, 'b')).status).toBe(404)
    const basic = await api.call('POST', '/v1/smtp', {
      name: 'B',
      email: 'b@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: 1, secure: 'None' },
      verify: false,
    })
    expect((await setActive(basic.body.mailer.mailer_id)).status).toBe(404)
  })
})

it('writes no token and no secret into any answer or log line', () => {
  expect(api.seen.length).toBeGreaterThan(100)
  const all = api.seen.join('\n')
  expect(all).not.toMatch(/(access|refresh)-[0-9a-f]{8}|client-secret-1|v1\.k\.|code-[0-9a-f]{8}/)
})
