/**
 * Sent copies of mailboxes that were connected by OAuth: docs/reference/mailers.md#oauth-apps, oauthLogin of
 * type `smtp_imap`.
 */
import type { Mailer } from '@postrider/contract'
import { createImapServer, type ImapServer } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { createOAuthApi, type OAuthApi } from '../../../test/oauth.ts'
import {
  accept,
  createTestSender,
  drain,
  everyLease,
  keyRing,
  type TestSender,
} from '../../../test/sender.ts'
import { silent } from '../../../test/sending.ts'
import { createEgress, type Egress } from '../../platform/egress/index.ts'
import { createSentCopyWorker, type SentCopyWorker } from './serve-copies.ts'

const FROM = { email: 'ada@example.com' }
let api: OAuthApi
let box: ImapServer
let egress: Egress
let mailer: Mailer
let sender: TestSender
let worker: SentCopyWorker
let outcomes: string[]

beforeAll(async () => {
  api = await createOAuthApi()
  egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
})
afterAll(async () => {
  await egress.close()
  await api.close()
})
beforeEach(async () => {
  await emptyTables(
    api.db,
    'sending_email',
    'sending_content',
    'sending_recipient',
    'sending_queue',
    'sending_attempt',
  )
  await emptyTables(api.db, 'sending_sent_copy')
  await api.db.query('delete from mailers_mailer')
  outcomes = []
  box = await createImapServer({
    auth: {
      users: {},
      mechanisms: ['XOAUTH2'],
      tokens: (user, token) => api.provider.accepts(user, token),
    },
  })
  box.account().addFolder('Sent', '\\Sent')
  const imap = { host: box.host, port: box.port, secure: 'None' }
  const { app_id } = await api.createApp({ imap })
  mailer = await logIn(app_id)
  sender = createTestSender(api.db)
  worker = createSentCopyWorker({
    db: api.db,
    log: silent,
    leases: everyLease,
    keyRing,
    egress,
    accessTokens: api.tokens,
    observe: (outcome) => outcomes.push(outcome),
  })
})
afterEach(async () => {
  await worker.stop()
  await sender.stop()
  await box.close()
})

async function logIn(app_id: string | undefined, mailer_id?: string): Promise<Mailer> {
  const token = api.provider.grant(FROM.email)
  const which = mailer_id === undefined ? { type: 'smtp_imap' } : { mailer_id }
  const { status, body } = await api.call('POST', '/v1/oauth/login', { app_id, token, ...which })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.mailer
}

async function send(): Promise<string> {
  const refId = await accept(api.db, { from: FROM })
  await drain(api.db, sender)
  await dueNow()
  return refId
}

const dueNow = () => api.db.query(`update sending_sent_copy set due_at = now() - interval '1 ms'`)
const left = async () => (await api.db.query('select tries from sending_sent_copy')).rows
const kept = () =>
  (box.account().folders.get('Sent')?.messages ?? []).map(
    ({ raw }) => /^Message-ID: <(.*)\.0@/m.exec(raw.toString())?.[1],
  )

it('stores the sent copy with the access token that the mail was sent with', async () => {
  expect(mailer.config_type).toBe('smtp_imap')
  const refId = await send()
  const asked = api.provider.tokenRequests.length
  await worker.runOnce()
  expect(kept()).toEqual([refId])
  expect(outcomes).toEqual(['saved'])
  expect(api.provider.tokenRequests).toHaveLength(asked)
})

it('stores the sent copy with a new access token after the old one has expired', async () => {
  const refId = await send()
  api.provider.expireAccessTokens()
  await worker.runOnce()
  expect(kept()).toEqual([refId])
  expect(outcomes).toEqual(['saved'])
})

it('keeps the sent copy waiting after the grant was revoked until the mailbox logs in again', async () => {
  const refId = await send()
  await api.db.query(
    `update mailers_oauth_token set access_expires_at = now() - interval '1 s', blocked_until = null`,
  )
  api.provider.revoke(FROM.email)
  await worker.runOnce()
  expect(outcomes).toEqual([])
  expect(await left()).toEqual([{ tries: 0 }])
  await dueNow()
  await worker.runOnce()
  expect(await left()).toEqual([{ tries: 0 }])
  await logIn(mailer.config.app_id, mailer.mailer_id)
  await dueNow()
  await worker.runOnce()
  expect(kept()).toEqual([refId])
  expect(outcomes).toEqual(['saved'])
})

it('retries the sent copy when the provider returns no token', async () => {
  await send()
  await api.db.query(`update mailers_oauth_token set access_expires_at = now() - interval '1 s'`)
  api.provider.setScript(() => ({ status: 503, body: 'away' }))
  await worker.runOnce()
  api.provider.setScript(undefined)
  expect(outcomes).toEqual(['waiting'])
  expect(await left()).toEqual([{ tries: 1 }])
})

it.each(['google', 'microsoft'])(
  'makes no sent copy for %s, whose provider stores one',
  async (provider) => {
    await send()
    await api.db.query('update mailers_oauth_app set provider = $1', [provider])
    await worker.runOnce()
    expect(outcomes).toEqual(['left'])
    expect(await left()).toEqual([])
    expect(box.connections).toBe(0)
  },
)
