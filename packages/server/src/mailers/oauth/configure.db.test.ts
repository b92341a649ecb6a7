import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOAuthApi, type OAuthApi } from '../../../test/oauth.ts'

let api: OAuthApi
let appId: string
beforeAll(async () => {
  api = await createOAuthApi({ rotates: true })
})
afterAll(() => api.close())
beforeEach(async () => {
  await api.db.query('delete from mailers_mailer')
  api.smtp.clear()
  api.provider.setScript(undefined)
  appId = (await api.createApp()).app_id
})

const EMAIL = 'ada@example.com'
const config = (change: object = {}) => ({
  app_id: appId,
  refresh_token: api.provider.grant(EMAIL),
  ...change,
})
const body = (change: object = {}) => ({
  name: 'Ada',
  email: EMAIL,
  config_type: 'smtp',
  connection_type: 'oauth',
  config: config(),
  ...change,
})
const configure = (change: object = {}, key?: string) =>
  api.call('POST', '/v1/smtp', body(change), key)
const update = (id: string, payload: object) => api.call('PUT', `/v1/smtp/${id}`, payload)
async function configured(change: object = {}) {
  const answer = await configure(change)
  expect(answer).toMatchObject({ status: 201 })
  return answer.body.mailer
}
const logins = () => api.smtp.connections.map(({ username }) => username)
const refused = (path: string) => ({ status: 400, body: { errors: [{ path }] } })

describe('configureSMTP with connection_type oauth', () => {
  it('[contract 3.3] logs in once, and answers oauth_smtp on the server of the app', async () => {
    const mailer = await configured({ limits: { connections: 2 } })
    expect(mailer).toMatchObject({
      config_type: 'oauth_smtp',
      connection_type: 'oauth',
      email: EMAIL,
      config: {
        host: '127.0.0.1',
        port: api.smtp.port,
        username: EMAIL,
        secure: 'None',
        app_id: appId,
      },
      limits: { connections: 2 },
      state: 'active',
    })
    expect(logins()).toEqual([EMAIL])
  })

  it('[7.4] answers 409 to an update to the address of another mailer without allow_duplicate', async () => {
    const first = await configured()
    const basic = { host: '127.0.0.1', port: 25, secure: 'None' }
    const asBasic = { connection_type: 'basic', config: basic, verify: false }
    const other = await configured({ email: 'other@example.com', ...asBasic })
    const refused = await update(other.mailer_id, { email: EMAIL })
    expect([refused.status, refused.body.code]).toEqual([409, 'mailer_exists'])
    expect(refused.body.message).toContain(first.mailer_id)
    const back = await update(first.mailer_id, { email: 'OTHER@example.com' })
    expect([back.status, back.body.code]).toEqual([409, 'mailer_exists'])
    const asked = { email: 'OTHER@example.com', allow_duplicate: true }
    expect((await update(first.mailer_id, asked)).status).toBe(200)
  })

  it('[7.4] answers 409 to a second mailer for the address without allow_duplicate', async () => {
    const first = await configured()
    const { status, body: answer } = await configure()
    expect([status, answer.code]).toEqual([409, 'mailer_exists'])
    expect(answer.message).toContain(first.mailer_id)
    await configured({ allow_duplicate: true })
    const basic = { host: '127.0.0.1', port: 25, secure: 'None' }
    const asBasic = { connection_type: 'basic', config: basic, verify: false }
    expect((await configure(asBasic)).status).toBe(409)
  })

  it('stores the returned refresh token, and the access token for the first mail', async () => {
    const mailer = await configured()
    const asked = api.provider.tokenRequests.length
    const key = { tenantId: 'tn_a', mailerId: mailer.mailer_id }
    const o = { deadlineAt: performance.now() + 5_000 }
    expect(await api.tokens.get(key, o)).toMatchObject({ kind: 'token' })
    expect(api.provider.tokenRequests).toHaveLength(asked)
    expect(await api.tokens.get(key, { ...o, isCheck: true })).toMatchObject({ kind: 'token' })
  })

  it('makes no request with verify: false', async () => {
    const asked = api.provider.tokenRequests.length
    const mailer = await configured({ verify: false })
    expect(api.provider.tokenRequests).toHaveLength(asked)
    expect(api.smtp.connections).toEqual([])
    const key = { tenantId: 'tn_a', mailerId: mailer.mailer_id }
    expect(await api.tokens.get(key, { deadlineAt: performance.now() + 5_000 })).toMatchObject({
      kind: 'token',
    })
  })

  it('uses another server than the app names, and needs one where the app names none', async () => {
    const mailer = await configured({
      verify: false,
      config: config({ host: 'MAIL.example.com', port: 465 }),
    })
    expect(mailer.config).toMatchObject({ host: 'mail.example.com', port: 465, secure: 'None' })
    const { app_id } = await api.createApp({ smtp: undefined })
    expect(await configure({ config: config({ app_id }) })).toMatchObject(refused('/config/host'))
    const google = await api.call('POST', '/v1/oauth/apps', {
      provider: 'google',
      client_id: 'c',
      client_secret: 's',
    })
    const of = { app_id: google.body.app.app_id, port: 587 }
    const bob = { email: 'bob@example.com', verify: false }
    const other = await configured({ ...bob, config: config(of) })
    expect(other.config).toMatchObject({ host: 'smtp.gmail.com', port: 587, secure: 'Tls' })
  })

  it.each([
    ['/config/app_id', { app_id: undefined }],
    ['/config/refresh_token', { refresh_token: undefined }],
    ['/config/app_id', { app_id: 'unknown' }],
    ['/config/username', { username: 'ada' }],
    ['/config/password', { password: 'x' }],
    ['/config/refresh_token', { refresh_token: 'a\r\nb' }],
    ['/config/host', { host: '10.0.0.1' }],
  ])('answers 400 and refuses %s of %j', async (path, change) => {
    expect(await configure({ config: config(change) })).toMatchObject(refused(path))
  })

  it('answers 400 to fields of OAuth where a password logs in', async () => {
    const given = { host: '127.0.0.1', port: 1, secure: 'None', app_id: appId }
    expect(await configure({ connection_type: 'basic', config: given })).toMatchObject(
      refused('/config/app_id'),
    )
  })

  it('does not find an app of another tenant', async () => {
    expect(await configure({}, 'b')).toMatchObject(refused('/config/app_id'))
  })

  it('answers 422 with the words of the provider or of the mail server', async () => {
    const wrong = await configure({ config: config({ refresh_token: 'nothing' }) })
    expect(wrong).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed', message: expect.stringContaining('expired or revoked') },
    })
    const other = await configure({ email: 'eve@example.com' })
    expect(other).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed', message: expect.stringContaining('535 5.7.8') },
    })
  })
})

describe('updateSMTP of an OAuth mailer', () => {
  const secretOf = async (id: string) =>
    (
      await api.db.query<{ refresh_token: string }>(
        'select refresh_token from mailers_oauth_token where mailer_id = $1',
        [id],
      )
    ).rows[0]?.refresh_token
  const deactivate = (id: string) =>
    api.db.query(`update mailers_mailer set state = 'deactivated' where mailer_id = $1`, [id])

  it('activates a deactivated mailer with a new refresh token', async () => {
    const { mailer_id } = await configured()
    await deactivate(mailer_id)
    const before = await secretOf(mailer_id)
    const { refresh_token } = config()
    const answer = await update(mailer_id, { config: { refresh_token } })
    expect(answer).toMatchObject({ status: 200, body: { mailer: { state: 'active' } } })
    expect(await secretOf(mailer_id)).not.toBe(before)
  })

  it('keeps the state with a refresh token that was not tried', async () => {
    const { mailer_id } = await configured()
    await deactivate(mailer_id)
    const { refresh_token } = config()
    const answer = await update(mailer_id, { verify: false, config: { refresh_token } })
    expect(answer).toMatchObject({ status: 200, body: { mailer: { state: 'deactivated' } } })
  })

  it('changes a name without a token, and keeps the state', async () => {
    const { mailer_id } = await configured()
    await deactivate(mailer_id)
    const asked = api.provider.tokenRequests.length
    const answer = await update(mailer_id, { name: 'Letters' })
    expect(answer.body.mailer).toMatchObject({ name: 'Letters', state: 'deactivated' })
    expect(api.provider.tokenRequests).toHaveLength(asked)
  })

  it('uses the stored token for a change that does not redirect it', async () => {
    const { mailer_id } = await configured()
    const answer = await update(mailer_id, { config: { tls_verify: true } })
    expect(answer).toMatchObject({ status: 200 })
    expect(logins()).toEqual([EMAIL, EMAIL])
    api.provider.revoke(EMAIL)
    expect(await update(mailer_id, { config: { tls_verify: true } })).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed' },
    })
  })

  it.each([
    [{ host: 'evil.example.com' }],
    [{ port: 2525 }],
    [{ tls_verify: false }],
    [{ app_id: 'other' }],
  ])('needs the refresh token again for %j', async (change) => {
    const { mailer_id } = await configured()
    expect(await update(mailer_id, { config: change })).toMatchObject(
      refused('/config/refresh_token'),
    )
  })

  it('refuses a password', async () => {
    const { mailer_id } = await configured()
    expect(await update(mailer_id, { config: { password: 'x' } })).toMatchObject(
      refused('/config/password'),
    )
  })

  it('logs in by the new address after a change of address', async () => {
    const { mailer_id } = await configured()
    const email = 'team@example.com'
    const answer = await update(mailer_id, { email })
    expect(answer.body.mailer).toMatchObject({ email, config: { username: email } })
  })
})

it('writes no token into any answer or log line', () => {
  expect(api.seen.join('\n')).not.toMatch(/(access|refresh)-[0-9a-f]{8}|v1\.k\./)
})
