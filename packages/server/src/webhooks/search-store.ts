/** Webhooks, events and deliveries, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

export const searchWebhooks = searchTenants({
  name: 'webhooks.search_webhook',
  table: 'webhooks_subscription',
  id: 'webhook_id',
  where: 't.webhook_id = $2',
})

/** Their day is that of the id, save for a few. */
export const searchEvents = searchTenants({
  name: 'webhooks.search_event',
  table: 'webhooks_event',
  id: 'event_id',
  where: 't.event_id = $2 and t.day between $4::date - 1 and $4::date + 1',
})

export const searchDeliveries = searchTenants({
  name: 'webhooks.search_delivery',
  table: 'webhooks_delivery',
  id: 'delivery_id',
  where: 't.delivery_id = $2 and t.day between $4::date - 1 and $4::date + 1',
})

/** Those that are not settled. */
export const searchOpenDeliveries = searchTenants({
  name: 'webhooks.search_open_delivery',
  table: 'webhooks_open',
  id: 'delivery_id',
  where: 't.delivery_id = $2',
})
