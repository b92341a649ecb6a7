import { expect, it } from 'vitest'
import { untilBlocked } from '../../../../test/blocked.ts'
import { createWebhookDispatch } from '../../../../test/webhook-dispatch.ts'
import { insertWebhook } from '../../../../test/webhook-record.ts'
import { deleteSubscription } from '../../subscriptions/delete-webhook.ts'
import { pauseStream } from './operate-streams.ts'

it('leaves no paused stream behind a concurrent deletion and pause', async () => {
  const world = await createWebhookDispatch()
  const key = await insertWebhook(world.db)
  const paused = await world.db.transaction(async (tx) => {
    await deleteSubscription(tx, { tenantId: 'tn_a', event: 'EMAIL_EVENT', owner: '' })
    const result = pauseStream(world, key.webhookId)
    result.catch(() => undefined)
    await untilBlocked(world.db)
    return { result }
  })
  await expect(paused.result).rejects.toThrow(/is deleted/)
  expect(await world.stream(key)).toMatchObject({ paused_at: null })
  await world.close()
})
