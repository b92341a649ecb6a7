/**
 * listWebhooks (docs/reference/webhooks.md#registration): the webhooks that a tenant registers, newest first
 * (docs/reference/http.md#lists). Those of IMAP and inbound configurations are not subscriptions and are read
 * there.
 */
import type { Webhook } from '@postrider/contract'
import type { Db } from '../../platform/db/index.ts'
import { listSubscriptions } from './subscription-store.ts'
import { toWebhook } from './webhook-wire.ts'

export async function listWebhooks(
  deps: { readonly db: Db },
  tenantId: string,
): Promise<Webhook[]> {
  return (await listSubscriptions(deps.db, tenantId)).map(toWebhook)
}
