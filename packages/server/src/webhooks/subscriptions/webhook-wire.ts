/**
 * A subscription as listWebhooks shows it (docs/reference/webhooks.md#headers): names of headers, never their
 * values.
 */
import type { Webhook } from '@postrider/contract'
import type { TenantSubscription } from './subscription-store.ts'

export function toWebhook(s: TenantSubscription): Webhook {
  return {
    webhook_id: s.webhookId,
    event: s.event,
    url: s.url,
    method: 'POST',
    active: s.active,
    ...(s.toggles === undefined ? {} : { options: { events: s.toggles } }),
    headers_present: [...s.headerNames],
    created_at: s.createdAt.toISOString(),
    updated_at: s.updatedAt.toISOString(),
  }
}
