/** registerWebhook, updateWebhook, listWebhooks, deleteWebhook (interface §4.1, §4.2). */
import {
  deleteWebhookAnswer,
  deleteWebhookBody,
  listWebhooksAnswer,
  registerWebhookAnswer,
  registerWebhookBody,
  updateWebhookAnswer,
  updateWebhookBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import { deleteWebhook } from './delete-webhook.ts'
import { listWebhooks } from './list-webhooks.ts'
import { registerWebhook, type WebhookDeps } from './register-webhook.ts'
import { updateWebhook } from './update-webhook.ts'

export function webhookRoutes(app: FastifyInstance, deps: WebhookDeps): void {
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
