/**
 * registerWebhook, updateWebhook, listWebhooks, deleteWebhook (docs/reference/webhooks.md#registration); the
 * record of deliveries, and replay (docs/reference/webhooks.md#registration).
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
  replayedEventsADayMax,
  replayedEventsMax,
  replaysMax,
  replayWebhookEventsAnswer,
  replayWebhookEventsBody,
  updateWebhookAnswer,
  updateWebhookBody,
  webhookChecksMax,
  webhookDeliveryParams,
} from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import type { RateLimit } from '../platform/limits/rate-limit.ts'
import { getDelivery } from './deliveries/get-delivery.ts'
import { type ListDeps, listDeliveries } from './deliveries/list-deliveries.ts'
import { redeliver } from './deliveries/redeliver.ts'
import { countEvents, type ReplayDeps, replayEvents } from './deliveries/replay-events.ts'
import { mayReadContent } from './log/shown-event.ts'
import { deleteWebhook } from './subscriptions/delete-webhook.ts'
import { listWebhooks, toWireSecret } from './subscriptions/list-webhooks.ts'
import { registerWebhook, type WebhookDeps } from './subscriptions/register-webhook.ts'
import { updateWebhook } from './subscriptions/update-webhook.ts'

const CHECKS_LIMIT = `At most ${webhookChecksMax} such checks of a tenant may fail in a minute, registrations and updates together, and a few may run at once. Beyond that the answer is 429 with \`Retry-After\`, \`RateLimit\` and \`RateLimit-Policy\`.`
const REPLAYS_LIMIT = `At most ${replayedEventsMax} replayed events may wait for one webhook. A tenant may make at most ${replaysMax} redeliveries and replays a minute, one at a time, and queue ${replayedEventsADayMax} events by them in a day. Beyond that the answer is 429 with \`Retry-After\`, \`RateLimit\` and \`RateLimit-Policy\`.`
const DELIVERY =
  'A delivery is one request with all its attempts; its content never changes. An event that still waits for its first request is in none, so it is not listed yet. A delivery whose content was refused as a whole is `discarded`, and `divided_into` names those that took its events over.'
const NOTHING_REPLAYED =
  'Nothing Replayed: no recorded event matches with its switch on, or all that do wait already'

const NOTHING_REDELIVERED = 'Nothing Redelivered: its events wait already, or have left the record'

export interface WebhookRoutesDeps extends WebhookDeps, ListDeps, ReplayDeps {
  /** Of calls that queue events again. */
  readonly replayLimit: RateLimit
  readonly limiters: {
    /** Of calls that read the record; replays count among them. */
    readonly record: ConcurrencyLimiter
    readonly replays: ConcurrencyLimiter
  }
}

export function webhookRoutes(app: FastifyInstance, deps: WebhookRoutesDeps): void {
  subscriptionRoutes(app, deps)
  deliveryRoutes(app, deps)
}

function subscriptionRoutes(app: FastifyInstance, deps: WebhookDeps): void {
  addOperation(app, 'registerWebhook', {
    summary: 'Register a webhook',
    description: `The checks, in this order: shape and rules (400); no webhook of this event type exists (409); the URL is https, without credentials, with only public addresses (400); a connection with TLS succeeds (422). Nothing is sent. ${CHECKS_LIMIT}`,
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
      const { webhookId, ...made } = await registerWebhook(deps, tenant.tenantId, body)
      return { message: 'Webhook Created', webhook_id: webhookId, ...toWireSecret(made) }
    },
  })

  addOperation(app, 'updateWebhook', {
    summary: 'Update the webhook of an event type',
    description: `What is left out stays as it is; given \`headers\` and \`webhook_options\` replace the old ones as a whole. Another URL is checked as at registration. It takes effect for every request that starts afterwards. ${CHECKS_LIMIT}`,
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
      const made = await updateWebhook(deps, tenant.tenantId, body)
      return { message: 'Webhook Updated', ...toWireSecret(made) }
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
    description:
      'What waits for it is not sent any more. Events are recorded as before, and can be replayed to a webhook that is registered later.',
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
  const { limiters } = deps
  const asReplay = <T>(tenantId: string, work: () => Promise<T>) =>
    limiters.replays.run(tenantId, () => limiters.record.run(tenantId, work))

  addOperation(app, 'listWebhookDeliveries', {
    summary: 'List the webhook deliveries, open and settled',
    description: `${DELIVERY} A page looks at a part of a long list: at most 2,000 deliveries, and 20,000 events if a filter is about events. So a page may be short or empty: follow \`nextPageToken\` until it is absent.`,
    tag: 'Webhooks',
    query: listWebhookDeliveriesQuery,
    answer: listWebhookDeliveriesAnswer,
    scopes: ['webhooks', 'read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      return {
        message: 'Webhook Deliveries',
        ...(await limiters.record.run(tenant.tenantId, () =>
          listDeliveries(deps, tenant.tenantId, query),
        )),
      }
    },
  })

  addOperation(app, 'getWebhookDelivery', {
    summary: 'Get a webhook delivery with its attempts and its request',
    description: `${DELIVERY} The body of an \`INCOMING_EMAIL\` is received mail: it needs the scope \`content\`, else it is null and \`body_hidden\` is true.`,
    tag: 'Webhooks',
    params: webhookDeliveryParams,
    answer: getWebhookDeliveryAnswer,
    scopes: ['webhooks', 'read'],
    errors: ['rate_limited'],
    async handle({ tenant, params }) {
      const delivery = await limiters.record.run(tenant.tenantId, () =>
        getDelivery(
          deps,
          { tenantId: tenant.tenantId, mayReadContent: mayReadContent(tenant) },
          params.delivery_id,
        ),
      )
      return { message: 'Webhook Delivery', delivery }
    },
  })

  addOperation(app, 'redeliver', {
    summary: 'Send the events of a webhook delivery again',
    description: `Sends exactly the events that the delivery carried, to the webhook that takes such events now, whatever its event switches say. They keep their content and \`event_at\`. An open delivery is not doubled: it is tried at once instead. Calling again queues no event twice while it waits. ${REPLAYS_LIMIT}`,
    tag: 'Webhooks',
    params: webhookDeliveryParams,
    answer: redeliverAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found', 'conflict', 'rate_limited'],
    async handle({ tenant, params }) {
      await deps.replayLimit.use(tenant.tenantId)
      const replayed = await asReplay(tenant.tenantId, () =>
        redeliver(deps, tenant.tenantId, params.delivery_id),
      )
      return {
        message: replayed.replayed > 0 ? 'Redelivery Accepted' : NOTHING_REDELIVERED,
        ...replayed,
      }
    },
  })

  addOperation(app, 'replayWebhookEvents', {
    summary: 'Send recorded events again, by when they happened, by email or by received message',
    description: `Recorded events are sent again, behind what is live, to the webhook that takes such events now. The event switches are followed as they are now, so that events can be had that were not wanted when they happened. With \`undelivered\` only events that no delivery with the status \`delivered\` has carried. With \`dry_run\` they are counted as \`matched\`, and nothing is sent. Events that wait already are not queued twice, and not counted. When no webhook that takes the events found is registered, the answer is 404; when none of those is active, 409. ${REPLAYS_LIMIT}`,
    tag: 'Webhooks',
    body: replayWebhookEventsBody,
    answer: replayWebhookEventsAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found', 'conflict', 'rate_limited'],
    async handle({ tenant, body }) {
      await deps.replayLimit.use(tenant.tenantId)
      const isDry = body.dry_run === true
      const result = await asReplay(tenant.tenantId, () =>
        (isDry ? countEvents : replayEvents)(deps, tenant.tenantId, body),
      )
      const message = isDry ? 'Events Matched, None Replayed Yet' : 'Replay Accepted'
      return { message: isNothing(result) ? NOTHING_REPLAYED : message, ...result }
    },
  })
}

function isNothing({ replayed, matched = replayed }: { replayed: number; matched?: number }) {
  return matched === 0
}
