import { listOAuthAppsAnswer, oauthAppsMax } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALLBACK_URL, createOAuthApi, type OAuthApi } from '../../../../test/oauth.ts'

let api: OAuthApi
beforeAll(async () => {
  api = await createOAuthApi()
})
afterAll(() => api.close())

const create = (change: object = {}, key?: string) =>
  api.call('POST', '/v1/oauth/apps', api.appBody(change), key)

describe('createOAuthApp', () => {
  it('[contract 5] stores the app, and answers it without its secret', async () => {
    const { status, body } = await create({ app_id: 'mine' })
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        success: true,
        app: {
          app_id: 'mine',
          provider: 'custom',
          client_id: 'client-1',
          callback_url: CALLBACK_URL,
          token_url: api.provider.tokenUrl,
        },
      },
    })
    expect(JSON.stringify(body)).not.toContain(api.provider.clientSecret)
  })

  it.each([
    ['google', 'https://oauth2.googleapis.com/token', 'smtp.gmail.com', 'imap.gmail.com'],
    [
      'microsoft',
      'https://login.microsoftonline.com/common/oauth2/v2.0/token',
      'smtp.office365.com',
      'outlook.office365.com',
    ],
  ])('knows the URLs and servers of %s', async (provider, tokenUrl, smtp, imap) => {
    const { status, body } = await api.call('POST', '/v1/oauth/apps', {
      provider,
      client_id: 'c',
      client_secret: 's3cret',
    })
    expect(status).toBe(201)
    expect(body.app).toMatchObject({
      app_id: expect.stringMatching(/^app_[0-9A-Z]{26}$/),
      token_url: tokenUrl,
      smtp: { host: smtp },
      imap: { host: imap },
    })
  })

  it('stores the secret sealed, bound to its row', async () => {
    const { rows } = await api.db.query<{ client_secret: string }>(
      "select client_secret from mailers_oauth_app where app_id = 'mine'",
    )
    expect(rows[0]?.client_secret).toMatch(/^v1\.k\./)
  })

  it('answers 409 to an id that is taken, and accepts it for another tenant', async () => {
    expect(await create({ app_id: 'mine' })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
    expect((await create({ app_id: 'mine' }, 'b')).status).toBe(201)
  })

  it.each([
    ['/authorize_url', { authorize_url: undefined }],
    ['/token_url', { token_url: undefined }],
    ['/token_url', { token_url: 'http://login.example.com/token' }],
    ['/token_url', { token_url: 'ftp://login.example.com/token' }],
    ['/token_url', { token_url: 'https://user:pass@login.example.com/token' }],
    ['/token_url', { token_url: 'https://login.example.com/token#x' }],
    ['/token_url', { token_url: 'https://login.example.com:25/token' }],
    ['/token_url', { token_url: 'https://10.0.0.1/token' }],
    ['/token_url', { token_url: 'https://169.254.169.254/token' }],
    ['/token_url', { token_url: 'http://169.254.169.254/token' }],
    ['/userinfo_url', { userinfo_url: 'https://[::1]/me' }],
    ['/userinfo_url', { userinfo_url: 'http://1.1.1.1/me' }],
    ['/authorize_url', { authorize_url: 'javascript:alert(1)' }],
    ['/smtp', { smtp: undefined, imap: undefined }],
    ['/smtp/host', { smtp: { host: 'a b', port: 25, secure: 'None' } }],
    ['/smtp/host', { smtp: { host: '10.0.0.1', port: 25, secure: 'None' } }],
    ['/redirect_uris/0', { redirect_uris: ['http://shop.example.com/'] }],
    ['/redirect_uris/1', { redirect_uris: ['https://shop.example.com/', 'javascript:alert(1)'] }],
    ['/redirect_uris/0', { redirect_uris: ['https://shop.example.com/#done'] }],
    ['/client_secret', { client_secret: 'a\r\nb' }],
    ['/client_id', { client_id: 'a b' }],
    ['/scopes/0', { scopes: ['a b'] }],
    ['/app_id', { app_id: 'a/b' }],
    ['/provider', { provider: 'yahoo' }],
    ['/colour', { colour: 'red' }],
  ])('refuses %s of %j', async (path, change) => {
    expect(await create(change)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
  })

  it('has no userinfo_url for an app with other URLs of a known provider', async () => {
    const urls = {
      authorize_url: 'https://login.example.com/authorize',
      token_url: 'https://login.example.com/token',
    }
    const google = await create({ provider: 'google', ...urls })
    expect(google.body.app).not.toHaveProperty('userinfo_url')
    const own = await create({ provider: 'google', authorize_url: undefined, token_url: undefined })
    expect(own.body.app.userinfo_url).toMatch(/googleapis/)
  })

  it('accepts http redirects to localhost', async () => {
    expect((await create({ redirect_uris: ['http://localhost:3000/x'] })).status).toBe(201)
  })

  it('bounds the apps of a tenant', async () => {
    const { rows } = await api.db.query(
      `insert into mailers_oauth_app (tenant_id, app_id, provider, client_id, client_secret,
         redirect_uris, authorize_url, token_url)
       select 'tn_b', 'filler-' || i, 'custom', 'c', 's', '{}', 'a', 't'
         from generate_series(1, ${oauthAppsMax}) i returning 1`,
    )
    expect(rows).toHaveLength(oauthAppsMax)
    expect(await create({}, 'b')).toMatchObject({ status: 409 })
  })
})

describe('listOAuthApps', () => {
  it('answers the apps of the tenant, newest first', async () => {
    await create({ app_id: 'newest' })
    const { status, body } = await api.call('GET', '/v1/oauth/apps')
    expect(status).toBe(200)
    expect(body.callback_url).toBe(CALLBACK_URL)
    expect(body.apps[0].app_id).toBe('newest')
    expect(body.apps.at(-1).app_id).toBe('mine')
    expect(Check(listOAuthAppsAnswer, body)).toBe(true)
  })
})

describe('updateOAuthApp', () => {
  const update = (id: string, body: object, key?: string) =>
    api.call('PUT', `/v1/oauth/apps/${id}`, body, key)

  it('changes given fields, and keeps the others', async () => {
    await create({ app_id: 'changed', scopes: ['mail'] })
    const { status, body } = await update('changed', { client_secret: 'n3w', redirect_uris: [] })
    expect(status).toBe(200)
    expect(body.app).toMatchObject({ scopes: ['mail'], redirect_uris: [] })
    expect(body.app.smtp.port).toBe(api.smtp.port)
  })

  it('[7.3] removes fields with null: scopes, redirects, one of two servers', async () => {
    await create({ app_id: 'cut', scopes: ['mail'] })
    const nulls = { scopes: null, redirect_uris: null, imap: null }
    const { status, body } = await update('cut', nulls)
    expect(status).toBe(200)
    expect(body.app).toMatchObject({ redirect_uris: [], smtp: { port: api.smtp.port } })
    expect(body.app).not.toHaveProperty('scopes')
    expect(body.app).not.toHaveProperty('imap')
    expect(await update('cut', { smtp: null })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/smtp' }] },
    })
    expect((await update('cut', { client_secret: null })).status).toBe(400)
  })

  it('[7.3] restores the servers of a known provider with null', async () => {
    const own = { host: '127.0.0.1', port: 2525, secure: 'None' }
    const google = { provider: 'google', client_id: 'c', client_secret: 's', smtp: own }
    const created = await api.call('POST', '/v1/oauth/apps', { app_id: 'g', ...google })
    expect(created.body.app.smtp).toEqual(own)
    const { body } = await update('g', { smtp: null })
    expect(body.app.smtp).toEqual({ host: 'smtp.gmail.com', port: 465, secure: 'SSL' })
  })

  it('logs in with the new secret', async () => {
    const { app_id } = await api.createApp({ client_secret: 'wrong' })
    const login = () =>
      api.call('POST', '/v1/oauth/login', { app_id, token: api.provider.grant('e@example.com') })
    expect((await login()).status).toBe(422)
    await update(app_id, { client_secret: api.provider.clientSecret })
    expect((await login()).status).toBe(200)
  })

  it.each(['token_url', 'userinfo_url', 'authorize_url', 'client_id', 'provider'])(
    'refuses a change of %s, which would send tokens elsewhere',
    async (name) => {
      expect(await update('mine', { [name]: 'https://evil.example.com/' })).toMatchObject({
        status: 400,
        body: { errors: [{ path: `/${name}` }] },
      })
    },
  )

  it('answers 404 for an unknown app and for an app of another tenant', async () => {
    expect((await update('nothing', {})).status).toBe(404)
    expect((await update('changed', {}, 'b')).status).toBe(404)
  })
})

describe('deleteOAuthApp', () => {
  const remove = (id: string, key?: string) =>
    api.call('DELETE', `/v1/oauth/apps/${id}`, undefined, key)

  it('deletes an app that nobody uses', async () => {
    await create({ app_id: 'unused' })
    expect((await remove('unused', 'b')).status).toBe(404)
    expect((await remove('unused')).status).toBe(200)
    expect((await remove('unused')).status).toBe(404)
  })

  it('answers 409 while a mailer logs in by the app, and deletes it afterwards', async () => {
    await create({ app_id: 'used' })
    const { mailer_id } = await api.connect('used@example.com', 'used')
    expect(await remove('used')).toMatchObject({ status: 409, body: { code: 'conflict' } })
    await api.call('DELETE', `/v1/smtp/${mailer_id}`)
    const { rows } = await api.db.query('select 1 from mailers_oauth_token where mailer_id = $1', [
      mailer_id,
    ])
    expect(rows).toEqual([])
    expect((await remove('used')).status).toBe(200)
  })
})

it('writes no secret into any answer or log line', () => {
  expect(api.seen.length).toBeGreaterThan(20)
  expect(api.seen.join('\n')).not.toMatch(/client-secret-1|s3cret|n3w|refresh-[0-9a-f]|v1\.k\./)
})
