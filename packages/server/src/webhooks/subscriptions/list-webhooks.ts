/**
 * listWebhooks (docs/reference/webhooks.md#registration): the webhooks that a tenant registers, newest first
 * (docs/reference/http.md#lists). Those of IMAP and inbound configurations are not subscriptions and are read
 * there.
 */
import type { Webhook } from '@postrider/contract'
import type { Db } from '../../platform/db/index.ts'
import { listSubscriptions, type TenantSubscription } from './subscription-store.ts'

export async function listWebhooks(
  deps: { readonly db: Db },
  tenantId: string,
): Promise<Webhook[]> {
  return (await listSubscriptions(deps.db, tenantId)).map(toWebhook)
}

/**
 * A subscription as listWebhooks shows it (docs/reference/webhooks.md#headers): names of headers, never their
 * values.
 */
function toWebhook(s: TenantSubscription): Webhook {
  return {
    webhook_id: s.webhookId,
    event: s.event,
    url: s.url,
    method: 'POST',
    active: s.active,
    ...(s.isPaused ? { paused: true } : {}),
    ...(s.toggles === undefined ? {} : { options: { events: s.toggles } }),
    headers_present: [...s.headerNames],
    ...(s.signingSealed === undefined ? {} : { signing: true }),
    created_at: s.createdAt.toISOString(),
    updated_at: s.updatedAt.toISOString(),
  }
}

/** Beside a webhook: its secret, when the call has made one. */
export function toWireSecret({ signingSecret }: { readonly signingSecret?: string | undefined }) {
  return signingSecret === undefined ? {} : { signing_secret: signingSecret }
}
