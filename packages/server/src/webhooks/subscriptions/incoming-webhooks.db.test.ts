/** The webhooks of mailboxes and inbound routes: made, changed and deleted with their owners. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWebhookApi, testKeyRing, type WebhookApi } from '../../../test/webhook-api.ts'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { createDayPartitions, isUniqueViolation, type Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { ApiError } from '../../platform/errors.ts'
import { createLogger } from '../../platform/log.ts'
import { recordEvents } from '../events/record-events.ts'
import { changeSubscription, type SubscriptionChange } from './change-subscription.ts'
import { parseReceiverUrl } from './check-receiver.ts'
import { createSubscription } from './create-subscription.ts'
import { openHeaders } from './custom-headers.ts'
import { deleteSubscription } from './delete-webhook.ts'
import { findSubscription } from './subscription-store.ts'

let api: WebhookApi
beforeAll(async () => {
  api = await createWebhookApi()
  const log = createLogger({ level: 'silent' })
  await createDayPartitions({ db: api.database.db, tables: ['webhooks_event'], log }).runOnce()
})
afterEach(() => api.clear())
afterAll(() => api.close())

const nameOf = (owner: string, tenantId = 'tn_a') =>
  ({ tenantId, event: 'INCOMING', owner }) as const
const url = 'https://hooks.example.test/incoming'
const inTx = <T>(work: (tx: Tx) => Promise<T>) => api.database.db.transaction(work)
const create = (owner: string, tenantId?: string) =>
  inTx((tx) =>
    createSubscription(tx, testKeyRing, {
      ...nameOf(owner, tenantId),
      url,
      headers: [['X-Secret', 'canary']],
    }),
  )
const change = (owner: string, given: SubscriptionChange) =>
  inTx((tx) => changeSubscription(tx, testKeyRing, nameOf(owner), given))
const find = (owner: string, tenantId?: string) =>
  findSubscription(api.database.db, nameOf(owner, tenantId))
const record = (owner: string) =>
  inTx((tx) =>
    recordEvents(tx, [
      newEvent({ event: 'INCOMING_EMAIL', owner, refId: '', details: { mailer_id: owner } }),
    ]),
  )

describe('an incoming webhook', () => {
  it('is made in the transaction of its owner, or not at all', async () => {
    const failed = inTx(async (tx) => {
      await createSubscription(tx, testKeyRing, { ...nameOf('imap_1'), url, headers: [] })
      throw new Error('the mailbox was not made')
    })
    await expect(failed).rejects.toThrow('the mailbox was not made')
    expect(await find('imap_1')).toBeUndefined()
    const { webhookId } = await create('imap_1')
    const made = await find('imap_1')
    expect(made).toMatchObject({ webhookId, url, active: true, headerNames: ['X-Secret'] })
    expect(made?.toggles).toBeUndefined()
    expect(
      openHeaders(testKeyRing, { tenantId: 'tn_a', webhookId }, made?.headersSealed ?? ''),
    ).toEqual([['X-Secret', 'canary']])
    const { rows } = await api.database.db.query('select mode, state from webhooks_stream')
    expect(rows).toEqual([{ mode: 'single', state: 'idle' }])
  })

  it('[4.2] is in no list, and cannot be changed by the webhook operations', async () => {
    await create('imap_1')
    expect((await api.list()).body.webhooks).toEqual([])
    for (const event of ['INCOMING', 'INCOMING_EMAIL', 'IMAP_ERROR']) {
      expect((await api.update({ event, active: false })).status).toBe(400)
      expect((await api.delete({ event })).status).toBe(400)
    }
    expect(await find('imap_1')).toMatchObject({ active: true })
  })

  it('exists once for each owner, over all tenants', async () => {
    await create('imap_1')
    await create('imap_2')
    await create('imap_1', 'tn_b')
    const again = await create('imap_1').catch((error: unknown) => error)
    expect(isUniqueViolation(again, 'webhooks_subscription_event_key')).toBe(true)
  })

  it('is changed by itself, and says which stream to wake', async () => {
    const { webhookId } = await create('imap_1')
    await create('imap_2')
    const stream = { tenantId: 'tn_a', webhookId, bucket: bucketOf(webhookId) }
    expect(await change('imap_1', { url: `${url}/2`, headers: [] })).toEqual({ touched: [stream] })
    expect(await find('imap_1')).toMatchObject({ url: `${url}/2`, headerNames: [], generation: 0 })
    expect(await find('imap_2')).toMatchObject({ url, headerNames: ['X-Secret'] })
    expect(await change('imap_1', { active: false })).toEqual({ touched: [stream] })
    expect((await record('imap_1')).touched).toEqual([])
    expect(await change('imap_1', { active: true })).toEqual({ touched: [stream] })
    expect(await find('imap_1')).toMatchObject({ generation: 1 })
    expect((await record('imap_1')).touched).toEqual([stream])
    expect(await change('imap_9', { active: true })).toBeUndefined()
  })

  it('is deleted with its owner, and made again under another id', async () => {
    const { webhookId } = await create('imap_1')
    await create('imap_2')
    await record('imap_1')
    const gone = await inTx((tx) => deleteSubscription(tx, nameOf('imap_1')))
    expect(gone).toEqual({ tenantId: 'tn_a', webhookId, bucket: bucketOf(webhookId) })
    expect(await find('imap_1')).toBeUndefined()
    expect(await find('imap_2')).toBeDefined()
    expect((await record('imap_1')).touched).toEqual([])
    expect((await create('imap_1')).webhookId).not.toBe(webhookId)
    expect(await inTx((tx) => deleteSubscription(tx, nameOf('imap_9')))).toBeUndefined()
  })

  it('names an invalid URL under the path of its configuration', () => {
    const refusal = () => parseReceiverUrl('nonsense', '/webhook/webhook_url')
    expect(refusal).toThrow(ApiError)
    expect(refusal).toThrow(
      expect.objectContaining({
        errors: [expect.objectContaining({ path: '/webhook/webhook_url' })],
      }),
    )
  })
})
