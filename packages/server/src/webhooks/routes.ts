/**
 * registerWebhook, updateWebhook, listWebhooks, deleteWebhook (interface §4.1, §4.2); the record of
 * deliveries, and replay (contract §3).
 */
import {
  deleteWebhookAnswer,
  deleteWebhookBody,
  getWebhookDeliveryAnswer,
  listWebhookDeliveriesAnswer,
  listWebhookDeliveriesQuery,
  listWebhooksAnswer,
  redeliverAnswer,
  registerWebhookAnswer,
  registerWebhookBody,
  replayWebhookEventsAnswer,
  replayWebhookEventsBody,
  updateWebhookAnswer,
  updateWebhookBody,
  webhookDeliveryParams,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import type { RateLimit } from '../platform/rate-limit.ts'
import { deleteWebhook } from './delete-webhook.ts'
import { getDelivery } from './deliveries/get-delivery.ts'
import { type ListDeps, listDeliveries } from './deliveries/list-deliveries.ts'
import { redeliver } from './deliveries/redeliver.ts'
import { type ReplayDeps, replayEvents } from './deliveries/replay-events.ts'
import { listWebhooks } from './list-webhooks.ts'
import { registerWebhook, type WebhookDeps } from './register-webhook.ts'
import { updateWebhook } from './update-webhook.ts'

const NOTHING_REPLAYED =
  'Nothing Replayed: no recorded event matches with its switch on, or all that do wait already'

export interface WebhookRoutesDeps extends WebhookDeps, ListDeps, ReplayDeps {
  /** Of calls that queue events again. */
  readonly replayLimit: RateLimit
}

export function webhookRoutes(app: FastifyInstance, deps: WebhookRoutesDeps): void {
  subscriptionRoutes(app, deps)
  deliveryRoutes(app, deps)
}

function subscriptionRoutes(app: FastifyInstance, deps: WebhookDeps): void {
  addOperation(app, 'registerWebhook', {
    summary: 'Register a webhook',
    tag: 'Webhooks',
    body: registerWebhookBody,
    answer: registerWebhookAnswer,
    scopes: ['webhooks'],
    errors: [
      'at_least_one_event_required',
      'events_not_allowed',
      'webhook_exists',
      'url_not_allowed',
      'url_unreachable',
      'rate_limited',
    ],
    async handle({ tenant, body }) {
      const { webhookId } = await registerWebhook(deps, tenant.tenantId, body)
      return { message: 'Webhook Created', webhook_id: webhookId }
    },
  })

  addOperation(app, 'updateWebhook', {
    summary: 'Update the webhook of an event type',
    tag: 'Webhooks',
    body: updateWebhookBody,
    answer: updateWebhookAnswer,
    scopes: ['webhooks'],
    errors: [
      'at_least_one_event_required',
      'events_not_allowed',
      'webhook_not_found',
      'url_not_allowed',
      'url_unreachable',
      'rate_limited',
    ],
    async handle({ tenant, body }) {
      await updateWebhook(deps, tenant.tenantId, body)
      return { message: 'Webhook Updated' }
    },
  })

  addOperation(app, 'listWebhooks', {
    summary: 'List the webhooks',
    tag: 'Webhooks',
    answer: listWebhooksAnswer,
    scopes: ['webhooks', 'read'],
    async handle({ tenant }) {
      return { message: 'Webhooks', webhooks: await listWebhooks(deps, tenant.tenantId) }
    },
  })

  addOperation(app, 'deleteWebhook', {
    summary: 'Delete the webhook of an event type',
    tag: 'Webhooks',
    body: deleteWebhookBody,
    answer: deleteWebhookAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found'],
    async handle({ tenant, body }) {
      await deleteWebhook(deps, tenant.tenantId, body.event)
      return { message: 'Webhook Deleted' }
    },
  })
}

function deliveryRoutes(app: FastifyInstance, deps: WebhookRoutesDeps): void {
  addOperation(app, 'listWebhookDeliveries', {
    summary: 'List the webhook deliveries, open and settled',
    tag: 'Webhooks',
    query: listWebhookDeliveriesQuery,
    answer: listWebhookDeliveriesAnswer,
    scopes: ['webhooks', 'read'],
    async handle({ tenant, query }) {
      return {
        message: 'Webhook Deliveries',
        ...(await listDeliveries(deps, tenant.tenantId, query)),
      }
    },
  })

  addOperation(app, 'getWebhookDelivery', {
    summary: 'Get a webhook delivery with its attempts and its request',
    tag: 'Webhooks',
    params: webhookDeliveryParams,
    answer: getWebhookDeliveryAnswer,
    scopes: ['webhooks', 'read'],
    async handle({ tenant, params }) {
      const delivery = await getDelivery(deps, tenant.tenantId, params.delivery_id)
      return { message: 'Webhook Delivery', delivery }
    },
  })

  addOperation(app, 'redeliver', {
    summary: 'Send the events of a webhook delivery again',
    tag: 'Webhooks',
    params: webhookDeliveryParams,
    answer: redeliverAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found', 'conflict', 'rate_limited'],
    async handle({ tenant, params }) {
      await deps.replayLimit.use(tenant.tenantId)
      const replayed = await redeliver(deps, tenant.tenantId, params.delivery_id)
      return { message: 'Redelivery Accepted', ...replayed }
    },
  })

  addOperation(app, 'replayWebhookEvents', {
    summary: 'Send recorded events again, by when they happened or by email',
    tag: 'Webhooks',
    body: replayWebhookEventsBody,
    answer: replayWebhookEventsAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found', 'conflict', 'rate_limited'],
    async handle({ tenant, body }) {
      await deps.replayLimit.use(tenant.tenantId)
      const { replayed } = await replayEvents(deps, tenant.tenantId, body)
      return { message: replayed > 0 ? 'Replay Accepted' : NOTHING_REPLAYED, replayed }
    },
  })
}
