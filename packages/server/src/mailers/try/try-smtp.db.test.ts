/** Trying the login of a mailer that logs in by OAuth; the rest is tested with the command. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createOAuthApi, type OAuthApi } from '../../../test/oauth.ts'
import { keyRing } from '../../../test/sender.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { trySmtp } from '../index.ts'

let api: OAuthApi
const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
beforeAll(async () => {
  api = await createOAuthApi()
})
afterAll(async () => {
  await egress.close()
  await api.close()
})
beforeEach(() => api.smtp.clear())

const test = (mailerId: string, tenantId = 'tn_a') =>
  trySmtp(
    { db: api.db, egress, keyRing, accessTokens: api.tokens, ehloName: 'sender.example.com' },
    tenantId,
    mailerId,
  )
const inShort = ({ steps }: Awaited<ReturnType<typeof test>>) =>
  steps.map(({ step, ok }) => `${step} ${ok ? 'ok' : 'FAIL'}`)

it('requests a new token, and logs in with it', async () => {
  const { mailer_id } = await api.connect('ada@example.com')
  const asked = api.provider.tokenRequests.length
  const tested = await test(mailer_id)
  expect(inShort(tested)).toEqual([
    'token ok',
    'dns ok',
    'connect ok',
    'greeting ok',
    'ehlo ok',
    'auth ok',
  ])
  expect(tested.failure).toBeUndefined()
  expect(api.provider.tokenRequests).toHaveLength(asked + 1)
  expect(tested.steps.at(-1)?.detail).toMatch(/^AUTH XOAUTH2: 235 /)
})

it('answers the words of the provider without a token, and contacts no mail server', async () => {
  const { mailer_id } = await api.connect('bob@example.com')
  api.provider.revoke('bob@example.com')
  const tested = await test(mailer_id)
  expect(inShort(tested)).toEqual(['token FAIL'])
  expect(tested).toMatchObject({ isWithoutToken: true })
  expect(tested.steps[0]?.detail).toContain('invalid_grant')
  expect(api.smtp.connections).toEqual([])
})

it.each([
  ['235 2.7.0 welcome', 'ann@example.com'],
  ['535 5.7.8 no', 'amy@example.com'],
])('hides the token where the server quotes it: %s', async (reply, email) => {
  const { mailer_id } = await api.connect(email)
  let token = ''
  api.smtp.setScript(({ phase, line }) => {
    if (phase !== 'auth') return undefined
    const [login = ''] = Buffer.from(line.slice(13), 'base64').toString().split('\u0001').slice(1)
    token = login.replace('auth=Bearer ', '')
    return `${reply} ${line} (${token})`
  })
  const tested = await test(mailer_id)
  api.smtp.setScript(undefined)
  expect(tested.steps.at(-1)?.detail).toContain(`${reply} AUTH XOAUTH2 [redacted] ([redacted])`)
  expect(token).toMatch(/^access-/)
  expect(JSON.stringify(tested)).not.toContain(token)
})

it('does not find a mailer of another tenant', async () => {
  const { mailer_id } = await api.connect('eve@example.com')
  await expect(test(mailer_id, 'tn_b')).rejects.toMatchObject({ code: 'not_found' })
})
