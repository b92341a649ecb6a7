/** Sending through mailers that log in by OAuth (docs/reference/mailers.md#deactivation). */
import type { Mailer } from '@postrider/contract'
import { REFUSALS } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { createOAuthApi, type OAuthApi } from '../../../test/oauth.ts'
import {
  accept,
  attemptsOf,
  createTestSender,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  type TestSender,
} from '../../../test/sender.ts'

const FROM = { email: 'ada@example.com' }
let api: OAuthApi
let sender: TestSender
let mailer: Mailer
/** Requests to the token endpoint in this test, without the one by which the mailer was made. */
const asked = () => api.provider.tokenRequests.length - askedBefore
let askedBefore = 0
beforeAll(async () => {
  api = await createOAuthApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  await emptyTables(
    api.db,
    'sending_email',
    'sending_content',
    'sending_recipient',
    'sending_queue',
    'sending_attempt',
    'webhooks_event',
  )
  await api.db.query('delete from mailers_mailer')
  api.smtp.clear()
  api.smtp.setScript(undefined)
  api.provider.setScript(undefined)
  mailer = await api.connect(FROM.email)
  askedBefore = api.provider.tokenRequests.length
  sender = createTestSender(api.db)
})
afterEach(() => sender.stop())

const send = (change: object = {}) => accept(api.db, { from: FROM, ...change })
const shorts = async (refId?: string) => (await eventsOf(api.db, refId)).map(inShort)
const forgetToken = () =>
  api.db.query(
    `update mailers_oauth_token set access_expires_at = now() - interval '1 s', blocked_until = null`,
  )
const logins = () => api.smtp.connections.map(({ username }) => username)
const dueNow = () => api.db.query("update sending_queue set due_at = now() - interval '1 s'")

it('[interface 1] sends mail with an access token, and many mails with one login', async () => {
  const refIds = [await send(), await send()]
  await drain(api.db, sender)
  expect(api.smtp.messages).toHaveLength(2)
  expect(new Set(logins())).toEqual(new Set([FROM.email]))
  for (const refId of refIds) expect(await shorts(refId)).toEqual(['MAIL_DELIVERED'])
  expect(asked()).toBe(0)
  const commands = api.smtp.connections.flatMap((one) => one.commands).join('\n')
  for (const refId of refIds)
    expect(commands).toMatch(new RegExp(`^MAIL .* ENVID=${refId}\\.0$`, 'm'))
})

describe('an access token that the server refuses', () => {
  it('[contract 1] renews a refused token, and tries once more on a new connection in the same attempt', async () => {
    const refId = await send()
    api.provider.expireAccessTokens()
    await drain(api.db, sender)
    expect(await shorts(refId)).toEqual(['MAIL_DELIVERED'])
    expect(logins()).toEqual([undefined, FROM.email])
    expect((await attemptsOf(api.db, refId)).map(({ attempt }) => attempt)).toEqual([1])
  })

  it('fails the attempt when the renewed token is refused too, after two logins', async () => {
    const refId = await send()
    const refusal = '535 5.7.8 Username and Password not accepted'
    api.smtp.setScript(({ phase }) => (phase === 'auth' ? refusal : undefined))
    await drain(api.db, sender)
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 final'])
    expect(await attemptsOf(api.db, refId)).toMatchObject([
      { category: 'auth_rejected', provider_error: refusal },
    ])
    expect(api.smtp.connections).toHaveLength(2)
    expect(asked()).toBe(1)
    const deactivated = (await eventsOf(api.db)).find(
      (one) => inShort(one) === 'MAILER_DEACTIVATED',
    )
    expect(deactivated?.details).toEqual({
      mailer_id: mailer.mailer_id,
      config_type: 'oauth_smtp',
      failed_reason: 'provider_auth_error',
      provider_error: refusal,
    })
  })

  it('does not try again after a refusal that waiting cannot fix', async () => {
    await send()
    const refusal =
      '535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.'
    api.smtp.setScript(({ phase }) => (phase === 'auth' ? refusal : undefined))
    await drain(api.db, sender)
    expect(api.smtp.connections).toHaveLength(1)
  })

  it('keeps a token that was refused for the moment only (454)', async () => {
    const refId = await send({ settings: { max_attempts: 2 } })
    let n = 0
    api.smtp.setScript(({ phase }) =>
      phase === 'auth' && n++ === 0 ? '454 4.7.0 Temporary authentication failure' : undefined,
    )
    await drain(api.db, sender)
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
  })
})

describe('a revoked grant', () => {
  it('[contract 5] ends the attempt that found it, and stops all other mail', async () => {
    const refIds = await Promise.all(Array.from({ length: 6 }, () => send()))
    await forgetToken()
    api.provider.revoke(FROM.email)
    await sender.runOnce()
    const all = await shorts()
    expect(all.sort()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
    const statuses = await Promise.all(refIds.map((id) => recipientsOf(api.db, id)))
    const failed = statuses.flat().filter(({ status }) => status === 'failed')
    expect(failed).toMatchObject([
      { failed_reason: "The mailer's OAuth access was revoked or has expired" },
    ])
    expect(await queueOf(api.db)).toHaveLength(5)
    expect(api.smtp.transactions).toEqual([])
    const error = (await eventsOf(api.db)).find(({ event }) => event === 'SMTP_ERROR')
    expect(error?.details).toMatchObject({
      retry_scheduled: false,
      provider_error: JSON.stringify(REFUSALS.googleRevoked.body),
    })
  })

  it('sends the waiting mail when the mailbox has logged in again', async () => {
    const refIds = await Promise.all([send(), send(), send()])
    await forgetToken()
    api.provider.revoke(FROM.email)
    await sender.runOnce()
    const token = api.provider.grant(FROM.email)
    const body = { app_id: mailer.config.app_id, mailer_id: mailer.mailer_id, token }
    expect((await api.call('POST', '/v1/oauth/login', body)).status).toBe(200)
    await sender.stop()
    sender = createTestSender(api.db)
    await dueNow()
    await drain(api.db, sender)
    const all = (await Promise.all(refIds.map((id) => shorts(id)))).flat().sort()
    expect(all).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED', 'SMTP_ERROR 1 final'])
  })
})

describe('a provider that returns no token', () => {
  it.each([
    ['is away', REFUSALS.googleUnavailable, 'oauth_unavailable', 'HTTP status 503'],
    [
      'knows the app no more',
      REFUSALS.microsoftSecretExpired,
      'oauth_app',
      JSON.stringify(REFUSALS.microsoftSecretExpired.body),
    ],
  ])('fails the attempt, and retries it, when the provider %s', async (_, reply, category, raw) => {
    const refId = await send({ settings: { max_attempts: 2 } })
    await forgetToken()
    api.provider.setScript(() => reply)
    await sender.runOnce()
    expect(await attemptsOf(api.db, refId)).toMatchObject([
      { category, provider_error: raw, retry_scheduled: true },
    ])
    api.provider.setScript(undefined)
    await forgetToken()
    await drain(api.db, sender)
    expect(await shorts(refId)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
  })
})

it('does not send by a disabled mailer, and requests no token for it', async () => {
  await send()
  await forgetToken()
  await api.call('PUT', `/v1/oauth/${mailer.mailer_id}/active`, { active: false })
  await sender.runOnce()
  expect(api.smtp.connections).toEqual([])
  expect(asked()).toBe(0)
})
